"""Violations as annotations, which GitHub shows in a pull request.

An annotation is a line of a job's log, `::error title=...::...`, or `::notice ...` for what fails nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.exports.issues import ViolatedClause
from reports.grid.grid_view import FoldedGrid
from reports.records import gates
from reports.wording.escaping import one_line

MAX_ANNOTATIONS = 10
"""GitHub shows no more errors of one step."""
MAX_NOTICES = 10
"""The same of notices."""
_IN_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_TITLE = _IN_TEXT | str.maketrans({":": "%3A", ",": "%2C"})


def annotation_lines(violations: Sequence[ViolatedClause]) -> Iterator[str]:
    """Yield a line for each violation that fails every run, the worst first; a SHOULD fails only strict ones.

    If there are more than a job shows, the last line says how many.
    """
    failing = [each for each in violations if gates(each.level)]
    shown = failing if len(failing) <= MAX_ANNOTATIONS else failing[: MAX_ANNOTATIONS - 1]
    for each in shown:
        text = f"{each.stated.statement} Seen: {each.seen}" if each.seen else each.stated.statement
        yield _annotation("error", f"{each.level} {each.clause}: {each.target}", text)
    if left := len(failing) - len(shown):
        yield _annotation(
            "error", "Kafka conformance", f"{left} more clauses are violated; the summary of the job has them all."
        )


def newer_lines(folded: FoldedGrid) -> Iterator[str]:
    """Yield a notice for each cell that differs in what is newer than the run's set of clauses, at most a few."""
    stated = {clause.clause: clause for clause in folded.grid.clauses}
    for cell in [cell for cell in folded.grid.cells if cell.is_newer][:MAX_NOTICES]:
        clause = stated[cell.clause]
        title = f"{clause.level} {cell.clause}: {cell.target}, fails nothing"
        yield _annotation("notice", title, f"{clause.statement} It does not count yet: {cell.reason}.")


def _annotation(kind: str, title: str, text: str) -> str:
    return f"::{kind} title={one_line(title).translate(_IN_TITLE)}::{one_line(text).translate(_IN_TEXT)}"
