"""A night's plan contains every target that can be judged, each in exactly one job."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from click.testing import CliRunner

from fixtures.registry.targets import load_targets
from workflows.night_plan import main, matrix_rows, nightly_targets

REGISTRY = load_targets()


@pytest.mark.parametrize("shards", [1, 3, 8, 200])
def test_jobs_are_a_partition_of_what_was_tried(shards: int) -> None:
    """For any number of shards, every target that was ever run is judged once, except clusters, and no job is empty."""
    targets = nightly_targets(REGISTRY, ())
    rows = matrix_rows(targets, shards)
    judged = Counter(target for row in rows for target in row["judged"].split())
    assert judged == Counter(
        target.id for target in REGISTRY if not target.not_tried and not target.members
    )
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
    result = CliRunner().invoke(main, ["--also", "redpanda-0"])
    assert result.exit_code == 2
    assert "no target is named redpanda-0" in result.output


def test_outputs_are_those_of_a_job_matrix(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output `matrix` is JSON with rows under `include`, and `targets` names all of them."""
    outputs = tmp_path_factory.mktemp("job") / "outputs"
    monkeypatch.setenv("GITHUB_OUTPUT", str(outputs))
    assert CliRunner().invoke(main, ["--shards", "2"]).exit_code == 0
    first, rows, _, second, targets, _ = outputs.read_text().splitlines()
    assert (first.partition("<<")[0], second.partition("<<")[0]) == ("matrix", "targets")
    names = [row["name"] for row in json.loads(rows)["include"]]
    assert names == ["containers-1-of-2", "containers-2-of-2", "packages", "clients", "operations"]
    assert "apache-kafka-4.4.0" in targets.split()
