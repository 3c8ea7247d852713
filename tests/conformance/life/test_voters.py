"""A controller is added to a quorum by the id of its storage."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import cast
from uuid import UUID

import pytest

from conformance.life.voters import add_voter
from fixtures.client.addresses import Address
from fixtures.errors import BrokerDidNotStart
from fixtures.launchers.nodes import ControllerNode
from tests.fixtures.scripted_server import Peer, closed_port, frame, scripted_server
from wire.api_keys import ADD_RAFT_VOTER_KEY

ADDED = cast(
    ControllerNode,
    SimpleNamespace(node_id=2, directory_id="AAAAAAAAAAAAAAAAAAAAAQ", addresses={"controller": Address("::1", 9093)}),
)


def leader_at(address: Address) -> ControllerNode:
    """Return a leader that listens there."""
    return cast(ControllerNode, SimpleNamespace(node_id=1, cluster_id="c", addresses={"controller": address}))


def test_request_names_the_node_and_its_storage() -> None:
    """The key of AddRaftVoter, the cluster, the id of the storage, and the listener of the new controller."""
    requests = []

    def accept(peer: Peer) -> None:
        requests.append(peer.read_request())
        peer.socket.sendall(frame(requests[0][4:8] + struct.pack(">bihbb", 0, 0, 0, 0, 0)))

    with scripted_server(accept) as server:
        add_voter(leader_at(server.address), ADDED)
    (request,) = requests
    assert request[:2] == struct.pack(">h", ADD_RAFT_VOTER_KEY)
    assert UUID(int=1).bytes in request
    assert b"\x0bCONTROLLER\x04::1" + struct.pack(">H", 9093) in request


def test_refusal_is_one_sentence() -> None:
    def refuse(peer: Peer) -> None:
        peer.socket.sendall(frame(peer.read_request()[4:8] + struct.pack(">bihbb", 0, 0, 6, 0, 0)))

    with (
        scripted_server(refuse) as server,
        pytest.raises(BrokerDidNotStart, match=r"^node 2 cannot be added to the quorum: node 1 answers NOT_LEADER"),
    ):
        add_voter(leader_at(server.address), ADDED)


def test_leader_that_is_gone_adds_nothing() -> None:
    with (
        closed_port() as address,
        pytest.raises(BrokerDidNotStart, match=r"^node 2 cannot be added to the quorum: no "),
    ):
        add_voter(leader_at(address), ADDED)
