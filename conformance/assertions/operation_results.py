"""Assertions about an operation that a client tried with a real broker (KIP-97).

It works, or an error names what the broker lacks. In either case nothing that the broker does not support was sent. An
operation knows what it takes: a broker that lists all of it gives a client no reason to refuse.

Of a client whose connections were led to other brokers and to another cluster more is asserted (KIP-1242): if it
supports that, it goes on without a restart, gives the ids of cluster and broker when it should, and writes nothing to a
cluster before it has read its metadata. What other clients do in its place is recorded.
"""

from __future__ import annotations

from clauses.operations import OPERATIONS, Operation
from conformance.assertions.brokers_at_fault import refused_though_listed
from conformance.assertions.client_moves import (
    ClientAborted,
    assert_allowed,
    assert_gives_no_ids,
    check_environment,
)
from conformance.assertions.client_success import REFUSES_NEEDLESSLY, why_unhelpful
from conformance.assertions.errors import Unjudged
from conformance.assertions.evidence import ShownByTime, assert_in_time
from conformance.assertions.messages import message_of
from conformance.assertions.missing_support import missing_for, names_what_is_missing
from conformance.assertions.play_summary import OUTSIDE_THE_TABLE, summary
from fixtures.client_processes.driver_output import ERROR, OK, WRONG_RESULT
from fixtures.client_processes.driver_process import MEMORY, DriverResult
from fixtures.errors import ClientFails, HarnessError
from fixtures.recording_proxy.recorded_trial import METADATA_KEYS, ReroutedPlay, TriedPlay, is_wanted
from fixtures.recording_proxy.written_codecs import written_codecs
from fixtures.scripted_broker.playing import Play
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.oracle import ForbiddenMove, forbidden_moves
from reference_model.clients.scripts.recording import Recording, Route
from reference_model.profiles.known_apis import label_of
from reports.wording.verdict_labels import counted
from wire.api_keys import PRODUCE_KEY

_ABOUT_IDS = (
    "KIP-1242.bootstrap-sends-nothing",
    "KIP-1242.then-sends-both",
    "KIP-1242.rebootstraps-on-129",
)


class Unsupported(Unjudged):
    """The broker is too old for the operation, and the client says so, or does what its documentation says instead."""


def assert_operates(play: TriedPlay, operation: str, *, falls_back: bool = False) -> None:
    """Fail unless a client's operation works, or falls back as the client's documentation says.

    Raises:
        Unsupported: it fails with an error that names what the broker lacks, or falls back as documented.
        AssertionError: it violates KIP-97: a request that the broker does not support was sent, the process was aborted
            or hangs, the result is wrong, the error does not say what is missing, or nothing is.
        HarnessError: the client could not be run, or something was in the way between it and a broker: it fails, or its
            requests may not have come through the proxy.
    """
    check_environment(play.result)
    try:
        assert_not_aborted(play.result)
        _check_way(play)
        assert_in_time(not play.result.has_hung, "the operation neither succeeds nor fails: it hangs")
        _assert_sends_nothing_unsupported(play)
        _assert_works_or_says_why(play, OPERATIONS[operation])
        _assert_is_that_operation(play, operation, falls_back=falls_back)
        _assert_is_compressed(play, OPERATIONS[operation])
    except AssertionError as error:
        error.args = (f"{message_of(error)}\n{summary(play)}",)
        raise


def failure_of(play: TriedPlay, operation: str, *, falls_back: bool = False) -> str:
    """Return how an operation fails, in words that two libraries share.

    Return an empty text if the operation does not fail, or if the client alone causes the failure.

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
    if play.obstacles and result.outcome != OK and not names_what_is_missing(result.detail):
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
    """Return whether the same broker supports a request that the client sent without asking first.

    The client only did not ask for the table on this connection. The broker lists or answers the version on another
    one.

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


def _assert_works_or_says_why(play: Play, operation: Operation) -> None:
    outcome, detail = play.result.outcome, play.result.detail
    if outcome == OK:
        return
    assert outcome == ERROR, f"the client ends without a result\n{play.result.output[-500:]}"
    wrong = detail.removeprefix(WRONG_RESULT)
    assert wrong == detail, f"the operation reports success, but {wrong}"
    # A real broker that is slow is the cause of many errors.
    assert_in_time(names_what_is_missing(detail), why_unhelpful(play))
    missing = missing_for(operation, play.recording, detail)
    # Of a broker whose table the client never got nothing is known, and one that refuses what it lists lacks more than
    # it says.
    is_known = missing is not None and not any(refused_though_listed(play.recording))
    assert missing or not is_known, f"{REFUSES_NEEDLESSLY}: {detail}"
    raise Unsupported(f"the client says what the broker lacks: {detail}")


def _assert_is_that_operation(play: TriedPlay, operation: str, *, falls_back: bool) -> None:
    """Fail if an operation succeeded without a request of the API that it is about.

    Do not fail if something may have hidden the request from the proxy.
    """
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


def _assert_is_compressed(play: TriedPlay, operation: Operation) -> None:
    """Fail if an operation succeeded without the codec that the application asked for."""
    if play.result.outcome != OK or not operation.codec or play.recording.all_requests > len(play.recording.requests):
        return
    is_compressed = operation.codec in written_codecs(play.recording)
    assert is_compressed, f"the operation reports success, but its records are not compressed with {operation.codec}"


class DoesNotKnow(Unjudged):
    """The client does not support KIP-1242, or is configured not to use it: what it does instead is no violation."""


def assert_survives_rerouting(play: ReroutedPlay, operation: str, *, knows_ids: bool) -> None:
    """Fail unless a client goes on wherever its connections lead.

    Raises:
        DoesNotKnow: it stands still or writes to another cluster, but does not use KIP-1242.
        AssertionError: it violates KIP-1242, or its process was aborted.
        HarnessError: the client could not be run.
        ClientFails: it does not even work with its own cluster.
    """
    tried = OPERATIONS[operation]
    check_environment(play.result)
    if not _goes_on(play, play.routes[0], operation):
        raise ClientFails(f"the client does not work {play.routes[0].when}: {play.result.detail}")
    try:
        assert_not_aborted(play.result)
        if tried.option:
            assert_gives_no_ids(play)
        elif knows_ids:
            assert_allowed(play, *_ABOUT_IDS)
            gave_both = any(all(move.gives_ids) for move in History(play.recording).moves)
            assert gave_both, "the client never gives the ids of cluster and broker"
        _assert_goes_on(play, operation, uses_ids=knows_ids and not tried.option)
    except (AssertionError, DoesNotKnow) as error:
        error.args = (f"{message_of(error)}\n{summary(play)}",)
        raise


def _assert_goes_on(play: ReroutedPlay, operation: str, *, uses_ids: bool) -> None:
    problems = [
        f"the client does not go on {route.when}" for route in play.routes[1:] if not _goes_on(play, route, operation)
    ]
    stray = stray_writes(play.recording)
    if stray:
        problems.append(
            f"the client writes to a cluster before it has read its metadata, in {counted(stray, 'confirmed request')}"
        )
    if not problems:
        return
    if uses_ids:
        error = AssertionError if stray else ShownByTime
        raise error("\n".join(problems))
    raise DoesNotKnow(f"without the ids of KIP-1242 {'; '.join(problems)}")


def _goes_on(play: ReroutedPlay, route: Route, operation: str) -> bool:
    """Return whether a client got what it asks for while its connections led by a route."""
    later = [each.from_ms for each in play.routes if each.from_ms > route.from_ms]
    until_ms = min(later, default=play.recording.duration_ms)
    return any(
        route.from_ms <= each.at_ms <= until_ms and is_wanted(each, operation) for each in play.recording.requests
    )


def stray_writes(recording: Recording) -> int:
    """Count the confirmed writes to another cluster than that of which the client had got metadata last."""
    history = History(recording)
    knows, stray = "", 0
    for request in recording.requests:
        if request.connection >= len(recording.connections) or not request.response:
            continue
        cluster_id = history.script_of(recording.connections[request.connection]).cluster_id
        if request.api_key in METADATA_KEYS:
            knows = cluster_id
        elif request.api_key == PRODUCE_KEY and cluster_id != knows:
            stray += is_wanted(request, "rerouted-writes")
    return stray
