"""What is asserted about an operation that a client tried with a real broker (KIP-97).

It works, or an error names what the broker lacks. In either case nothing that the broker does not support was sent.
"""

from __future__ import annotations

from clauses.operations import OPERATIONS
from conformance.assertions.client_moves import (
    NAMES_WHAT_IS_MISSING,
    ClientAborted,
    check_environment,
)
from conformance.assertions.hangs import OUTSIDE_THE_TABLE
from conformance.assertions.judging import Unjudged
from conformance.assertions.play_summary import summary
from fixtures.client_processes.driver_output import ERROR, OK
from fixtures.client_processes.driver_process import MEMORY, DriverResult
from fixtures.errors import HarnessError
from fixtures.recording_proxy.operation import TriedPlay
from fixtures.scripted_broker.playing import Play
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.oracle import ForbiddenMove, forbidden_moves
from reference_model.profiles.known_apis import label_of

WRONG_RESULT = "WrongResult: "
"""Begins the detail of a driver whose operation reported success with a wrong result."""


class Unsupported(Unjudged):
    """The broker is too old for the operation, and the client says so, or does what its documentation says instead."""


def assert_operates(play: TriedPlay, operation: str, *, falls_back: bool = False) -> None:
    """Fail unless a client's operation works, or falls back as the client's documentation says.

    Raises:
        Unsupported: it fails with an error that names what the broker lacks, or falls back as documented.
        AssertionError: it violates KIP-97: a request that the broker does not support was sent, the process was aborted or
            hangs, the result is wrong, or the error does not say what is missing.
        HarnessError: the client could not be run, or something was in the way between it and a broker: it fails, or its requests
            may not have come through the proxy.
    """
    check_environment(play.result)
    try:
        assert_not_aborted(play.result)
        _check_way(play)
        assert not play.result.has_hung, "the operation neither succeeds nor fails: it hangs"
        _assert_sends_nothing_unsupported(play)
        _assert_works_or_says_why(play)
        _assert_is_that_operation(play, operation, falls_back=falls_back)
    except AssertionError as error:
        error.args = (f"{error}\n{summary(play)}",)
        raise


def failure_of(play: TriedPlay, operation: str, *, falls_back: bool = False) -> str:
    """Return how an operation fails, in words that two libraries share; empty if it does not fail, or by the client's doing.

    What a client alone does is to abort, and to send what the broker's table does not list.
    """
    if play.result.signal is not None or _unsupported_moves(play):
        return ""
    try:
        assert_operates(play, operation, falls_back=falls_back)
    except (Unjudged, HarnessError):
        return ""
    except AssertionError as error:
        return str(error).partition("\n")[0].partition(":")[0]
    return ""


def assert_not_aborted(result: DriverResult) -> None:
    """Fail if a client's process was aborted, or used more memory than it may."""
    if result.signal is not None and not result.killed_for:
        raise ClientAborted(f"the client's process is aborted by {result.signal}")
    assert result.killed_for != MEMORY, "the client's process uses more memory than it may"


def _check_way(play: TriedPlay) -> None:
    """Raise `HarnessError` if an operation fails that could not reach a broker: then no client could do it."""
    result = play.result
    if play.obstacles and result.outcome != OK and not NAMES_WHAT_IS_MISSING.search(result.detail):
        _assert_sends_nothing_unsupported(play)
        raise HarnessError("; ".join(play.obstacles))


def _assert_sends_nothing_unsupported(play: Play) -> None:
    moves = _unsupported_moves(play)
    assert not moves, "\n".join(map(str, moves[:5]))


def _unsupported_moves(play: Play) -> list[ForbiddenMove]:
    """Return the requests that the broker does not support, as far as the recording shows."""
    history = History(play.recording)
    return [
        move
        for move in forbidden_moves(play.recording)
        if move.clause in OUTSIDE_THE_TABLE and not _is_supported_anyway(history, move)
    ]


def _is_supported_anyway(history: History, forbidden: ForbiddenMove) -> bool:
    """Whether a client only did not ask for the table on this connection, and the same broker lists or answers the version.

    The clause that forbids that is judged with scripted brokers, one of which changes its table.
    """
    sent = history.by_connection[forbidden.connection][forbidden.request]
    wanted = (sent.request.api_key, sent.request.api_version)
    node = history.connection_of(sent).node
    return sent.table is None and any(
        (other.table is not None and other.table.lists(*wanted))
        or (wanted == (other.request.api_key, other.request.api_version) and other.request.response)
        for other in history.moves
        if history.connection_of(other).node == node
    )


def _assert_works_or_says_why(play: Play) -> None:
    outcome, detail = play.result.outcome, play.result.detail
    if outcome == OK:
        return
    assert outcome == ERROR, f"the client ends without a result\n{play.result.output[-500:]}"
    wrong = detail.removeprefix(WRONG_RESULT)
    assert wrong == detail, f"the operation reports success, but {wrong}"
    assert NAMES_WHAT_IS_MISSING.search(detail), (
        f"the error does not say what the broker lacks: {detail}"
    )
    raise Unsupported(f"the client says what the broker lacks: {detail}")


def _assert_is_that_operation(play: TriedPlay, operation: str, *, falls_back: bool) -> None:
    """Fail if a success was reached without the API that the operation is about, and nothing hid its request from the proxy."""
    api_key = OPERATIONS[operation].api_key
    if api_key is None or any(each.api_key == api_key for each in play.recording.requests):
        return
    # Of a play with very many requests the last ones are only counted.
    if play.recording.all_requests > len(play.recording.requests):
        return
    what = f"the operation reports success, but the client never sent {label_of(api_key)}"
    if falls_back:
        raise Unsupported(f"{what}: it did something else, as its documentation says")
    if play.obstacles:
        raise HarnessError("; ".join(play.obstacles))
    raise AssertionError(what)
