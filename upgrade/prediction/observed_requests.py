"""Which requests each client sent, and whether it asks for versions.

The proxy, captures, request logs and metrics are the sources. Each says in sentences what it cannot see.

Brokers and controllers are upgraded with their cluster, so they are no clients. A proxy sees no requests that they send
each other, but a capture and a request log may be full of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

import click

from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import Ranges, intersection
from wire.api_keys import API_VERSIONS_KEY, PRODUCE_KEY
from wire.request_log import UNKNOWN_SOFTWARE

MAX_CLIENTS = 2000
"""How many distinct clients are kept; further ones are only counted."""
MAX_VERSIONS = 1000
"""How many distinct requests are kept of each client; Kafka 4.4 has fewer than 500 versions of all APIs together."""
MAX_CONNECTIONS = 1000
"""How many connections of each client are distinguished."""
MAX_NOTES = 50
"""How many sentences are kept of each client, and how many about a source."""


_ORDER = attrgetter("software_name", "software_version", "client_id", "address", "principal")
"""What clients are sorted by."""


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """What distinguishes one client from another.

    Attributes:
        client_id: its client id; None if it has none.
        address: its host, without a port.
        principal: the user it is authenticated as, if the source knows.
        software_name: its name in ApiVersions, if it has sent one.
        software_version: its version in ApiVersions.
        is_group: whether it stands for all programs with this software, or for all programs if there is none, because
            the source does not distinguish them.
    """

    client_id: str | None
    address: str
    principal: str | None = None
    software_name: str | None = None
    software_version: str | None = None
    is_group: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A request that a client was not allowed to send.

    Attributes:
        clause: the clause that forbids it.
        sentence: what was wrong.
        data: its bytes: size, header, and for ApiVersions the body.
    """

    clause: str
    sentence: str
    data: bytes


@dataclass(slots=True)
class ObservedClient:
    """What was seen of one client.

    Attributes:
        requests: how often it sent each request, by API key and version.
        connections: what distinguishes its connections, as far as sources know them.
        missed_beginning: whether a connection of it was not seen from its beginning, so that it may have asked for
            versions before.
        missed_requests: whether it sent requests that could not be read.
        notes: what the sources could not read of it, each a sentence.
    """

    requests: Counter[tuple[int, int]] = field(default_factory=Counter)
    connections: set[object] = field(default_factory=set)
    missed_beginning: bool = False
    missed_requests: bool = False
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def asked(self) -> bool:
        """Whether it was seen to ask for versions."""
        return any(key == API_VERSIONS_KEY for key, _ in self.requests)


class ObservedRequests:
    """Counts the requests of each client.

    Memory is bounded by the number of distinct clients, not of requests.

    Attributes:
        limits: what the sources cannot see, each a sentence, in the order of `note_limit`.
        are_incomplete: whether clients were left out, so that nothing can be said of all of them.
        tables: what listeners answered to ApiVersions, by the listener's address: lowest and highest version by API
            key.
        served: from sources without tables, by API key and version of a request: the newest version of the API that a
            broker is known to serve that served this one.
    """

    def __init__(self) -> None:
        self._clients: dict[ClientIdentity, ObservedClient] = {}
        self._alike: dict[tuple[str | None, str], list[ObservedClient]] = {}
        self.limits: dict[str, None] = {}
        self.are_incomplete = False
        self.tables: dict[str, dict[int, tuple[int, int]]] = {}
        self.served: dict[tuple[int, int], int] = {}

    def add(
        self,
        client: ClientIdentity,
        api_key: int,
        api_version: int,
        times: int = 1,
        *,
        connection: object | None = None,
    ) -> None:
        """Count a request; `connection` distinguishes its connection from others of the client, if the source knows."""
        seen = self.of(client)
        request = (api_key, api_version)
        if request in seen.requests or len(seen.requests) < MAX_VERSIONS:
            seen.requests[request] += times
        else:
            seen.missed_requests = True
            self.note(client, f"it sent more than {MAX_VERSIONS} kinds of requests")
        if connection is not None and len(seen.connections) < MAX_CONNECTIONS:
            seen.connections.add(connection)

    def of(self, client: ClientIdentity) -> ObservedClient:
        """Return the record of a client, to which sources add; if there are too many clients, it is not kept."""
        if client in self._clients:
            return self._clients[client]
        seen = ObservedClient()
        if len(self._clients) >= MAX_CLIENTS:
            self.are_incomplete = True
            self.note_limit(f"there were more than {MAX_CLIENTS} clients; further ones are left out")
        else:
            self._clients[client] = seen
            self._alike.setdefault((client.client_id, client.address), []).append(seen)
        return seen

    def note(self, client: ClientIdentity, sentence: str) -> None:
        """Remember what a source could not read of a client."""
        notes = self.of(client).notes
        if len(notes) < MAX_NOTES:
            notes[sentence] = None

    def note_limit(self, sentence: str) -> None:
        """Remember what a source cannot see at all."""
        if len(self.limits) < MAX_NOTES:
            self.limits[sentence] = None

    def note_served(self, api_key: int, api_version: int, newest: int) -> None:
        """Remember that a broker that served a request also serves a version of the same API."""
        request = api_key, api_version
        self.served[request] = max(newest, self.served.get(request, newest))

    @property
    def versions_of_all(self) -> Ranges:
        """The versions that all listeners of brokers listed; empty if none was seen. Controllers are left out."""
        brokers = [table for table in self.tables.values() if PRODUCE_KEY in table]
        return intersection([{key: Range(*versions) for key, versions in table.items()} for table in brokers])

    @property
    def clients(self) -> tuple[ClientIdentity, ...]:
        """The clients in a stable order."""
        return tuple(sorted(self._clients, key=lambda each: [part or "" for part in _ORDER(each)]))

    def requests(self, client: ClientIdentity) -> Mapping[tuple[int, int], int]:
        """Return how often one of the clients sent each request, by API key and version ascending."""
        return dict(sorted(self._clients[client].requests.items()))

    def asks(self, client: ClientIdentity) -> bool | None:
        """Return whether a client asks for versions; None if it may have asked on a connection before that was seen.

        A client may ask on its first connection alone. So what has the same client id and address counts as the same
        client. Programs of a group that have introduced themselves did so in a request that asks.
        """
        if client.is_group:
            return True if client.software_name not in (None, UNKNOWN_SOFTWARE) else None
        same = self._alike[client.client_id, client.address]
        if any(each.asked for each in same):
            return True
        return None if any(each.missed_beginning for each in same) else False


class UnusableSource(click.ClickException):
    """A capture, a log or a page of metrics that was named does not exist, cannot be opened, or is something else."""

    exit_code = 4
