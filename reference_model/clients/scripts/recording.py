"""Recording of what a scripted broker saw of a client.

It has the connections and requests, each with what the client got.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reference_model.clients.scripts.script import Answer, ConnectionScript, NodeScript, Script
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import ApiVersionsRequest

MAX_CONNECTIONS = 250
"""How many connections of a play are recorded; further ones are counted.

They are more than the ApiVersions requests that a client may send in some seconds (`limits.MAX_IN_WINDOW`): one that
opens a connection for each would not be noticed otherwise."""
MAX_REQUESTS = 400
"""How many requests of a play are recorded; further ones are counted."""
MAX_BYTES = 2 << 20
"""How many bytes of a play are recorded before further requests are only counted, because a run keeps all of its plays.

A client that only starts sends less than 100 KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """One request of a client, and what the scripted broker did with it.

    Attributes:
        connection: the number of its connection.
        at_ms: when it was complete, from the start of the play.
        data: its bytes, size prefix included.
        api_key: its API key.
        api_version: its version.
        correlation_id: its correlation id.
        client_id: its client id; None if it is null or cannot be read.
        has_compact_client_id: whether its bytes make sense only with a client id of compact length, which no header
            has.
        body: the body, decoded exactly; None for another API, or if it cannot be decoded.
        problem: why a request of a described API cannot be decoded; empty if it can.
        tags_descend: whether the tags of a tag section, in its header or its body, are not in ascending order, or one
            comes twice.
        read: which read of its connection completed it, counted from 0: no response to a request of the same read can
            have been known when it was sent. None if that was not noted.
        answer: what the script, or the healthy broker after it, does with an ApiVersions request; None for another API,
            and if the connection was silent already.
        response: the bytes that were written in response before the connection and the play ended.
        answered_ms: when the response was written, if a real broker gave it, or a scripted one that had to send others
            before; otherwise a scripted broker answers when its script says.
        is_served: whether it is one that the broker supports; otherwise it got UNSUPPORTED_VERSION, a close or, on a
            silent connection, nothing.
    """

    connection: int
    at_ms: int
    data: bytes
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None
    has_compact_client_id: bool = False
    body: ApiVersionsRequest | None = None
    problem: str = ""
    tags_descend: bool = False
    read: int | None = None
    answer: Answer | None = None
    response: bytes = b""
    answered_ms: int | None = None
    is_served: bool = True

    @property
    def is_about_versions(self) -> bool:
        """Whether it is an ApiVersions request."""
        return self.api_key == API_VERSIONS_KEY

    @property
    def responded_ms(self) -> int:
        """When its response, if it got one, was written completely: as recorded, or after the delays of the script."""
        if self.answered_ms is not None:
            return self.answered_ms
        return self.at_ms + (0 if self.answer is None else self.answer.delay_ms * self.answer.pieces)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenConnection:
    """One connection that a client opened.

    Attributes:
        number: counted from 0 over all nodes, in the order in which they were accepted.
        node: the index of its node in the script.
        opened_ms: when it was accepted.
        closed_ms: when it ended; None if it was open when the play ended.
        closed_by: who ended it; empty if neither side did.
        was_reset: whether it ended with a reset (RST), and not with the end of a stream (FIN). That of a client shows
            that it had not read the last response to its end: what comes after a socket is closed, or lies unread in it
            then, is answered with a reset (RFC 9293, 3.6.1).
        is_healthy: whether it was opened after the script had healed.
        requests: how many requests came on it, also those that are not recorded.
        api_versions_requests: how many of them were ApiVersions requests.
        unreadable: the first bytes of what is no request; empty if everything was one.
        is_before_tls: whether these bytes came unencrypted before the TLS handshake was finished.
    """

    number: int
    node: int
    opened_ms: int
    closed_ms: int | None = None
    closed_by: Literal["", "client", "broker"] = ""
    was_reset: bool = False
    is_healthy: bool = False
    requests: int = 0
    api_versions_requests: int = 0
    unreadable: bytes = b""
    is_before_tls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Everything that a scripted broker saw of one client under one script.

    Attributes:
        script: the script.
        connections: the connections, by number; at most `MAX_CONNECTIONS` of them.
        requests: the requests in the order in which they came; at most `MAX_REQUESTS` of them.
        all_connections: how many connections there were.
        all_requests: how many requests there were.
        api_versions_requests: how many of these were ApiVersions requests.
        duration_ms: how long the play took.
        cut_short: why the play ended before the client did, in words; empty if it did not.
        unserved: API key and version of requests that the scripted broker cannot answer; it closed their connections.
    """

    script: Script
    connections: tuple[SeenConnection, ...] = ()
    requests: tuple[SeenRequest, ...] = ()
    all_connections: int = 0
    all_requests: int = 0
    api_versions_requests: int = 0
    duration_ms: int = 0
    cut_short: str = ""
    unserved: tuple[tuple[int, int], ...] = ()

    def requests_on(self, connection: SeenConnection) -> Iterator[SeenRequest]:
        """Return the recorded requests of a connection, in order."""
        return (each for each in self.requests if each.connection == connection.number)

    @property
    def healed_ms(self) -> int | None:
        """When the nodes became healthy; None if they never do, or if there was no connection."""
        heals_after_ms = self.script.heals_after_ms
        if heals_after_ms is None or not self.connections:
            return None
        return self.connections[0].opened_ms + heals_after_ms

    @property
    def versions_of_api_versions(self) -> tuple[int, ...]:
        """The versions of the recorded ApiVersions requests, in order."""
        return tuple(each.api_version for each in self.requests if each.is_about_versions)


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


def as_scripted(recording: Recording, route_of_connection: Sequence[Route], options: tuple[str, ...]) -> Recording:
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
    nodes = tuple(NodeScript(connections=tuple(each) or (ConnectionScript(),)) for each in connections)
    return dataclasses.replace(recording, script=Script(nodes=nodes, options=options))
