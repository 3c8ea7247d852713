"""What was seen in a story is kept, also if the story fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from conformance.life.judging import violations_in
from conformance.life.sightings import Sighting, Watch
from conformance.life.stories import Life, LifePhase, WatchedNodes, life_in, life_of
from fixtures.client.addresses import Address
from fixtures.client.own_connection import Reply
from fixtures.errors import BrokerDidNotStart
from fixtures.launchers.named_targets import targets_named
from fixtures.launchers.startable_node import StartableNode
from fixtures.polling import poll_until
from tests.fixtures.scripted_server import closed_port
from wire.api_versions import NEWEST_VERSION


def node_at(address: Address) -> StartableNode:
    """Return a node with one listener, which a story only watches."""
    return cast(StartableNode, SimpleNamespace(node_id=1, addresses={"plaintext": address}))


def test_readiness_counts_from_the_first_start_to_the_first_success() -> None:
    """Later starts and answers of controllers do not matter."""
    refused = Sighting(at_s=0.5, node_id=1, listener="plaintext", api_version=0, reply=Reply.CLOSED)
    controller = replace(refused, at_s=2.0, listener="controller", reply=Reply.ANSWERED, payload=bytes(10))
    broker = replace(controller, at_s=4.0, listener="plaintext")
    phases = tuple(LifePhase(at_s=at_s, words="node 1 started") for at_s in (1.0, 3.0))
    seen = Life(target="apache-kafka-4.4.0", phases=phases, sightings=(refused, controller, broker))
    assert seen.ready_s == 3.0
    assert replace(seen, sightings=(refused, controller)).ready_s is None


def test_failure_keeps_what_was_seen() -> None:
    """A node that ends by itself ends the story, and what it answered before still counts."""
    watch = Watch()

    def fails(_watched: WatchedNodes, _nodes: Sequence[StartableNode]) -> None:
        assert poll_until(lambda: watch.last(1, "plaintext") is not None, True, limit_s=10)
        raise BrokerDidNotStart("node 1 has ended")

    with closed_port() as address:
        seen = life_in(fails, "apache-kafka-4.4.0", [node_at(address)], watch)
    assert seen.failed == "node 1 has ended"
    assert [each.reply for each in seen.sightings] == [Reply.CLOSED]


@pytest.mark.slow  # It starts the reference broker twice
def test_reference_broker_starts_and_ends_rightly() -> None:
    """It is judged as a release is, in v0 and in its newest version."""
    (reference,) = targets_named(["reference"])
    seen = life_of(reference)
    assert [each.words for each in seen.phases] == [
        "node 1 started",
        "node 1 ready",
        "SIGTERM to node 1",
        "node 1 has ended",
        "node 1 started",
        "node 1 ready",
        "SIGKILL to node 1",
        "node 1 has ended",
    ]
    assert {each.api_version for each in seen.sightings} == {0, NEWEST_VERSION}
    assert violations_in(seen.sightings) == []


@pytest.mark.slow  # It starts the reference broker twice
def test_planted_defect_shows_in_a_story() -> None:
    """What is wrong all the time is wrong here as well."""
    (wrong,) = targets_named(["reference+features-are-finalized-at-no-epoch"])
    assert {each.clause for each in violations_in(life_of(wrong).sightings)} == {"FEATURES.epoch-monotone"}
