"""A night in which some target was not judged is red, and names the target."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.run_folders import example_row, planned_cell, run_header, write_run
from workflows.night_result import main


def write(runs: Path, target: str, status: int, *, run: str = "1") -> Path:
    """Write one complete run of a target."""
    header = run_header([planned_cell(target=target)], run_id=f"run-{target}-{run}")
    header["footer"]["exit_status"] = status
    return write_run(runs / header["run_id"], header, [example_row(header)])


@pytest.mark.parametrize("status", [0, 1, 12])
def test_whatever_was_found_out_is_a_result(tmp_path: Path, status: int) -> None:
    """A violation and a stale expectation are results, so the night is complete."""
    write(tmp_path, "a", status)
    result = CliRunner().invoke(main, [str(tmp_path), "--targets", "a"])
    assert result.exit_code == 0
    assert "1 of 1 planned targets were judged" in result.output


@pytest.mark.parametrize("status", [2, 3, 10, 11, -9])
def test_a_run_that_could_not_tell_is_named(tmp_path: Path, status: int) -> None:
    """A harness error, an incomplete run and a crash are not results."""
    write(tmp_path, "a", 0)
    write(tmp_path, "b", status)
    result = CliRunner().invoke(main, [str(tmp_path), "--targets", "a b"])
    assert result.exit_code == 1
    assert "1 of 2 planned targets were judged" in result.output
    assert f"b: its run ended with status {status}" in result.output


def test_a_target_without_a_whole_run_is_named(tmp_path: Path) -> None:
    """Neither a cut-off folder nor a missing one counts as a run; those after it by name do."""
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
    header = run_header(
        [planned_cell(target="a"), planned_cell("not-run", target="a")], run_id="run-a"
    )
    header["footer"]["exit_status"] = 1
    write_run(tmp_path / "run-a", header, [example_row(header, verdict="inconclusive")])
    result = CliRunner().invoke(main, [str(tmp_path), "--targets", "a"])
    assert result.exit_code == 1
    assert "a: 2 cells could not be judged" in result.output
