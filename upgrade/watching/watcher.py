"""What the proxy of `watch` finds out about clients and brokers.

It records who sends what, what the brokers list, and which rules the clients violate.

Clients are judged by the oracle of the role, `forbidden_moves`. They are in no role: nothing is drawn or played, so
nothing can be repeated.

Kept are counts, tables, and the headers of the first requests of each client; never a payload.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from reference_model.clients.rules.oracle import ForbiddenMove, forbidden_moves
from reference_model.clients.rules.read_response import ResponseKind, read_response
from reference_model.clients.scripts.reading import MIN_REQUEST_BYTES, read_request
from reference_model.clients.scripts.recording import (
    MAX_CONNECTIONS,
    MAX_REQUESTS,
    Recording,
    SeenConnection,
    SeenRequest,
)
from reference_model.clients.scripts.script import NodeScript, Script
from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import Ranges, intersection
from upgrade.prediction.observed_requests import MAX_CLIENTS, ClientIdentity, ObservedRequests, Violation
from upgrade.watching.request_head import RequestHead, client_text
from wire.api_keys import API_VERSIONS_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import ApiVersionsRequest
from wire.frames import SIZE_BYTES

MAX_JUDGED = 200
"""How many clients are judged by the oracle; of each the first connections and requests."""
MAX_VIOLATIONS = 3
"""How many different violations of one clause are shown of each client."""
_NEW, _LEFT_OUT = -1, -2
"""Places of a connection that has no request yet, and of one that the oracle is not shown."""
_MAX_COUNTS = 200
"""How many kinds of requests are counted on a connection before they are taken over."""
_CONNECTION = re.compile(r" on connection \d+")
_NOT_JUDGED = "KIP-1242."
"""Clauses about ids: the oracle needs to know those of the cluster for them."""


@dataclass(slots=True)
class _JudgedClient:
    """The connections and requests of one client that the oracle judges."""

    connections: list[SeenConnection] = field(default_factory=list)
    requests: list[SeenRequest] = field(default_factory=list)


@dataclass(slots=True)
class WatchedConnection:
    """One connection of a client, as the watcher sees it.

    Attributes:
        number: counted from 0 over all connections.
        address: the client's host.
        node: the index of the broker among those that were named.
        opened_ms: when it was opened.
        client_id: the client id of its latest request.
    """

    number: int
    address: str
    node: int
    opened_ms: int
    client_id: bytes | None = None
    counts: dict[tuple[bytes | None, int, int], int] = field(default_factory=dict)
    judged: _JudgedClient | None = None
    judged_number: int = _NEW
    unanswered: dict[RequestHead, int] = field(default_factory=dict)


class Watcher:
    """Collects what the connections of a proxy show.

    Attributes:
        tables: what each broker always listed, by the index of the broker.
        requests: how many requests there were.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._observed = ObservedRequests()
        self._open: dict[int, WatchedConnection] = {}
        self.tables: dict[int, Ranges] = {}
        self.requests = 0
        self._opened = 0
        self._software: dict[tuple[str | None, str], tuple[str, str]] = {}
        self._judged: dict[tuple[str | None, str], _JudgedClient] = {}

    @property
    def observed(self) -> ObservedRequests:
        """The requests so far."""
        for connection in self._open.values():
            self._count(connection)
        return self._observed

    @property
    def watched(self) -> Ranges:
        """What all brokers listed that a client asked; empty if none was asked."""
        return intersection(list(self.tables.values()))

    def opened(self, address: str, node: int) -> WatchedConnection:
        """Begin to watch a connection."""
        self._opened += 1
        opened = WatchedConnection(self._opened - 1, address, node, self._now_ms())
        self._open[opened.number] = opened
        return opened

    def requested(self, connection: WatchedConnection, head: RequestHead) -> None:
        """Count a request."""
        self.requests += 1
        if head.api_key == API_VERSIONS_KEY:
            self._learn_software(connection, head)
        connection.client_id = head.client_id
        kind = (head.client_id, head.api_key, head.api_version)
        connection.counts[kind] = connection.counts.get(kind, 0) + 1
        if connection.judged is not None or connection.judged_number == _NEW:
            self._record(connection, head)
        if len(connection.counts) > _MAX_COUNTS:
            self._count(connection)

    def answered(self, connection: WatchedConnection, head: RequestHead, response: bytes) -> None:
        """Remember that a request was answered, with the first bytes of the response.

        A response about versions is remembered completely.
        """
        if connection.judged is None:
            return
        index = connection.unanswered.pop(head, None)
        if index is None:
            return
        if (head.api_key, head.api_version) == (SASL_HANDSHAKE_KEY, 0):
            # The oracle would take the next request for a token, and tokens are never recorded.
            return
        connection.judged.requests[index] = replace(
            connection.judged.requests[index], response=response, answered_ms=self._now_ms()
        )

    def take_table(self, connection: WatchedConnection, head: RequestHead, response: bytes) -> None:
        """Record the response to ApiVersions, as the client gets it; size included."""
        self.answered(connection, head, response)
        read = read_response(_seen(head, connection.number, self._now_ms(), response=response))
        if read.kind is ResponseKind.TABLE:
            table = {key: Range(*ranges[0]) for key, ranges in read.ranges.items() if ranges}
            # A broker may be upgraded while it is watched, and the first address may lead to several.
            known = self.tables.get(connection.node, table)
            self.tables[connection.node] = intersection([known, table])

    def note(self, connection: WatchedConnection, sentence: str) -> None:
        """Remember what could not be read on a connection."""
        client = self._identity(connection.client_id, connection.address)
        self._observed.note(client, sentence)

    def miss_rest(self, connection: WatchedConnection, sentence: str) -> None:
        """Remember why further requests of a client are not seen."""
        client = self._identity(connection.client_id, connection.address)
        self._observed.of(client).missed_requests = True
        self._observed.note(client, sentence)

    def over(self, connection: WatchedConnection) -> None:
        """Add the counts of a connection that has ended to the observed requests, and forget the connection."""
        self._count(connection)
        self._open.pop(connection.number, None)
        connection.unanswered.clear()

    def closed(self, connection: WatchedConnection, *, by_client: bool) -> None:
        """Remember that one side ended a connection."""
        judged, number = connection.judged, connection.judged_number
        if judged is not None and number >= 0:
            judged.connections[number] = replace(
                judged.connections[number],
                closed_ms=self._now_ms(),
                closed_by="client" if by_client else "broker",
            )

    def violations(self) -> Mapping[tuple[str | None, str], tuple[Violation, ...]]:
        """Return the rules that clients violated, by client id and address.

        There is one violation for each clause and sentence.
        """
        return {client: _violations(judged) for client, judged in self._judged.items()}

    def _learn_software(self, connection: WatchedConnection, head: RequestHead) -> None:
        """Remember the software that an ApiVersions request names, for all connections of the client."""
        body = _seen(head, connection.number, 0).body
        if isinstance(body, ApiVersionsRequest) and body.client_software_name:
            client = (head.client_name, connection.address)
            if client in self._software or len(self._software) < MAX_CLIENTS:
                software = (body.client_software_name, body.client_software_version)
                self._software[client] = software

    def _count(self, connection: WatchedConnection) -> None:
        """Add a connection's counts to the observed requests, with the client's software as it is known now."""
        for (client_id, api_key, api_version), times in connection.counts.items():
            client = self._identity(client_id, connection.address)
            number = connection.number
            self._observed.add(client, api_key, api_version, times, connection=number)
        connection.counts.clear()

    def _identity(self, client_id: bytes | None, address: str) -> ClientIdentity:
        text = client_text(client_id)
        name, version = self._software.get((text, address), (None, None))
        return ClientIdentity(text, address, software_name=name, software_version=version)

    def _record(self, connection: WatchedConnection, head: RequestHead) -> None:
        """Keep the header of a request for the oracle, if there is room for it."""
        if connection.judged_number == _NEW:
            self._begin_record(connection, (head.client_name, connection.address))
        judged = connection.judged
        if judged is None:
            return
        if len(judged.requests) >= MAX_REQUESTS:
            # The oracle would take what is answered later for unanswered.
            connection.judged = None
            return
        connection.unanswered[head] = len(judged.requests)
        judged.requests.append(_seen(head, connection.judged_number, self._now_ms()))

    def _begin_record(self, connection: WatchedConnection, client: tuple[str | None, str]) -> None:
        connection.judged_number = _LEFT_OUT
        if client not in self._judged and len(self._judged) >= MAX_JUDGED:
            return
        judged = self._judged.setdefault(client, _JudgedClient())
        if len(judged.connections) >= MAX_CONNECTIONS or len(judged.requests) >= MAX_REQUESTS:
            return
        connection.judged, connection.judged_number = judged, len(judged.connections)
        judged.connections.append(
            SeenConnection(
                number=connection.judged_number,
                node=connection.node,
                opened_ms=connection.opened_ms,
            )
        )


def _violations(judged: _JudgedClient) -> tuple[Violation, ...]:
    """Return the violations that each connection shows by itself.

    Other connections may only excuse a request: two programs may have one client id and address, and then one is not
    bound by what the broker answered the other.
    """
    alone = [_alone(judged, each) for each in judged.connections]
    certain = {
        (number, move.request): replace(move, connection=number)
        for number, recording in enumerate(alone)
        for move in forbidden_moves(recording)
    }
    forbidden = {(each.connection, each.request) for each in forbidden_moves(_recording(judged))}
    violations: dict[tuple[str, str], Violation] = {}
    for move in (certain[key] for key in sorted(certain.keys() & forbidden)):
        alike = (move.clause, _CONNECTION.sub("", move.sentence))
        shown = sum(1 for clause, _ in violations if clause == move.clause)
        if move.clause.startswith(_NOT_JUDGED) or alike in violations or shown == MAX_VIOLATIONS:
            continue
        violations[alike] = Violation(clause=move.clause, sentence=move.sentence, data=_bytes_of(move, judged))
    return tuple(violations.values())


def _alone(judged: _JudgedClient, connection: SeenConnection) -> Recording:
    requests = [replace(each, connection=0) for each in judged.requests if each.connection == connection.number]
    return _recording(_JudgedClient([replace(connection, number=0)], requests))


def _recording(judged: _JudgedClient) -> Recording:
    nodes = 1 + max((each.node for each in judged.connections), default=0)
    return Recording(
        script=Script(nodes=(NodeScript(),) * nodes),
        connections=tuple(judged.connections),
        requests=tuple(judged.requests),
        all_connections=len(judged.connections),
        all_requests=len(judged.requests),
    )


def _bytes_of(move: ForbiddenMove, judged: _JudgedClient) -> bytes:
    on_connection = [each for each in judged.requests if each.connection == move.connection]
    return on_connection[move.request].data


def _seen(head: RequestHead, connection: int, at_ms: int, *, response: bytes = b"") -> SeenRequest:
    """Return a request for the oracle, with the bytes that were read."""
    payload = head.data[SIZE_BYTES:].ljust(MIN_REQUEST_BYTES, b"\0")
    seen = read_request(payload, connection=connection, at_ms=at_ms)
    if not seen.is_about_versions:
        # The body of another API is not read, so it cannot be judged.
        seen = replace(seen, problem="", tags_descend=False)
    return replace(seen, data=head.data, response=response)
