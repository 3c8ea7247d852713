"""A story is told to its end or until something fails."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from conformance.life.sightings import Reply, Watch, wait_until
from conformance.life.stories import WatchedNodes, life_in
from fixtures.client.addresses import Address
from fixtures.errors import BrokerDidNotStart
from fixtures.launchers.nodes import StartableNode
from tests.fixtures.scripted_server import closed_port


def node_at(address: Address) -> StartableNode:
    """Return a node with one listener, which a story only watches."""
    return cast(Any, SimpleNamespace(node_id=1, addresses={"plaintext": address}))


def test_failure_keeps_what_was_seen() -> None:
    """A node that ends by itself ends the story, and what it answered before still counts."""
    watch = Watch(newest_version=0)

    def fails(_watched: WatchedNodes, _nodes: Sequence[StartableNode]) -> None:
        assert wait_until(lambda: watch.last(1, "plaintext") is not None, limit_s=10)
        raise BrokerDidNotStart("node 1 has ended")

    with closed_port() as address:
        seen = life_in(fails, "apache-kafka-4.4.0", [node_at(address)], watch)
    assert seen.failed == "node 1 has ended"
    assert [each.reply for each in seen.sightings] == [Reply.CLOSED]
