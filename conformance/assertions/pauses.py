"""Assertion that pauses inside a request change nothing.

Waiting is all that a pause costs, so many connections on all listeners of a target share each of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from conformance.assertions.asserting import fate_of
from fixtures.client.connection import Connection
from fixtures.errors import HarnessError
from fixtures.polling import poll_until
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from wire.exchange import Request


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
        for connection in paused:
            # The pauses come after a request that was answered.
            connection.connection.converse([build_request(version=broker.readable_version)])
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
    yield [*_pieces(sent, [*ends, len(data)])]
    yield [*_pieces(sent, [len(data) // 2] * pauses + [len(data)])]
    if with_unused:
        yield [*_pieces(sent, [0] * pauses + [len(data)])]


def _pieces(sent: Request, ends: Sequence[int]) -> Iterable[Request]:
    start = 0
    for end in ends:
        yield Request(data=sent.data[start:end], header=sent.header)
        start = end


def _pause(connections: Sequence[Connection], seconds: float) -> None:
    """Let all connections be idle for the same time."""
    begun_at = time.monotonic()
    for connection in connections:
        connection.pause(seconds, begun_at=begun_at)
