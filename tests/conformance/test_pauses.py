"""Pauses are compared with the same request in one piece, also by a target that serves few connections at once."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field

import pytest

from conformance.assertions.neighbours import assert_pauses_do_not_matter
from fixtures.client.running_broker import Address
from fixtures.under_test.broker import Broker
from tests.conformance.fake_targets import FakeTarget, reference_behaviour, serve
from tests.fixtures.running_targets import running_at

TWO = 2
"""One for each way to send the request in pieces: none is left for the request in one piece."""


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
    with serve(limit.serve) as target:
        host, _, port = target.address.partition(":")
        broker = Broker(running_at(Address(host, int(port))), "plaintext")
        broker.ask_for_table()
        limit.holds.set()
        try:
            assert_pauses_do_not_matter(broker, 0, [0.01])
        finally:
            limit.learns.set()
    assert refusals == TWO
