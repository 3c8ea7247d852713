"""The check that each exception to a range statement has a note or a failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.grid.grid_tables import Grid
from reports.grid.history_tables import HistoryTables, leaves_open
from reports.records import VERDICTS_WITH_FAILURES, Verdict
from reports.tables.cell_rows import GridCell

_NEED_A_NOTE = (
    *(Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE),
    *(Verdict.KNOWN_VIOLATION, Verdict.UNEXPECTED_PASS),
)


class StatementWithoutEvidence(Exception):
    """A range statement has exceptions that no note explains or no stored failure shows, one sentence for each cell."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(f"{len(faults)} cells of range statements without evidence: {'; '.join(faults[:5])}")


def check_statements(grid: Grid, history: HistoryTables) -> None:
    """Check every cell that makes a range statement partial.

    If failures are not recorded at all (a grid folder of an older suite), only notes are required.

    Raises:
        StatementWithoutEvidence: a note or the evidence is missing; the error names all such cells.
    """
    kept = None
    if history.failures is not None:
        kept = {(each.run_id, each.signature) for each in history.failures if each.hex_dump and not leaves_open(each)}
    faults = [fault for cell in grid.cells for fault in _faults(cell, kept)]
    if faults:
        raise StatementWithoutEvidence(faults)


def _faults(cell: GridCell, kept: set[tuple[str, str]] | None) -> Iterator[str]:
    where = f"{cell.clause} on {cell.target}, {cell.listener}: {cell.verdict}"
    if cell.verdict in _NEED_A_NOTE and not cell.why:
        yield f"{where}: a note is missing"
    if cell.verdict in VERDICTS_WITH_FAILURES and kept is not None:
        shown = (each for each in cell.failures if (cell.run_id, each.signature) in kept)
        if not any(cell.verdict_of(failure) is cell.verdict for failure in shown):
            yield f"{where}: evidence is missing"
