"""What clients of the registry can send, as far as it is known.

Of Kafka's own clients all requests are known, of others those that the suite has seen: `sent_requests.csv`. In the grid
of operations each of them does all its operations with every release since 0.10.0. So the file has the lowest and the
highest version that it chose for each API that its operations need. `python -m workflows.sent_requests` writes it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fixtures.registry.clients import Client, all_clients
from reference_model.profiles.java_requests import JAVA_CLIENT, ranges_of_client
from reference_model.profiles.known_apis import Range
from reference_model.profiles.version_tables import Ranges, RequestChange, Support
from upgrade.api_versions.cluster_tables import ClusterTables

FILE = Path(__file__).parent / "sent_requests.csv"


class SentRange(NamedTuple):
    """The versions of one API that one client was seen to send."""

    client: str
    api_key: int
    lowest: int
    highest: int


COLUMNS = SentRange._fields


def sent_ranges() -> Mapping[str, Ranges]:
    """Return the range of each API that each client was seen to send, by library and version."""
    by_client: dict[str, dict[int, Range]] = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            ranges = by_client.setdefault(row["client"], {})
            ranges[int(row["api_key"])] = Range(int(row["lowest"]), int(row["highest"]))
    return by_client


class UnknownRequests(Exception):
    """The requests of a client are not known; the message names the clients whose requests are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequests:
    """What is known of a client's requests.

    Attributes:
        client_id: the client's id in the registry.
        ranges: the versions of each request.
        is_complete: whether it sends no other requests.
    """

    client_id: str
    ranges: Ranges
    is_complete: bool


def requests_of(client_id: str) -> ClientRequests:
    """Return what is known of the requests of a client.

    Raises:
        UnknownRequests: nothing is known.
    """
    known = {client.id: client for client in all_clients() if _ranges(client)}
    if client_id not in known:
        raise UnknownRequests(f"what {client_id!r} can send is not known; known are {', '.join(sorted(known))}")
    client = known[client_id]
    return ClientRequests(client_id=client_id, ranges=_ranges(client), is_complete=client.library == JAVA_CLIENT)


def _ranges(client: Client) -> Ranges:
    if client.library == JAVA_CLIENT:
        return ranges_of_client(client.version)
    return sent_ranges().get(client.name, {})


def refused_requests(client: Ranges, cluster: ClusterTables) -> Sequence[RequestChange]:
    """Return the APIs that a client has and cannot use with these brokers.

    The brokers do not list such an API, or they serve no version of it that the client has.

    Returns:
        Changes from the client's table to that of the brokers.
    """
    table, served = cluster.table, cluster.served
    return [
        RequestChange(api_key=key, before=Support(own), after=table.get(key))
        for key, own in sorted(client.items())
        if key not in served or own.common_with(served[key]) is None
    ]
