"""Errors by which an example ends, other than a fault of the suite."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis.errors import UnsatisfiedAssumption

from fixtures.errors import HarnessError
from wire.exchange import Exchange

_SAYS_WHY = re.compile(r"panic|fatal error|SIG[A-Z]{3,}|Segmentation|FATAL|OutOfMemoryError|Uncaught")
"""Marks the line of a crash that states the reason, in Go, Rust, C and Java."""


class ResponseFault(enum.Enum):
    """Why the bytes of a target are not the required response."""

    FRAME = "its frame has a wrong size"
    NO_ANSWER = "there is no response"
    NO_ERROR_CODE = "it is too short for an error code"
    OTHER_ERROR = "it has another error code"
    OTHER_ID = "it has the correlation id of another request"
    UNDECODABLE = "it does not decode"
    SURPLUS = "bytes follow its body"
    NOT_KEPT = "the connection serves no request after it"


class MalformedAnswer(AssertionError):
    """The target's bytes are not the required response.

    Attributes:
        exchange: the exchange that they belong to.
        fault: the kind of problem.
        layout: the version of ApiVersions in whose layout they were read; None if they were not read in one.
    """

    def __init__(
        self,
        exchange: Exchange,
        problem: str,
        *,
        fault: ResponseFault = ResponseFault.UNDECODABLE,
        layout: int | None = None,
    ) -> None:
        super().__init__(problem)
        self.exchange = exchange
        self.fault = fault
        self.layout = layout


class JudgedElsewhere(HarnessError):
    """An example meets a fault that another clause judges, so it says nothing about the clause of its property."""


class Unjudged(AssertionError):
    """No source says how to judge something that a clause covers: informational, never a violation."""


class NotSeen(UnsatisfiedAssumption):
    """Rejection of an example because of the suite's limits, and not because of the target.

    Whether the target conforms stays open.
    """


class TargetEnded(AssertionError):
    """A request ended the target, and ended a fresh one too if we can start one."""


def crash_in_words(last_words: str) -> tuple[str, str]:
    """Return a one-line summary of a crash, and the complete text.

    The summary is the line in which the target states the reason, if there is one, else the first line, which is ours.

    Args:
        last_words: how the target ended, with the last lines that it wrote.
    """
    lines = last_words.splitlines() or [""]
    why = next((line for line in lines[1:] if _SAYS_WHY.search(line)), lines[0])
    return f"this request crashes the target: {why.strip()}", last_words


@contextmanager
def violation_context(where: str, value: str) -> Iterator[None]:
    """Add to a violation inside the block where the input stood, and in a second line what it was.

    The first line stays the same for all inputs that fail alike, because it distinguishes one failure from another.

    Args:
        where: what was unusual, for example "an unknown tag in the body".
        value: its value.
    """
    try:
        yield
    except AssertionError as error:
        what, *details = str(error).split("\n", 1)
        error.args = ("\n".join((f"{where}: {what}", value, *details)),)
        raise
