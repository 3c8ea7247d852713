"""A night plans every target that can be judged, each in exactly one job.

The night fails, and names the target, if one was not judged.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from fixtures.registry.targets import load_targets
from tests.run_folders import example_row, planned_cell, run_header, write_run
from workflows import night_plan
from workflows.night_plan import matrix_rows, nightly_targets
from workflows.night_result import main

REGISTRY = load_targets()


@pytest.mark.parametrize("shards", [1, 3, 8, 200])
def test_jobs_are_a_partition_of_what_was_tried(shards: int) -> None:
    """For any number of shards, every target that was ever run is judged once, except clusters, and no job is empty."""
    targets = nightly_targets(REGISTRY, ())
    rows = matrix_rows(targets, shards)
    judged = Counter(target for row in rows for target in row["judged"].split())
    assert judged == Counter(target.id for target in REGISTRY if not target.not_tried and not target.members)
    assert all(row["judged"] for row in rows)
    assert len({row["name"] for row in rows}) == len(rows)


def test_images_are_insisted_on_where_there_are_any() -> None:
    """Targets with an image run as containers; for the others no launcher is required."""
    has_image = {target.id: "container" in target.launchers for target in REGISTRY}
    for row in matrix_rows(nightly_targets(REGISTRY, ()), 4):
        assert row["launcher"] in ("container", "auto")
        for target in row["judged"].split():
            assert has_image[target] is (row["launcher"] == "container")


def test_a_target_that_nobody_tried_is_judged_if_it_is_named() -> None:
    """`--also` accepts its id."""
    untried = next(target.id for target in REGISTRY if target.not_tried)
    assert untried not in [target.id for target in nightly_targets(REGISTRY, ())]
    assert untried in [target.id for target in nightly_targets(REGISTRY, (untried,))]


def test_an_unknown_target_is_refused() -> None:
    """A mistyped id in `--also` ends the plan."""
    result = CliRunner().invoke(night_plan.main, ["--also", "redpanda-0"])
    assert result.exit_code == 2
    assert "no target is named redpanda-0" in result.output


def test_outputs_are_those_of_a_job_matrix(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output `matrix` is JSON with rows under `include`, and `targets` names all of them."""
    outputs = tmp_path_factory.mktemp("job") / "outputs"
    monkeypatch.setenv("GITHUB_OUTPUT", str(outputs))
    assert CliRunner().invoke(night_plan.main, ["--shards", "2"]).exit_code == 0
    first, rows, _, second, targets, _ = outputs.read_text().splitlines()
    assert (first.partition("<<")[0], second.partition("<<")[0]) == ("matrix", "targets")
    names = [row["name"] for row in json.loads(rows)["include"]]
    assert names == ["containers-1-of-2", "containers-2-of-2", "packages", "clients", "operations"]
    assert "apache-kafka-4.4.0" in targets.split()


def write(runs: Path, target: str, status: int, *, run: str = "1") -> Path:
    """Write one complete run of a target."""
    header = run_header([planned_cell(target=target)], run_id=f"run-{target}-{run}")
    header["footer"]["exit_status"] = status
    return write_run(runs / header["run_id"], header, [example_row(header)])


@pytest.mark.parametrize(
    ("status", "is_result"),
    [*((each, True) for each in (0, 1, 12)), *((each, False) for each in (2, 3, 10, 11, -9))],
)
def test_only_what_was_found_out_is_a_result(tmp_path: Path, status: int, is_result: bool) -> None:
    """A violation and a stale expectation are results; a harness error, an incomplete run and a crash are not, and
    are named."""
    write(tmp_path, "a", 0)
    write(tmp_path, "b", status)
    result = CliRunner().invoke(main, [str(tmp_path), "--targets", "a b"])
    assert result.exit_code == (not is_result)
    assert f"{1 + is_result} of 2 planned targets were judged" in result.output
    assert (f"b: its run ended with status {status}" in result.output) is not is_result


def test_a_target_without_a_whole_run_is_named(tmp_path: Path) -> None:
    (write(tmp_path, "a", 0) / "run.json").write_text("{")
    write(tmp_path, "c", 0)
    result = CliRunner().invoke(main, [str(tmp_path), "--targets", "a b c"])
    assert result.exit_code == 1
    assert "1 of 3 planned targets were judged" in result.output
    for target in ("a", "b"):
        assert f"{target}: no complete run" in result.output


def test_a_later_run_of_the_same_target_counts(tmp_path: Path) -> None:
    """If a shard was run again, its newest complete run counts."""
    write(tmp_path, "a", 10, run="1")
    write(tmp_path, "a", 0, run="2")
    assert CliRunner().invoke(main, [str(tmp_path), "--targets", "a"]).exit_code == 0


def test_a_violation_hides_no_cell_that_could_not_be_judged(tmp_path: Path) -> None:
    """The exit status of such a run is that of the violation."""
    header = run_header([planned_cell(target="a"), planned_cell("not-run", target="a")], run_id="run-a")
    header["footer"]["exit_status"] = 1
    write_run(tmp_path / "run-a", header, [example_row(header, verdict="inconclusive")])
    result = CliRunner().invoke(main, [str(tmp_path), "--targets", "a"])
    assert result.exit_code == 1
    assert "a: 2 cells could not be judged" in result.output
