"""Faults of clients that take for a success what is none, or that do not come back to their application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import ClientError, ConnectionLost, NoCommonVersion
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.faults.clients.registry import fault
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.headers import CORRELATION_ID_BYTES

FOR_EVER_MS = 24 * 60 * 60 * 1000
ONCE_A_SECOND_MS = 1000
_OTHER_ERRORS = (
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.REBOOTSTRAP_REQUIRED,
)

AfterRefusal = Callable[[Link, int, bytes], int]
ApiVersionsOf = Callable[[Link, int], bytes]
Decoded = Callable[[Link, int, bytes], ApiVersionsResponse]
ErrorCodeOf = Callable[[Link, int, bytes], int]
FetchMetadata = Callable[[int], str]
FirstVersion = Callable[[Link], int]
Ids = tuple[str | None, int]
NextFrame = Callable[[Link], bytes]
RangesIn = Callable[[Link, ApiVersionsResponse], Mapping[int, Range]]


# KIP-35.client-reports-failure


def _succeeding_after(error: type[ClientError], decide: FetchMetadata, until_ms: int) -> str:
    try:
        return decide(until_ms)
    except error:
        return "0 nodes"


@fault(ModelClient.fetch_metadata, "KIP-35.client-reports-failure")
def lost_connection_is_a_success(client: ModelClient, decide: FetchMetadata, until_ms: int) -> str:
    """Reports success if it got no response until its time was over."""
    return _succeeding_after(ConnectionLost, decide, until_ms)


@fault(
    ModelClient.fetch_metadata,
    "KIP-35.client-reports-failure",
    "KIP-35.client-uses-overlap",
)
def missing_version_is_a_success(client: ModelClient, decide: FetchMetadata, until_ms: int) -> str:
    """Reports success, with nothing in it, if it shares no version with the broker."""
    return _succeeding_after(NoCommonVersion, decide, until_ms)


@fault(ModelClient.fetch_metadata, "KIP-35.client-reports-failure", "KIP-511.client-errors-on-42")
def failed_authentication_is_a_success(
    client: ModelClient, decide: FetchMetadata, until_ms: int
) -> str:
    """Reports success if a connection with SASL could not be authenticated."""
    if client.credentials is None:
        return decide(until_ms)
    return _succeeding_after(ClientError, decide, until_ms)


# KIP-35.client-survives-nonsense


@fault(ModelClient.next_frame, "KIP-35.client-survives-nonsense")
def correlation_ids_are_not_compared(client: ModelClient, decide: NextFrame, link: Link) -> bytes:
    """Takes every response for that to its latest request."""
    frame = decide(link)
    return link.last_correlation_id.to_bytes(CORRELATION_ID_BYTES) + frame[CORRELATION_ID_BYTES:]


# KIP-35.client-survives-old-broker


@fault(
    ModelClient.next_frame,
    "KIP-35.client-survives-old-broker",
    "KIP-35.client-survives-nonsense",
)
def silence_is_waited_out(client: ModelClient, decide: NextFrame, link: Link) -> bytes:
    """Waits on if the broker stays silent, so that only its driver's own watchdog ends it."""
    try:
        return decide(link)
    except ConnectionLost:
        if link.stream.receive(0) == b"":
            client.network.wait(FOR_EVER_MS)
        raise


@fault(
    ModelClient.fetch_metadata,
    "KIP-35.client-survives-old-broker",
    "KIP-35.client-survives-nonsense",
)
def lost_connections_are_tried_again_for_ever(
    client: ModelClient, decide: FetchMetadata, until_ms: int
) -> str:
    """Connects again once a second and never comes back to its application, so that only its driver's own watchdog ends it."""
    while True:
        try:
            return decide(until_ms)
        except ConnectionLost:
            client.network.wait(ONCE_A_SECOND_MS)


# KIP-35.client-uses-overlap


@fault(ModelClient.ranges_in, "KIP-35.client-uses-overlap")
def empty_table_lists_everything(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Takes a table without entries for that of a broker that supports all it knows."""
    return decide(link, response) if response.api_keys else OWN_RANGES


# KIP-511.client-ignores-table-of-35


@fault(ModelClient.error_code_of, "KIP-511.client-ignores-table-of-35")
def other_errors_are_overlooked(
    client: ModelClient, decide: ErrorCodeOf, link: Link, version: int, response: bytes
) -> int:
    """Looks for the errors that KIP-511 and KIP-1242 name, and uses the table that comes with any other one."""
    error_code = decide(link, version, response)
    return error_code if error_code in _OTHER_ERRORS else ErrorCode.NONE


# KIP-511.client-reads-fixed-header


def _asked_again_in_v0(
    client: ModelClient, decide: Decoded, link: Link, response: ApiVersionsResponse, version: int
) -> ApiVersionsResponse:
    if version < FIRST_FLEXIBLE_VERSION or response.error_code is not ErrorCode.NONE:
        return response
    return decide(link, 0, client.body_of(link, 0, client.api_versions_response(link, 0)))


@fault(ModelClient.decoded_response, "KIP-511.client-reads-fixed-header")
def flexible_table_is_asked_for_again(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Asks in v0 after each table in a flexible version, which it cannot read."""
    return _asked_again_in_v0(client, decide, link, decide(link, version, body), version)


@fault(ModelClient.decoded_response, "KIP-511.client-reads-fixed-header")
def flexible_table_of_a_node_is_asked_for_again(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Does the same on connections to discovered nodes alone."""
    response = decide(link, version, body)
    if link.node is None:
        return response
    return _asked_again_in_v0(client, decide, link, response, version)


# KIP-511.client-begins-with-newest


@fault(ModelClient.version_after_refusal, "KIP-511.client-begins-with-newest")
def one_refusal_is_for_all_brokers(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Begins with v0 everywhere and for good, once any broker has refused a version."""
    vars(client)["first_version"] = lambda _: 0
    return decide(link, refused, response)


# KIP-1242.then-sends-both


@fault(
    ModelClient.expected_ids,
    "KIP-1242.then-sends-both",
    "KIP-1242.misrouted-cluster-recovers",
)
def first_cluster_id_is_kept(client: ModelClient, decide: Callable[[Link], Ids], link: Link) -> Ids:
    """Sends the id of the first cluster for good, whatever newer metadata says."""
    cluster_id, node_id = decide(link)
    if cluster_id is None:
        return cluster_id, node_id
    kept: Any = client.notes.setdefault("cluster id", cluster_id)
    return kept, node_id


@fault(ModelClient.expected_ids, "KIP-1242.then-sends-both")
def first_node_ids_are_kept(client: ModelClient, decide: Callable[[Link], Ids], link: Link) -> Ids:
    """Sends the node id that an address had first, whatever newer metadata says."""
    cluster_id, node_id = decide(link)
    if cluster_id is None:
        return cluster_id, node_id
    kept: Any = client.notes.setdefault(("node id", link.address), node_id)
    return cluster_id, kept
