"""Stories of nodes: how they start and end while they are watched.

One story is about a single broker or proxy, the other one about two or three controllers, each of which is a broker as
well: one of them alone has no quorum, and a quorum loses its leader twice.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from conformance.life.judging import different_levels
from conformance.life.sightings import Sighting, Watch
from conformance.life.voters import add_voter
from fixtures.client.own_connection import Reply
from fixtures.errors import BrokerDidNotStart, HarnessError
from fixtures.launchers.nodes import ControllerNode, Quorum, startable_nodes
from fixtures.launchers.startable_node import ENDING_LIMIT_S, StartableNode
from fixtures.launchers.startable_products import is_startable_product, startable_product
from fixtures.polling import poll_until
from fixtures.registry.targets import Target
from reference_model.profiles.listeners import PLAINTEXT

MAX_CONTROLLERS = 3
READY_LIMIT_S = 120.0
ELECTION_LIMIT_S = 60.0
"""How long the remaining nodes may take to agree on a leader. Measured: 2 to 6 s."""
WITHOUT_QUORUM_S = 3.0
"""How long one of three is watched after it has answered first: its answers come at once, or with the quorum."""
RUNS_S = 1.0
"""How long nodes run before anything else is done with them."""
CROWD_S = 0.3
"""How long a crowd asks a node before it is sent a signal."""
ENDING_WITHOUT_QUORUM_S = 15.0
"""How long a node may take to end that has no quorum: Kafka's brokers wait for a controller, for minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifePhase:
    """A part of a story.

    Attributes:
        at_s: when it began, in seconds after the watch began.
        words: what was done then.
    """

    at_s: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What was seen of the nodes of a target.

    Attributes:
        target: its id.
        phases: what was done with them.
        sightings: what they did with requests, in the order of time.
        notes: what no clause decides, each a sentence.
        failed: why the story did not come to its end, in one sentence; empty if it did.
    """

    target: str
    phases: tuple[LifePhase, ...]
    sightings: tuple[Sighting, ...]
    notes: tuple[str, ...] = ()
    failed: str = ""

    @property
    def ready_s(self) -> float | None:
        """How long it took from the first start to the first successful response of a broker; None if none came.

        With several controllers the time without a quorum is part of it.
        """
        served = (each.at_s for each in self.sightings if each.listener == PLAINTEXT and each.error_code == 0)
        first = next(served, None)
        return None if first is None else first - self.phases[0].at_s


Node = TypeVar("Node", bound=StartableNode)


class WatchedNodes:
    """The nodes of a target, and what was done with them.

    Attributes:
        phases: what was done, in the order of time.
        notes: as in `Life`.
    """

    def __init__(self, nodes: Sequence[StartableNode], watch: Watch) -> None:
        """Begin with nodes that do not run, and with the watch that asks them."""
        self.phases: list[LifePhase] = []
        self.notes: list[str] = []
        self._nodes = nodes
        self._watch = watch

    def start(self, *chosen: StartableNode) -> None:
        """Start some nodes; nothing is waited for."""
        self._note(f"{_named(chosen)} started")
        for node in chosen:
            node.start()

    def wait_until_ready(self, *chosen: StartableNode) -> None:
        """Wait until the brokers of some nodes serve requests."""
        began_s = self.phases[-1].at_s
        for node in chosen:
            serves = partial(self._serves, node, began_s)
            self._wait(serves, READY_LIMIT_S, f"node {node.node_id} serves no request")
        self._note(f"{_named(chosen)} ready")
        self._watch_for(RUNS_S)
        self.notes += different_levels([last for node in chosen for last in self._newest_of(node)])

    def watch_without_quorum(self, node: StartableNode) -> None:
        """Watch a node that cannot have a quorum, until it has answered on some listener and been seen a while."""

        def answers() -> bool:
            last = [self._watch.last(node.node_id, listener) for listener in node.addresses]
            return any(each is not None and each.reply is not Reply.CLOSED for each in last)

        self._wait(answers, READY_LIMIT_S, f"node {node.node_id} accepts no connection")
        self._watch_for(WITHOUT_QUORUM_S)

    def end(self, node: StartableNode, number: signal.Signals, *, why: str = "") -> None:
        """Send a node a signal while many ask it, and wait until it has ended."""
        has_quorum = self.running_nodes * 2 > len(self._nodes)
        limit_s = ENDING_LIMIT_S if has_quorum else ENDING_WITHOUT_QUORUM_S
        with self._watch.crowd(node.node_id, node.addresses):
            self._watch_for(CROWD_S)
            self._note(f"{number.name} to node {node.node_id}{why}")
            has_ended = node.end(number, limit_s=limit_s)
        late = f"did not end within {limit_s:g} s, and was killed"
        self._note(f"node {node.node_id} {'has ended' if has_ended else late}")

    def end_leader(self, number: signal.Signals) -> StartableNode:
        """End the leader, and wait until the others have another one if they can; return the node that has ended."""
        leader = self._agreed_leader(self._nodes)
        self.end(leader, number, why=", the leader")
        others = [each for each in self._nodes if each is not leader]
        if len(others) * 2 > len(self._nodes):
            new = self._agreed_leader(others)
            self._note(f"node {new.node_id} leads")
        else:
            self._note("there is no quorum")
            self._watch_for(WITHOUT_QUORUM_S)
        return leader

    def add(self, leader: ControllerNode, node: ControllerNode) -> None:
        """Add a node that runs to the quorum."""
        add_voter(leader, node)
        self._note(f"node {node.node_id} added to the quorum")
        self._watch_for(RUNS_S)

    @property
    def running_nodes(self) -> int:
        """How many nodes run."""
        return sum(node.runs for node in self._nodes)

    def _agreed_leader(self, among: Sequence[StartableNode]) -> StartableNode:
        found: list[StartableNode] = []

        def agree() -> bool:
            named = {each.leader() for each in among}
            found[:] = [each for each in among if named == {each.node_id}]
            return bool(found)

        self._wait(agree, ELECTION_LIMIT_S, "the nodes agree on no leader")
        return found[0]

    def _watch_for(self, seconds: float) -> None:
        self._holds_within(seconds, lambda: False)

    def _newest_of(self, node: StartableNode) -> list[Sighting]:
        last = (self._watch.last_of_newest(node.node_id, listener) for listener in node.addresses)
        return [each for each in last if each is not None]

    def _serves(self, node: StartableNode, since_s: float) -> bool:
        last = self._watch.last(node.node_id, PLAINTEXT)
        return last is not None and last.at_s >= since_s and last.error_code == 0

    def _wait(self, holds: Callable[[], bool], limit_s: float, otherwise: str) -> None:
        if not self._holds_within(limit_s, holds):
            raise BrokerDidNotStart(f"{otherwise} for {limit_s:g} s; try again when the machine is less busy")

    def _holds_within(self, limit_s: float, holds: Callable[[], bool]) -> bool:
        """Return whether something holds in time; meanwhile no node may end by itself."""

        def read() -> bool:
            if holds():
                return True
            for node in self._nodes:
                node.check_runs()
            return False

        return poll_until(read, True, limit_s=limit_s)

    def _note(self, words: str) -> None:
        self.phases.append(LifePhase(at_s=self._watch.now_s, words=words))


def _named(nodes: Sequence[StartableNode]) -> str:
    return ("node " if len(nodes) == 1 else "nodes ") + ", ".join(str(each.node_id) for each in nodes)


def life_of(target: Target, number: int = 1, *, quorum: Quorum = Quorum.STATIC) -> Life:
    """Start and end the nodes of a target, and return what was seen meanwhile.

    Args:
        target: a release that is started as a process, or another broker or proxy that `is_startable_product`.
        number: 1 for a single broker, up to `MAX_CONTROLLERS` for a quorum of a release with KRaft.
        quorum: how its controllers know each other.

    Raises:
        HarnessError: they cannot be prepared, so nothing was seen.
    """
    if is_startable_product(target):
        with startable_product(target) as node:
            return life_in(single_node, target.id, [node], Watch())
    with startable_nodes(target, number, quorum=quorum) as nodes:
        if number == 1:
            return life_in(single_node, target.id, nodes, Watch())
        begin = one_after_the_other if quorum is Quorum.GROWING else all_together
        return life_in(partial(quorum_story, begin), target.id, nodes, Watch())


def life_in(
    story: Callable[[WatchedNodes, Sequence[Node]], None],
    target: str,
    nodes: Sequence[Node],
    watch: Watch,
) -> Life:
    """Watch nodes during a story, and return what was seen, also if the story fails.

    Args:
        story: what is done with the nodes.
        target: the id of their target.
        nodes: the nodes, of which none runs.
        watch: a watch that has not begun.
    """
    watched, failed = WatchedNodes(nodes, watch), ""
    listeners = [(node.node_id, name, address) for node in nodes for name, address in node.addresses.items()]
    with watch.of(listeners):
        try:
            story(watched, nodes)
        except HarnessError as error:
            # What was seen until then may break a clause.
            failed = str(error)
    return Life(
        target=target,
        phases=tuple(watched.phases),
        sightings=tuple(watch.sightings),
        notes=tuple(dict.fromkeys(watched.notes)),
        failed=failed,
    )


def single_node(story: WatchedNodes, nodes: Sequence[StartableNode]) -> None:
    """A broker starts and is shut down in order, starts again, and is killed."""
    (node,) = nodes
    for number in (signal.SIGTERM, signal.SIGKILL):
        story.start(node)
        story.wait_until_ready(node)
        story.end(node, number)


def quorum_story(
    begin: Callable[[WatchedNodes, Sequence[ControllerNode]], None],
    story: WatchedNodes,
    nodes: Sequence[ControllerNode],
) -> None:
    """A quorum begins, loses its leader twice, and is shut down in order."""
    begin(story, nodes)
    for number in (signal.SIGKILL, signal.SIGTERM):
        ended = story.end_leader(number)
        story.start(ended)
        story.wait_until_ready(ended)
    for node in nodes:
        story.end(node, signal.SIGTERM)


def all_together(story: WatchedNodes, nodes: Sequence[StartableNode]) -> None:
    """One of several has no quorum; then all run."""
    first, *others = nodes
    story.start(first)
    story.watch_without_quorum(first)
    story.start(*others)
    story.wait_until_ready(*nodes)


def one_after_the_other(story: WatchedNodes, nodes: Sequence[ControllerNode]) -> None:
    """One begins alone, and the others are added to its quorum."""
    first, *others = nodes
    story.start(first)
    story.wait_until_ready(first)
    for node in others:
        story.start(node)
        story.wait_until_ready(node)
        story.add(first, node)
