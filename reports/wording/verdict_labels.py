"""The symbol and short word of each verdict, for terminal, Markdown and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.records import NOT_RECORDED, NOTHING, OPERATION, Verdict

SYMBOLS: Mapping[Verdict, str] = {
    Verdict.CONFORMS: "✓",
    Verdict.INFORMATIONAL: "≈",
    Verdict.VIOLATES: "✕",
    Verdict.KNOWN_VIOLATION: "⚑",
    Verdict.UNEXPECTED_PASS: "!",
    Verdict.NOT_APPLICABLE: "–",
    Verdict.FLAKY: "~",
    Verdict.INCONCLUSIVE: "?",
    Verdict.NOT_RUN: "○",
}
"""Maps each verdict to the one character that stands for it."""

CRASH_KINDS = frozenset({"TargetEnded", "ClientAborted"})
"""Names of the exception classes for a broker that ended and a client that was aborted: the `kind` of such failures."""
CRASHES = "crashes"
"""The word for a failure in which the target ended, whatever the verdict."""

WORDS: Mapping[Verdict, str] = {
    Verdict.CONFORMS: "conforms",
    Verdict.INFORMATIONAL: "informational",
    Verdict.VIOLATES: "violates",
    Verdict.KNOWN_VIOLATION: "known",
    Verdict.UNEXPECTED_PASS: "unexpected pass",
    Verdict.NOT_APPLICABLE: "n/a",
    Verdict.FLAKY: "flaky",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_RUN: "not run",
}
"""Maps each verdict to its short word."""
_WORDS_OF_OPERATIONS = {Verdict.CONFORMS: "works", Verdict.INFORMATIONAL: "unsupported"}


_REQUESTS = {
    "unknown": "unknown version",
    "other": "other API",
    NOTHING: "nothing",
    NOT_RECORDED: "not recorded",
}
BROKER_DOUBT = "the broker may be at fault: "
"""Begins a line of the message of an operation's failure that says why it may not be the client's."""

JUDGED_BY_OWNER = "judged by its owner"
"""What every form of the grid says about a column that comes from a pack."""
NOT_JUDGED_AGAIN = f"{JUDGED_BY_OWNER}, and not judged again"
"""Begins the note in a cell of such a column whose verdict the stored bytes do not show."""


def judged_again(again: int, cells: int) -> str:
    """Say how much of a pack was judged again.

    Args:
        again: the cells that were, with the same result.
        cells: the cells with an example that conforms, violates or is informational.
    """
    return f"{again} of {counted(cells, 'verdict')} judged again from stored bytes"


def verdict_word(verdict: Verdict, role: str = "") -> str:
    """Return the short word of a verdict in the grid of a role.

    An operation that conforms works, and a note about one says that it is unsupported.
    """
    of_role = _WORDS_OF_OPERATIONS if role == OPERATION else {}
    return of_role.get(verdict, WORDS[verdict])


def request_words(kind: str) -> str:
    """Return a value of `request` in `EXAMPLE_FIELDS` in words: "v3", "v3, broken", "unknown version, broken"."""
    kind, hyphen, _ = kind.partition("-")
    return f"{_REQUESTS.get(kind, kind)}{', broken' if hyphen else ''}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 clause", "1,234 clauses"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many more there are: "a, b and 3 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def doubts_in(message: str) -> list[str]:
    """Return the lines of a failure's message that say why the broker may be at fault."""
    return [line for line in message.splitlines() if line.startswith(BROKER_DOUBT)]


def with_doubts(message: str) -> str:
    """Return the first line of a failure's message, and why the broker may be at fault instead."""
    return "; ".join([message.partition("\n")[0], *doubts_in(message)])


def percent(rate: float) -> str:
    """Return a rate of 0 to 1 in whole percent; a small rate above 0 is "<1%", never "0%"."""
    return "<1%" if 0 < rate < 0.01 else f"{rate:.0%}"
