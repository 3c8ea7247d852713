"""Violations as annotations, which GitHub shows in a pull request.

An annotation is a line of a job's log, `::error title=...::...`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.exports.issues import ViolatedClause
from reports.records import gates
from reports.wording.escaping import one_line

MAX_ANNOTATIONS = 10
"""GitHub shows no more errors of one step."""
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
        yield _annotation(f"{each.level} {each.clause}: {each.target}", text)
    if left := len(failing) - len(shown):
        yield _annotation(
            "Kafka conformance", f"{left} more clauses are violated; the summary of the job has them all."
        )


def _annotation(title: str, text: str) -> str:
    return f"::error title={one_line(title).translate(_IN_TITLE)}::{one_line(text).translate(_IN_TEXT)}"
