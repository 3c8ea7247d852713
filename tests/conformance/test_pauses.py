"""Pauses are compared with the same request in one piece, also by a target that serves few connections at once."""

from __future__ import annotations

import socket
import threading

from conformance.assertions.pauses import assert_pauses_do_not_matter
from fixtures.client.running_broker import Address
from fixtures.under_test.broker import Broker
from tests.conformance.fake_targets import Behaviour, FakeTarget, reference_behaviour, serve
from tests.fixtures.running_targets import running_at

TWO = 2
"""One for each way to send the request in pieces: none is left for the request in one piece."""


def serving_at_once(most: int) -> Behaviour:
    """Return a broker that closes connections while so many are open, like Kafka with `max.connections.per.ip`."""
    behaviour, free = reference_behaviour(), threading.Semaphore(most)

    def serve_some(target: FakeTarget, connection: socket.socket) -> None:
        if not free.acquire(blocking=False):
            return
        try:
            behaviour(target, connection)
        finally:
            free.release()

    return serve_some


def test_a_limit_of_connections_is_no_difference() -> None:
    """The request in one piece is sent again when the connections with pauses are closed."""
    with serve(serving_at_once(TWO)) as target:
        host, _, port = target.address.partition(":")
        broker = Broker(running_at(Address(host, int(port))), "plaintext")
        # Each of these asks for the table on a connection of its own, which is kept for later.
        assert broker.readable_version == 0
        assert broker.max_version >= 0
        assert_pauses_do_not_matter(broker, 0, [0.01])
