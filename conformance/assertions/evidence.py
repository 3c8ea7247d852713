"""What shows a failure: bytes that came, or time that passed while nothing came.

Bytes are the same on every machine. Time is not: on a busy one a target that is right may be late. So what only time
shows counts if a control was fast enough next to it, and what bytes show counts in any case.
"""

from __future__ import annotations

from conformance.assertions.errors import MalformedAnswer
from reports.repeats import ShownBy
from wire.exchange import Outcome


class ShownByTime(AssertionError):
    """Something did not come, did not end or came too often in its time, and nothing else shows a failure."""


def assert_in_time(has_come: bool, problem: str) -> None:
    """Fail by time alone unless something has come; `problem` says what it means if it has not."""
    if not has_come:
        raise ShownByTime(problem)


def evidence_of(error: AssertionError) -> ShownBy:
    """Return what shows a failure. A broker's silence is time: a response may come after the bound."""
    is_silent = isinstance(error, MalformedAnswer) and error.exchange.outcome is Outcome.SILENT
    return ShownBy.TIME if is_silent or isinstance(error, ShownByTime) else ShownBy.BYTES


def kind_of(error: AssertionError) -> str:
    """Return the class of a failure by name, as its signature has it: whether time shows it is noted apart."""
    return AssertionError.__name__ if isinstance(error, ShownByTime) else type(error).__name__
