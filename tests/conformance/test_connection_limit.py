"""A target that serves few connections at once violates nothing by that."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field

import pytest

from conformance.assertions.neighbours import assert_undisturbed
from conformance.assertions.pauses import assert_pauses_do_not_matter
from conformance.brokers.test_neighbours import (
    test_many_connections_hurt_nobody as many_connections,
)
from fixtures.client.addresses import Address
from fixtures.under_test.broker import Broker
from strategies.api_versions import build_request
from strategies.hypothesis_adapter import body_of
from tests.conformance.fake_targets import FakeTarget, reference_behaviour, serve
from tests.fixtures.running_targets import running_at
from wire.exchange import Exchange, Outcome

TWO = 2
"""One for each way to send the request in pieces: none is left for the request in one piece."""
SEVEN = 7
"""One that was open before, one that was closed just now, and five for many."""


@dataclass(slots=True)
class Limit:
    """How many connections a broker serves at the same time, like Kafka with `max.connections.per.ip`.

    Attributes:
        free: one for each connection that it still accepts.
        holds: set once the limit holds.
        learns: set once it learns which connections were closed.
    """

    free: threading.Semaphore
    holds: threading.Event = field(default_factory=threading.Event)
    learns: threading.Event = field(default_factory=threading.Event)

    def serve(self, target: FakeTarget, connection: socket.socket) -> None:
        """Serve a connection, or close it at once."""
        behaviour = reference_behaviour()
        if not self.holds.is_set():
            behaviour(target, connection)
        elif self.free.acquire(blocking=False):
            try:
                behaviour(target, connection)
            finally:
                self.learns.wait()
                self.free.release()
        else:
            self.refuse()

    def refuse(self) -> None:
        """Do what happens besides the close of a connection beyond the limit: nothing."""

    @contextmanager
    def broker(self) -> Iterator[Broker]:
        """Serve a broker for the block, whose limit holds once it has given its table."""
        with serve(self.serve) as target:
            host, _, port = target.address.partition(":")
            broker = Broker(running_at(Address(host, int(port))), "plaintext")
            broker.ask_for_table()
            self.holds.set()
            try:
                yield broker
            finally:
                self.learns.set()


class UnusedLimit(Limit):
    """A limit of the connections that have sent nothing yet."""

    def serve(self, target: FakeTarget, connection: socket.socket) -> None:
        """Serve a connection, or close it at once."""
        if self.free.acquire(blocking=False):
            connection.recv(1, socket.MSG_PEEK)
            self.free.release()
            reference_behaviour()(target, connection)


@dataclass(slots=True)
class Overload(Limit):
    """A limit beyond which every connection is closed.

    Attributes:
        accepted: every connection.
    """

    accepted: list[socket.socket] = field(default_factory=list)

    def serve(self, target: FakeTarget, connection: socket.socket) -> None:
        """Serve a connection, or close all."""
        self.accepted.append(connection)
        Limit.serve(self, target, connection)

    def refuse(self) -> None:
        """Close all connections."""
        for each in self.accepted:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def test_a_limit_of_connections_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request in one piece is sent again once the broker has learned that the connections with pauses are
    closed."""
    limit, refusals = Limit(threading.Semaphore(TWO)), 0
    is_responsive = Broker.is_responsive

    def ask(broker: Broker) -> bool:
        nonlocal refusals
        answered = is_responsive(broker)
        refusals += not answered
        if refusals == TWO:
            limit.learns.set()
        return answered

    monkeypatch.setattr(Broker, "is_responsive", ask)
    with limit.broker() as broker:
        assert_pauses_do_not_matter(broker, 0, [0.01])
    assert refusals == TWO


def open_many(broker: Broker) -> None:
    """Run one example of the property that opens many connections."""
    broker.begin_example()
    body_of(many_connections)(broker, unused=SEVEN, unfinished=0, served=0, kept=9)


def test_a_limit_of_connections_is_no_disturbance() -> None:
    """Connections beyond the limit are closed while many others are open, and served afterwards."""
    limit = Limit(threading.Semaphore(SEVEN))
    limit.learns.set()
    with limit.broker() as broker:
        open_many(broker)


@pytest.mark.parametrize(
    ("limit", "learns"),
    [
        pytest.param(Limit(threading.Semaphore(SEVEN)), False, id="serves-no-new-one-again"),
        pytest.param(Limit(threading.Semaphore(TWO + 1)), True, id="serves-hardly-any"),
        pytest.param(UnusedLimit(threading.Semaphore(SEVEN)), True, id="minds-only-unused-ones"),
        pytest.param(Overload(threading.Semaphore(SEVEN)), True, id="closes-the-others-too"),
    ],
)
def test_what_is_no_limit_is_a_disturbance(limit: Limit, learns: bool) -> None:
    """A target that closes the next connection for another reason than their number, or for a few, keeps clients
    out."""
    if learns:
        limit.learns.set()
    with limit.broker() as broker, pytest.raises(AssertionError, match="dozens of connections"):
        open_many(broker)


@pytest.mark.parametrize(
    ("outcome", "is_limit", "is_refused"),
    [
        (Outcome.CLOSED, True, False),
        (Outcome.CLOSED, False, True),
        (Outcome.SILENT, True, True),
    ],
)
def test_only_a_close_can_be_a_limit(outcome: Outcome, is_limit: bool, is_refused: bool) -> None:
    """A new connection that stays open and gets no response is a fault, whatever the limit."""
    newcomer = Exchange(request=build_request(version=0), outcome=outcome)
    with pytest.raises(AssertionError) if is_refused else nullcontext():
        assert_undisturbed((), newcomer, None, disturbed="d", unserved="u", is_limit=lambda: is_limit)
