"""A grid read from a single run folder equals what the roll-up would make of it."""

from __future__ import annotations

from pathlib import Path

from reports.exports.single_run import grid_of_run
from reports.records import Verdict
from tests.reports.exports.runs import NOTE, SIGNATURE, run_with_failures


def test_cells_are_folded_as_the_roll_up_folds_them(tmp_path: Path) -> None:
    """Shrinking counts for failures, not examples; a cell without examples keeps its reason; a note is no failure."""
    judged, other = grid_of_run(run_with_failures(tmp_path / "run")).cells
    assert (judged.verdict, judged.examples, judged.conforms, judged.violates) == (
        Verdict.VIOLATES,
        4,
        1,
        2,
    )
    failure, note = judged.failures
    assert (failure.signature, failure.smallest_example, failure.examples) == (SIGNATURE, 2, 3)
    assert (note.signature, note.verdict) == (NOTE, Verdict.INFORMATIONAL)
    assert (judged.distinct_failures, judged.violations) == (1, (failure,))
    assert (other.verdict, other.reason, other.listener) == (Verdict.NOT_APPLICABLE, "r", "ssl")


def test_target_and_run_are_described(tmp_path: Path) -> None:
    """A target's release sorts by its numbers, and the run is described by its header."""
    grid = grid_of_run(run_with_failures(tmp_path / "run"))
    assert [(entry.listener, entry.release_order) for entry in grid.targets] == [
        ("plaintext", (4, 4, 0)),
        ("ssl", (4, 4, 0)),
    ]
    assert [run.run_id for run in grid.runs] == ["20261121T143000Z-1a2b3c4d"]
