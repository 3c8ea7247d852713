"""The model client's connections, and the failures that no scripted broker causes, on a network of this test."""

from __future__ import annotations

import pytest

from reference_model.clients.model.client_connections import KnownBroker, KnownCluster, Link
from reference_model.clients.model.client_errors import ConnectionLost, Nonsense
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.network import HostPort, Unreachable
from wire.api_keys import METADATA_KEY

BOOTSTRAP, MOVED = HostPort("a", 1), HostPort("b", 2)
UNDECODABLE = bytes.fromhex("00000007 00000000 00ffff".replace(" ", ""))
"""A frame with correlation id 0 and no metadata."""


class FakeStream:
    """A connection on which the broker has written something."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.is_closed = False

    def send(self, data: bytes) -> None:
        """Lose the data."""

    def receive(self, within_ms: int) -> bytes:
        """Return what the broker has written."""
        return self.data

    def close(self) -> None:
        """Remember that it is closed."""
        self.is_closed = True


class FakeNetwork:
    """Opens connections to the addresses that listen."""

    now_ms = 0

    def __init__(self, *listening: HostPort) -> None:
        self.listening = listening

    def wait(self, milliseconds: int) -> None:
        """Take no time."""

    def open(self, address: HostPort) -> FakeStream:
        """Open a connection."""
        if address not in self.listening:
            raise Unreachable
        return FakeStream()


def test_a_node_that_moves_gets_a_new_connection() -> None:
    """The connection to its old address is closed."""
    client = ModelClient(FakeNetwork(BOOTSTRAP, MOVED), BOOTSTRAP)
    old = client.link_to(KnownBroker(1, BOOTSTRAP))
    assert client.link_to(KnownBroker(1, BOOTSTRAP)) is old
    new = client.link_to(KnownBroker(1, MOVED))
    assert new.address == MOVED
    assert old.stream.is_closed  # type: ignore[attr-defined]
    assert client.links == {1: new}


def test_an_address_that_refuses_connections_is_an_error() -> None:
    """It names the address."""
    with pytest.raises(ConnectionLost, match="no connection to a:1"):
        ModelClient(FakeNetwork(), BOOTSTRAP).link_to(None)


def test_metadata_without_a_node_is_nonsense() -> None:
    """There is no broker to go on with."""
    client = ModelClient(FakeNetwork(), BOOTSTRAP)
    client.cluster = KnownCluster(cluster_id="c")
    with pytest.raises(Nonsense, match="no node"):
        client.next_node()


def test_metadata_that_does_not_decode_is_nonsense() -> None:
    """The connection is closed."""
    client = ModelClient(FakeNetwork(), BOOTSTRAP)
    client.until_ms = 1000
    stream = FakeStream(UNDECODABLE)
    link = Link(number=0, address=BOOTSTRAP, stream=stream, table={METADATA_KEY: (13, 13)})
    with pytest.raises(Nonsense, match="Metadata: "):
        client.metadata_from(link)
    assert stream.is_closed
