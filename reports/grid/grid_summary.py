"""The verdict of a grid in one sentence, the same on the page, in Markdown and in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.grid.grid_tables import Grid
from reports.grid.grid_view import FoldedCell, FoldedGrid
from reports.records import UNSETTLED_VERDICTS, VIOLATED_VERDICTS, Verdict
from reports.verdict_labels import SYMBOLS


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSummary:
    """The summary of a grid.

    Attributes:
        sentence: the verdict in one sentence, with its symbol in front.
        verdict: the verdict that the sentence is about: the gravest of the MUST cells.
        cells: the number of cells with each verdict, in the order of `Verdict`. Here a cell is a clause on a
            target: its listeners count once, by their worst verdict.
        targets: how many columns the grid has.
        clauses: how many rows it has.
        refused: how many run folders did not count.
        page: the path of the rendered home page.
    """

    sentence: str
    verdict: Verdict
    cells: Mapping[Verdict, int]
    targets: int
    clauses: int
    refused: int
    page: Path


def summarise(grid: Grid, page: Path) -> GridSummary:
    """Count a grid's cells and put the most important result into one sentence."""
    folded = FoldedGrid(grid)
    counts = Counter(
        cell.verdict
        for of_role in folded.by_role.values()
        for row in of_role.cells.values()
        for cell in row
    )
    verdict, text = _gravest(folded)
    return GridSummary(
        sentence=f"{SYMBOLS[verdict]} {text}",
        verdict=verdict,
        cells={entry: counts[entry] for entry in Verdict if counts[entry]},
        targets=len(folded.columns),
        clauses=len(grid.clauses),
        refused=len(grid.refused),
        page=page,
    )


def _gravest(folded: FoldedGrid) -> tuple[Verdict, str]:
    must = folded.grid.must_clauses
    binding = [
        cell
        for clause, row in folded.cells.items()
        for cell in row
        if clause in must and cell.verdict is not Verdict.NOT_APPLICABLE
    ]
    violated = [cell for cell in binding if cell.verdict in VIOLATED_VERDICTS]
    unsettled = [cell for cell in binding if cell.verdict in UNSETTLED_VERDICTS]
    open_cells = _counted(len(unsettled), "MUST cell")
    not_judged = f" {open_cells} could not be judged." if unsettled else ""
    if violated:
        rows = _counted(len({cell.clause for cell in violated}), "MUST clause", verb=True)
        all_targets = _counted(len(folded.columns), "target")
        text = f"{rows} violated on {_targets(violated)} of {all_targets}."
        return Verdict.VIOLATES, text + not_judged
    unexpected = [cell for cell in binding if cell.verdict is Verdict.UNEXPECTED_PASS]
    if unexpected:
        text = f"{_counted(len(unexpected), 'declared violation', verb=True)} no longer found."
        return Verdict.UNEXPECTED_PASS, text + not_judged
    if unsettled:
        cells = _counted(len(unsettled), "cell")
        text = f"No MUST clause is violated, but {cells} could not be judged."
        return unsettled[0].verdict, text
    if not binding:
        return Verdict.NOT_RUN, "No MUST clause was judged."
    bound = {cell.target for cell in binding}
    left_out = [
        cell
        for clause, row in folded.cells.items()
        for cell in row
        if clause in must and cell.target in bound and cell.verdict is Verdict.NOT_APPLICABLE
    ]
    return Verdict.CONFORMS, _all_hold(binding, len(left_out), len(folded.columns))


def _all_hold(binding: list[FoldedCell], left_out: int, columns: int) -> str:
    """Return the sentence that all MUST clauses hold, with how many cells were not judged.

    Args:
        binding: the cells of MUST clauses that apply.
        left_out: how many other cells of MUST clauses the same targets have.
        columns: how many targets the grid has.
    """
    bound = _targets(binding)
    known = sum(cell.verdict is Verdict.KNOWN_VIOLATION for cell in binding)
    exceptions = f", except for {_counted(known, 'known violation')}" if known else ""
    others = f" No MUST clause applies to the other {columns - bound}." if columns > bound else ""
    not_judged_cells = (
        f" {left_out} of {_counted(len(binding) + left_out, 'MUST cell')} could not be judged or do not apply."
        if left_out
        else ""
    )
    return f"Every MUST clause holds on {_counted(bound, 'target')}{exceptions}.{not_judged_cells}{others}"


def _targets(cells: list[FoldedCell]) -> int:
    return len({cell.target for cell in cells})


def _counted(number: int, noun: str, *, verb: bool = False) -> str:
    counted = f"{number} {noun}" if number == 1 else f"{number} {noun}s"
    return f"{counted} {'is' if number == 1 else 'are'}" if verb else counted
