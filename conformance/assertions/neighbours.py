"""Assertions that a client disturbs no other, and that pauses change nothing.

The pauses are inside a request.

Waiting is all that such pauses cost, so many connections on all listeners of a target share each of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from conformance.assertions.explanations import SECOND_REQUEST, first_unanswered
from conformance.assertions.judging import (
    JudgedElsewhere,
    MalformedAnswer,
    ResponseFault,
    fate_of,
)
from conformance.assertions.violated_musts import KEPT, SIZE_EXACT, V0_ALWAYS_SERVED
from fixtures.client.connection import Connection
from fixtures.errors import HarnessError, NotServed
from fixtures.polling import poll_until
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from strategies.odd_frames import build_part
from wire.exchange import Exchange, Outcome, Request

MALFORMED_HURTS_NOBODY = "PROTOCOL.malformed-hurts-nobody"
STOPPED_BY_PART = "while one connection is inside a frame, no other is served"


MIN_AT_ONCE = 5
"""So few connections at once are no limit but a fault: a single client of Kafka opens as many."""


@contextmanager
def open_bystander(broker: Broker) -> Iterator[Connection]:
    """Open a connection on which a plain request was answered, so that an effect on it can be seen.

    Raises:
        NotServed: the target does not answer a plain request.
    """
    with broker.connect() as bystander:
        # No sentinel: where v0 is not served, it would be the sentinel that costs the connection.
        plain = build_request(version=broker.readable_version)
        if bystander.converse([plain])[0].outcome is not Outcome.ANSWER:
            raise NotServed(
                f"{broker.target.id} does not answer a plain request (judged by {V0_ALWAYS_SERVED}), so an effect on "
                "other connections cannot be seen"
            )
        yield bystander


@contextmanager
def undisturbed(
    broker: Broker, cause: str, *, requests: int = 1, is_limit: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Fail if what happens in the block disturbs a connection that was open before, or a new one.

    Args:
        broker: the target.
        cause: what may disturb them, for the failure message.
        requests: how many requests are then sent on the connection that was open before, one after the other.
        is_limit: called if the new connection is closed: whether that is a limit of the target's, and no failure.

    Raises:
        JudgedElsewhere: so many requests on a connection are not all answered, whatever happens on others.
    """
    plain = build_request(version=broker.readable_version)
    alone = first_unanswered(broker, 1 + requests)
    with open_bystander(broker) as bystander:
        yield
        with broker.connect(authenticate=False) as connection:
            (newcomer,) = connection.converse([plain])
        # Afterwards, because a connection too many may be what disturbs the others.
        after = bystander.converse_in_turn([plain] * requests)
    assert_undisturbed(
        after,
        newcomer,
        alone,
        is_limit=is_limit,
        disturbed=f"{cause} disturbed another connection",
        unserved=f"no new connection is served because of {cause}",
    )


def assert_undisturbed(
    bystander: Sequence[Exchange],
    newcomer: Exchange,
    alone: MalformedAnswer | None,
    *,
    disturbed: str,
    unserved: str,
    is_limit: Callable[[], bool] = lambda: False,
) -> None:
    """Fail unless all requests on a connection that was open before, and one on a new connection, were answered.

    Args:
        bystander: the exchanges on the connection that was open before.
        newcomer: the exchange on the new connection.
        alone: what `first_unanswered` found before anything was sent that may disturb others.
        disturbed: what to say if the former is not answered.
        unserved: what to say if the latter is not.
        is_limit: called if the latter is closed: whether that is no failure.

    Raises:
        JudgedElsewhere: the former is not answered, but it was not without anything that may disturb it either.
    """
    unanswered = next((each for each in bystander if each.outcome is not Outcome.ANSWER), None)
    is_explained = unanswered is not None and alone is not None and alone.exchange.outcome is unanswered.outcome
    assert unanswered is None or is_explained, disturbed
    is_refused = newcomer.outcome is Outcome.CLOSED and is_limit()
    assert newcomer.outcome is Outcome.ANSWER or is_refused, unserved
    if is_explained and alone is not None:
        judged_by = SIZE_EXACT if alone.fault is ResponseFault.FRAME else KEPT
        raise JudgedElsewhere(
            f"{SECOND_REQUEST} fails in the same way where nothing disturbs it: {alone} (judged by {judged_by})"
        )


def is_stopped_by_part(broker: Broker, sent: Request, kept: int) -> bool:
    """Return whether a part of a request on another connection stops a plain request.

    The other connection has sent only the first `kept` bytes of its request.
    """
    apart = broker.apart()
    with apart.connect(authenticate=False) as inside_a_frame:
        inside_a_frame.send(build_part(sent, kept))
        plain = build_request(version=broker.readable_version)
        with apart.connect(authenticate=False) as other:
            return other.converse([plain])[0].outcome is not Outcome.ANSWER


def limits_connections(broker: Broker, most: int) -> bool:
    """Return whether a target serves some plain connections at once, but not `most`; none of ours is open any more.

    Different clients open them, and each sends a request, so that nothing but their number is the reason.
    """
    other = broker.apart()
    # It learns of closed connections a moment later.
    some = poll_until(lambda: _served_at_once(other, MIN_AT_ONCE), expected=MIN_AT_ONCE)
    return some == MIN_AT_ONCE and _served_at_once(other, most) < most


def _served_at_once(broker: Broker, most: int) -> int:
    served = 0
    with ExitStack() as opened, suppress(HarnessError):
        for number in range(most):
            plain = build_request(version=broker.readable_version, client_id=f"client-{number}")
            connection = opened.enter_context(broker.connect(authenticate=False))
            if connection.converse([plain])[0].outcome is not Outcome.ANSWER:
                break
            served += 1
    return served


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paused:
    """A connection and the pieces of one request that are sent on it, one before each pause and one after the last."""

    broker: Broker
    connection: Connection
    sent: Request
    pieces: Sequence[Request]


def assert_pauses_do_not_matter(
    broker: Broker, version: int, pauses_s: Sequence[float], *, with_unused: bool = False
) -> None:
    """Fail unless a request that comes in pieces with pauses between them gets what it gets in one piece.

    On each listener, one connection sends a piece before each pause, and one sends the second half only after the last.

    Args:
        broker: a listener of the target.
        version: the version of ApiVersions, if the target serves it.
        pauses_s: the pauses, in seconds.
        with_unused: whether one more connection sends the complete request only after the last pause.
    """
    with ExitStack() as opened:
        paused = [
            _Paused(
                broker=listener,
                connection=opened.enter_context(listener.connect()),
                sent=sent,
                pieces=pieces,
            )
            for listener in _listeners_of(broker)
            for sent in [build_request(version=min(version, listener.max_version))]
            for pieces in _ways_to_send(sent, len(pauses_s), with_unused=with_unused)
        ]
        for each in paused:
            # The pauses come after a request that was answered.
            each.connection.converse([build_request(version=broker.readable_version)])
        for number, pause_s in enumerate(pauses_s):
            for each in paused:
                if each.pieces[number].data:
                    each.connection.send(each.pieces[number])
            _pause([each.connection for each in paused], pause_s)
        for each in paused:
            (exchange,) = each.connection.converse([each.pieces[-1]])
            fate = fate_of(exchange)
            if fate != _fate_at_once(each):
                # The target may serve only so many connections at the same time, and learns of closed ones a moment
                # later.
                opened.close()
                poll_until(lambda: _is_usable(broker), expected=True)
                at_once = _fate_at_once(each)
                break
        else:
            return
    if fate != at_once:
        # The reproducer then needs the address of this listener only.
        where = each.broker.listener
        broker.journal[:] = [step for step in broker.journal if step.listener == where]
        raise AssertionError(f"after a pause of {max(pauses_s):g} s on {where} {fate}; without it {at_once}")


def _fate_at_once(paused: _Paused) -> str:
    """Return the fate of the same request in one piece, on a connection of its own."""
    first = build_request(version=paused.broker.readable_version)
    return fate_of(paused.broker.converse_in_turn([first, paused.sent])[-1])


def _listeners_of(broker: Broker) -> Iterable[Broker]:
    """Yield all listeners of a target, except others that cannot be used, which is judged there."""
    for name in broker.target.listeners:
        if broker.has_listener(name):
            listener = broker.sibling(name)
            if name == broker.listener or _is_usable(listener):
                yield listener


def _is_usable(listener: Broker) -> bool:
    listener.ask_for_table()
    try:
        return listener.unreadable is None and listener.is_responsive()
    except HarnessError:
        return False


def _ways_to_send(sent: Request, pauses: int, *, with_unused: bool) -> Iterable[Sequence[Request]]:
    """Yield pieces of a request, one more than there are pauses; an empty piece is not sent."""
    data = sent.data
    step = max(len(data) // (pauses + 1), 1)
    ends = [step * (index + 1) for index in range(pauses)]
    yield [*_cut(sent, [*ends, len(data)])]
    yield [*_cut(sent, [len(data) // 2] * pauses + [len(data)])]
    if with_unused:
        yield [*_cut(sent, [0] * pauses + [len(data)])]


def _cut(sent: Request, ends: Sequence[int]) -> Iterable[Request]:
    start = 0
    for end in ends:
        yield Request(data=sent.data[start:end], header=sent.header)
        start = end


def _pause(connections: Sequence[Connection], seconds: float) -> None:
    """Let all connections be idle for the same time."""
    begun_at = time.monotonic()
    for connection in connections:
        connection.pause(seconds, begun_at=begun_at)
