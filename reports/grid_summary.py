"""The verdict of a whole grid in one sentence, the same on the page, in Markdown and in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.grid_tables import Grid, GridCell
from reports.records import Verdict
from reports.words import SYMBOLS

_UNSETTLED = (Verdict.INCONCLUSIVE, Verdict.FLAKY, Verdict.NOT_RUN)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSummary:
    """What a grid says as a whole.

    Attributes:
        sentence: the verdict in one sentence, with its symbol in front.
        verdict: the verdict that the sentence is about: the gravest that any MUST cell has.
        cells: how many cells have which verdict, in the order of `Verdict`.
        targets: how many columns the grid has.
        clauses: how many rows.
        refused: how many run folders did not count.
        page: the rendered grid.
    """

    sentence: str
    verdict: Verdict
    cells: Mapping[Verdict, int]
    targets: int
    clauses: int
    refused: int
    page: Path


def summarise(grid: Grid, page: Path) -> GridSummary:
    """Count a grid's cells and say the one thing that matters most."""
    counts = Counter(cell.verdict for cell in grid.cells)
    verdict, text = _gravest(grid)
    return GridSummary(
        sentence=f"{SYMBOLS[verdict]} {text}",
        verdict=verdict,
        cells={entry: counts[entry] for entry in Verdict if counts[entry]},
        targets=len(grid.targets),
        clauses=len(grid.clauses),
        refused=len(grid.refused),
        page=page,
    )


def _gravest(grid: Grid) -> tuple[Verdict, str]:
    must = {entry.clause for entry in grid.clauses if entry.level == "MUST"}
    binding = [cell for cell in grid.cells if cell.clause in must]
    columns = _counted(len(grid.targets), "target")
    violated = [cell for cell in binding if cell.verdict is Verdict.VIOLATES]
    if violated:
        rows = _counted(len({cell.clause for cell in violated}), "MUST clause", verb=True)
        places = len(_columns(violated))
        return Verdict.VIOLATES, f"{rows} violated on {places} of {columns}."
    gone = [cell for cell in binding if cell.verdict is Verdict.UNEXPECTED_PASS]
    if gone:
        text = f"{_counted(len(gone), 'declared violation', verb=True)} gone."
        return Verdict.UNEXPECTED_PASS, text
    unsettled = [cell for cell in binding if cell.verdict in _UNSETTLED]
    if unsettled:
        cells = _counted(len(unsettled), "cell")
        text = f"No MUST clause is violated, but {cells} could not be judged."
        return unsettled[0].verdict, text
    if not any(cell.verdict is not Verdict.NOT_APPLICABLE for cell in binding):
        return Verdict.NOT_RUN, "No MUST clause was judged."
    known = sum(cell.verdict is Verdict.KNOWN_VIOLATION for cell in binding)
    but = f", but for {_counted(known, 'known violation')}" if known else ""
    return Verdict.CONFORMS, f"Every MUST clause holds on {columns}{but}."


def _columns(cells: list[GridCell]) -> set[tuple[str, str]]:
    return {(cell.target, cell.listener) for cell in cells}


def _counted(number: int, noun: str, *, verb: bool = False) -> str:
    counted = f"{number} {noun}" if number == 1 else f"{number} {noun}s"
    return f"{counted} {'is' if number == 1 else 'are'}" if verb else counted
