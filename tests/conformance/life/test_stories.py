"""What was seen in a story is kept, also if the story fails."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from conformance.life import stories
from conformance.life.judging import violations_in
from conformance.life.sightings import Sighting, Watch
from conformance.life.stories import (
    Life,
    LifePhase,
    WatchedNodes,
    all_together,
    life_in,
    life_of,
    one_after_the_other,
    quorum_story,
)
from fixtures.client.addresses import Address
from fixtures.client.own_connection import Reply
from fixtures.errors import BrokerDidNotStart
from fixtures.launchers.named_targets import targets_named
from fixtures.launchers.nodes import ControllerNode
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


class RecordedStory(WatchedNodes):
    """Nodes that do nothing, of which the first one leads."""

    def __init__(self, number: int) -> None:
        self.told: list[str] = []
        self.nodes = [
            cast(ControllerNode, SimpleNamespace(node_id=node_id, addresses={})) for node_id in range(1, number + 1)
        ]
        super().__init__(self.nodes, Watch())

    def start(self, *chosen: StartableNode) -> None:
        self.told.append(f"start {[each.node_id for each in chosen]}")

    def wait_until_ready(self, *chosen: StartableNode) -> None:
        self.told.append(f"ready {[each.node_id for each in chosen]}")

    def watch_without_quorum(self, node: StartableNode) -> None:
        self.told.append(f"alone {node.node_id}")

    def end(self, node: StartableNode, number: signal.Signals, *, why: str = "") -> None:
        self.told.append(f"{number.name} {node.node_id}")

    def end_leader(self, number: signal.Signals) -> StartableNode:
        self.end(self.nodes[0], number)
        return self.nodes[0]

    def add(self, leader: ControllerNode, node: ControllerNode) -> None:
        self.told.append(f"{leader.node_id} adds {node.node_id}")


LEADERS_END_AND_ALL_DO = [
    *("SIGKILL 1", "start [1]", "ready [1]"),
    *("SIGTERM 1", "start [1]", "ready [1]"),
    *("SIGTERM 1", "SIGTERM 2"),
]


def test_quorum_begins_with_one_that_has_none() -> None:
    """Then the leader ends twice, and all are shut down in order."""
    story = RecordedStory(2)
    quorum_story(all_together, story, story.nodes)
    assert story.told == ["start [1]", "alone 1", "start [2]", "ready [1, 2]", *LEADERS_END_AND_ALL_DO]


def test_growing_quorum_begins_with_one() -> None:
    """It is a quorum alone, and the others are added once they run."""
    story = RecordedStory(2)
    quorum_story(one_after_the_other, story, story.nodes)
    grows = ["start [1]", "ready [1]", "start [2]", "ready [2]", "1 adds 2"]
    assert story.told == [*grows, *LEADERS_END_AND_ALL_DO]


@pytest.mark.parametrize(("number", "then"), [(2, "there is no quorum"), (3, "node 2 leads")])
def test_quorum_without_its_leader_has_another_one_or_none(
    number: int, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two is no majority, so no leader is waited for."""
    for seconds in ("CROWD_S", "WITHOUT_QUORUM_S"):
        monkeypatch.setattr(stories, seconds, 0)
    ended: list[int] = []

    def node(node_id: int) -> StartableNode:
        def end(_number: signal.Signals, *, limit_s: float) -> bool:
            ended.append(node_id)
            return True

        return cast(
            StartableNode,
            SimpleNamespace(
                node_id=node_id,
                addresses={},
                runs=True,
                end=end,
                check_runs=lambda: None,
                leader=lambda: 2 if ended else 1,
            ),
        )

    watched = WatchedNodes([node(node_id) for node_id in range(1, number + 1)], Watch())
    assert watched.end_leader(signal.SIGTERM).node_id == 1
    words = [each.words for each in watched.phases]
    assert words == ["SIGTERM to node 1, the leader", "node 1 has ended", then]
