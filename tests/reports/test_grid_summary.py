"""A grid's sentence states the gravest verdict of any MUST clause."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import summarise
from reports.grid.grid_view import FoldedGrid
from reports.records import Verdict
from tests.reports.roll_up_tables import cell_row, clause_row, target_row, write_tables

TARGETS = ("apache-kafka-4.4.0", "apache-kafka-3.9.2")


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        (("conforms", "conforms"), "✓ Every MUST clause holds on 2 targets."),
        (("conforms", "not_applicable"), "✓ Every MUST clause holds on 1 target. No MUST clause applies to the other 1."),
        (("known_violation", "conforms"), "✓ Every MUST clause holds on 2 targets, except for 1 known violation."),
        (("violates", "not_run"), "✕ 1 of 2 brokers breaks MUST rules: 1 MUST + 2 PIN. 1 MUST cell could not be judged."),
        (("flaky", "inconclusive"), "✕ 1 of 2 brokers breaks MUST rules: 1 MUST + 2 PIN. 1 MUST cell could not be judged."),
        (("violates", "violates"), "✕ 2 of 2 brokers break MUST rules: 2 MUST + 2 PIN."),
        (("flaky", "conforms"), "✕ 1 of 2 brokers breaks MUST rules: 1 MUST + 2 PIN."),
        (("unexpected_pass", "inconclusive"), "! 1 declared violation is no longer found. 1 MUST cell could not be judged."),
        (("inconclusive", "conforms"), "? No MUST clause is violated, but 1 cell could not be judged."),
        (("not_run", "not_run"), "○ No MUST clause is violated, but 2 cells could not be judged."),
        (("not_applicable", "not_applicable"), "○ No MUST clause was judged."),
    ],
)  # fmt: skip
def test_sentence_says_the_gravest(
    verdicts: tuple[str, str], sentence: str, tmp_path: Path
) -> None:
    """Each pair of verdicts of one MUST clause has its sentence; a violated PIN changes nothing."""
    write_tables(
        tmp_path,
        targets=[target_row(target) for target in TARGETS],
        clauses=[clause_row("C.must"), clause_row("C.pin", 1, level="PIN")],
        cells=[
            *(cell_row("C.must", *pair) for pair in zip(TARGETS, verdicts, strict=True)),
            *(cell_row("C.pin", target, "violates") for target in TARGETS),
        ],
    )
    summary = summarise(FoldedGrid(read_grid(tmp_path)), tmp_path / "index.html")
    assert summary.sentence == sentence
    assert summary.cells[Verdict.VIOLATES] == 2 + verdicts.count("violates")


def test_sentence_counts_the_must_cells_that_were_not_asked(tmp_path: Path) -> None:
    """Readers see that "every MUST clause" does not mean every one in the catalogue."""
    write_tables(
        tmp_path,
        targets=[target_row(target) for target in TARGETS],
        clauses=[clause_row("C.must"), clause_row("C.other", 1)],
        cells=[
            *(cell_row("C.must", target, "conforms") for target in TARGETS),
            cell_row("C.other", TARGETS[0], "conforms"),
            cell_row("C.other", TARGETS[1], "not_applicable"),
        ],
    )
    assert summarise(FoldedGrid(read_grid(tmp_path)), tmp_path / "index.html").sentence == (
        "✓ Every MUST clause holds on 2 targets. 1 of 4 MUST cells could not be judged or do not apply."
    )
