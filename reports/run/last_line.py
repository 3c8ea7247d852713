"""The last line of a run: the sentence about MUST clauses, or the exit status.

The line names the exit status if something other than the MUST clauses decides it.
"""

from __future__ import annotations

from reports.grid.grid_summary import GridSummary
from reports.records import Verdict
from reports.wording.verdict_labels import SYMBOLS

EXPLAINED_BY = {
    Verdict.VIOLATES: 1,
    Verdict.UNEXPECTED_PASS: 1,
    Verdict.INCONCLUSIVE: 10,
    Verdict.NOT_RUN: 11,
}
"""The exit status that a sentence about the verdict explains."""
SHOWN_AS = {
    1: Verdict.VIOLATES,
    10: Verdict.INCONCLUSIVE,
    11: Verdict.NOT_RUN,
    12: Verdict.UNEXPECTED_PASS,
}
"""The verdict whose symbol and colour a status has."""


def last_line(summary: GridSummary, status: int, reason: str) -> tuple[str, Verdict]:
    """Return the line, and the verdict that it is coloured by.

    Args:
        summary: the sentence about MUST clauses, with its verdict.
        status: the exit status of the run.
        reason: why it is not 0, as `exit_status.reason_of` returns it; empty if that is not about the cells.
    """
    if not reason or status == EXPLAINED_BY.get(summary.verdict):
        return summary.sentence, summary.verdict
    verdict = SHOWN_AS[status]
    _, _, sentence = summary.sentence.partition(" ")
    return f"{SYMBOLS[verdict]} Exit status {status}: {reason}. {sentence}", verdict
