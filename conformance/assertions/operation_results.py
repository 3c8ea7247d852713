"""What is asserted about an operation that a client tried with a real broker (KIP-97).

It works, or an error names what the broker lacks. In either case nothing that the broker does not support was sent.
"""

from __future__ import annotations

import re

from conformance.assertions.client_moves import (
    ERROR,
    OK,
    ClientAborted,
    Play,
    check_environment,
    outcome_of,
    summary,
)
from conformance.assertions.judging import Unjudged
from reference_model.clients.oracle import forbidden_moves

WRONG_RESULT = "WrongResult: "
"""Begins the detail of a driver whose operation reported success with a wrong result."""
OUT_OF_TIME = "no result after"
"""Begins the detail of a driver that ended because its time was over."""
_NAMES_WHAT_IS_MISSING = re.compile(
    r"unsupported|not supported|not support|too old|incompatible|requires .*(broker|version)",
    re.IGNORECASE,
)
_ABOUT_VERSIONS = ("KIP-35.client-uses-overlap", "KIP-35.client-asks-per-connection")


class ClearError(Unjudged):
    """The operation failed with an error that names what is missing: neither a success nor a violation."""


def assert_operates(play: Play) -> None:
    """Fail unless a client's operation works.

    Raises:
        ClearError: it fails with an error that names what the broker lacks.
        AssertionError: it violates KIP-97: a request that the broker does not support was sent, the process was aborted or
            hangs, the result is wrong, or the error does not say what is missing.
        HarnessError: the client could not be run.
    """
    check_environment(play.result)
    try:
        _assert_ends(play)
        _assert_sends_nothing_unsupported(play)
        _assert_works_or_says_why(play)
    except AssertionError as error:
        error.args = (f"{error}\n{summary(play)}",)
        raise


def _assert_ends(play: Play) -> None:
    result = play.result
    if result.signal is not None and not result.killed_for:
        raise ClientAborted(f"the client's process is aborted by {result.signal}")
    assert not result.killed_for, (
        f"the client's process has to be killed: it used too much {result.killed_for}"
    )
    assert not result.detail.startswith(OUT_OF_TIME), (
        "the operation neither succeeds nor fails: it hangs"
    )


def _assert_sends_nothing_unsupported(play: Play) -> None:
    moves = [move for move in forbidden_moves(play.recording) if move.clause in _ABOUT_VERSIONS]
    assert not moves, "\n".join(map(str, moves[:5]))


def _assert_works_or_says_why(play: Play) -> None:
    outcome, detail = outcome_of(play), play.result.detail
    if outcome == OK:
        return
    assert outcome == ERROR, f"the client ends without a result\n{play.result.output[-500:]}"
    wrong = detail.removeprefix(WRONG_RESULT)
    assert wrong == detail, f"the operation reports success, but {wrong}"
    assert _NAMES_WHAT_IS_MISSING.search(detail), (
        f"the error does not say what the broker lacks: {detail}"
    )
    raise ClearError(f"the client says what the broker lacks: {detail}")
