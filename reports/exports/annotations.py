"""What fails a run as annotations, which GitHub shows in a pull request.

An annotation is a line of a job's log, `::error title=...::...`, or `::notice ...` for what fails nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from reports.exports.issues import ViolatedClause
from reports.grid.grid_view import FoldedGrid
from reports.records import UNSETTLED_VERDICTS, Verdict, gates
from reports.tables.cell_rows import GridCell
from reports.wording.escaping import one_line
from reports.wording.verdict_labels import counted

MAX_ANNOTATIONS = 10
"""GitHub shows no more errors of one step."""
MAX_NOTICES = 10
"""The same of notices."""
_IN_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_TITLE = _IN_TEXT | str.maketrans({":": "%3A", ",": "%2C"})


def annotation_lines(violations: Sequence[ViolatedClause], folded: FoldedGrid) -> Iterator[str]:
    """Yield a line for everything that fails every run, violations first; a violated SHOULD fails only strict ones.

    If there is more than a job shows, the last line says how much.
    """
    failing = [*_violated(violations), *_gone(folded), *_not_judged(folded)]
    shown = failing if len(failing) <= MAX_ANNOTATIONS else failing[: MAX_ANNOTATIONS - 1]
    for title, text in shown:
        yield _annotation("error", title, text)
    if left := len(failing) - len(shown):
        text = f"{left} more errors are not shown here; the summary of the job has them all."
        yield _annotation("error", "Kafka conformance", text)


def _violated(violations: Sequence[ViolatedClause]) -> Iterator[tuple[str, str]]:
    for each in violations:
        if gates(each.level):
            text = f"{each.stated.statement} Seen: {each.seen}" if each.seen else each.stated.statement
            yield f"{each.level} {each.clause}: {each.target}", text


def _gone(folded: FoldedGrid) -> Iterator[tuple[str, str]]:
    """Yield the declared violations that were not seen any more."""
    for cell in folded.grid.cells:
        if cell.verdict is Verdict.UNEXPECTED_PASS:
            text = f"The clause holds now: take out the declaration, which says: {cell.known_violation}"
            yield f"{cell.clause}: {cell.target}, declared as violated", text


def _not_judged(folded: FoldedGrid) -> Iterator[tuple[str, str]]:
    """Yield why cells could not be judged; those with the same reason are one error."""
    alike: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for cell in folded.grid.cells:
        if cell.verdict in UNSETTLED_VERDICTS:
            alike[cell.target, cell.reason].append(cell.clause)
    for (target, reason), clauses in alike.items():
        yield f"{target}: {counted(len(clauses), 'cell')} could not be judged", f"{reason} ({clauses[0]})"


def newer_lines(folded: FoldedGrid) -> Iterator[str]:
    """Yield a notice for each cell that differs in what is newer than the run's set of clauses, at most a few.

    What an error gives as the reason why nothing could be judged is not repeated.
    """
    stated = {clause.clause: clause for clause in folded.grid.clauses}
    unsettled = {(cell.target, cell.reason) for cell in folded.grid.cells if cell.verdict in UNSETTLED_VERDICTS}

    def is_shown(cell: GridCell) -> bool:
        return cell.is_newer and not any(cell.target == on and why in cell.reason for on, why in unsettled)

    for cell in [*filter(is_shown, folded.grid.cells)][:MAX_NOTICES]:
        clause = stated[cell.clause]
        title = f"{clause.level} {cell.clause}: {cell.target}, fails nothing"
        yield _annotation("notice", title, f"{clause.statement} It does not count yet: {cell.reason}.")


def _annotation(kind: str, title: str, text: str) -> str:
    return f"::{kind} title={one_line(title).translate(_IN_TITLE)}::{one_line(text).translate(_IN_TEXT)}"
