"""A target that serves few connections at once violates nothing by that."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from conformance.assertions.neighbours import NewConnectionClosed, assert_pauses_do_not_matter
from conformance.brokers.test_neighbours import (
    test_many_connections_hurt_nobody as many_connections,
)
from fixtures.client.running_broker import Address
from fixtures.under_test.broker import Broker
from strategies.hypothesis_adapter import body_of
from tests.conformance.fake_targets import FakeTarget, reference_behaviour, serve
from tests.fixtures.running_targets import running_at

TWO = 2
"""One for each way to send the request in pieces: none is left for the request in one piece."""
FOUR = 4
"""One that was open before, and one that was closed just now: two are left for many."""


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


def test_a_limit_of_connections_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request in one piece is sent again once the broker has learned that the connections with pauses are closed."""
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
    body_of(many_connections)(broker, unused=FOUR, unfinished=0, served=0)


def test_a_limit_of_connections_is_no_disturbance() -> None:
    """Connections beyond the limit are closed while many others are open, and served afterwards."""
    limit = Limit(threading.Semaphore(FOUR))
    limit.learns.set()
    with limit.broker() as broker:
        open_many(broker)


def test_connections_that_stay_lost_are_a_disturbance() -> None:
    """A broker that never serves a new connection again after many others is no broker with a limit."""
    limit = Limit(threading.Semaphore(FOUR))
    with limit.broker() as broker, pytest.raises(NewConnectionClosed, match="dozens of"):
        open_many(broker)
