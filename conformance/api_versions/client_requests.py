"""What clients of the registry can send, as far as it is known.

Of Kafka's own clients all requests are known, of others those that the suite has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.api_versions.cluster_tables import ClusterTables
from conformance.api_versions.sent_requests import sent_ranges
from fixtures.registry.clients import Client, all_clients
from reference_model.profiles.java_requests import JAVA_CLIENT, ranges_of_client
from reference_model.profiles.version_tables import Ranges, RequestChange, Support


class UnknownRequests(Exception):
    """Nothing is known of what a client can send; the message names the clients of which something is."""


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
        raise UnknownRequests(
            f"what {client_id!r} can send is not known; known are {', '.join(sorted(known))}"
        )
    client = known[client_id]
    return ClientRequests(
        client_id=client_id, ranges=_ranges(client), is_complete=client.library == JAVA_CLIENT
    )


def _ranges(client: Client) -> Ranges:
    if client.library == JAVA_CLIENT:
        return ranges_of_client(client.version)
    return sent_ranges().get(client.name, {})


def refused_requests(client: Ranges, cluster: ClusterTables) -> Sequence[RequestChange]:
    """Return the APIs that a client has and cannot use: brokers list none, or they serve no version that the client has.

    Args:
        client: the versions that the client can speak.
        cluster: the brokers.

    Returns:
        Changes from the client's table to that of the brokers.
    """
    table, served = cluster.table, cluster.served
    return [
        RequestChange(api_key=key, before=Support(own), after=table.get(key))
        for key, own in sorted(client.items())
        if key not in served or own.common_with(served[key]) is None
    ]
