"""Routes of a proxy's ports, and their form in a recording (KIP-1242)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import ConnectionScript, NodeScript, Script


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where all ports lead from a time on.

    Attributes:
        when: what has happened, as the end of a sentence, such as "after two brokers changed places".
        from_ms: since when, from the start of the play.
        cluster_id: the id of the cluster that they lead to.
        node_ids: the id of the broker that each port leads to.
    """

    when: str
    from_ms: int
    cluster_id: str
    node_ids: tuple[int, ...]


def as_scripted(
    recording: Recording, route_of_connection: Sequence[Route], options: tuple[str, ...]
) -> Recording:
    """Return a recording of real brokers with the script that would have made the same of its connections.

    Args:
        recording: what a proxy recorded.
        route_of_connection: where the connections led, by their number.
        options: the names of the options that the client was started with.
    """
    connections: list[list[ConnectionScript]] = [[] for _ in recording.script.nodes]
    for connection, route in zip(recording.connections, route_of_connection, strict=False):
        script = ConnectionScript(cluster_id=route.cluster_id, node_ids=route.node_ids)
        connections[connection.node].append(script)
    nodes = tuple(
        NodeScript(connections=tuple(each) or (ConnectionScript(),)) for each in connections
    )
    return dataclasses.replace(recording, script=Script(nodes=nodes, options=options))
