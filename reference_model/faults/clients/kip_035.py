"""Faults against the clauses of KIP-35."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_model.clients.model.client_connections import Link, Node, Range
from reference_model.clients.model.client_errors import (
    Aborted,
    BrokerError,
    ClientError,
    ConnectionLost,
    Hung,
    NoCommonVersion,
    Nonsense,
)
from reference_model.clients.model.model_client import ModelClient
from reference_model.clients.model.negotiation import OWN_RANGES, own_ranges
from reference_model.clients.model.network import Address
from reference_model.clients.rules.moves import SASL_KEYS
from reference_model.clients.scripts.script import healthy_ranges
from reference_model.faults.clients.registry import fault
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsResponse
from wire.errors import DecodeError
from wire.headers import InstanceIdHeader

FIRST_UNKNOWN_KEY = max(key for key, _, _ in healthy_ranges()) + 1
FIRST_PRIVATE_KEY = 10000
NO_ERROR = bytes(2)

AfterRefusal = Callable[[Link, int, bytes], int]
Decoded = Callable[[Link, int, bytes], ApiVersionsResponse]
ApiVersionsBody = Callable[[Link, int], bytes]
HeaderBytes = Callable[[InstanceIdHeader, int], bytes]
RangesIn = Callable[[Link, ApiVersionsResponse], Mapping[int, Range]]
TableFor = Callable[[Link], Mapping[int, Range]]
VersionOf = Callable[[Link, int], int]


def _offered(link: Link, api_key: int) -> Range | None:
    return (link.table or {}).get(api_key)


# KIP-35.client-uses-overlap


@fault(ModelClient.version_of, "KIP-35.client-uses-overlap", "KIP-97.no-doomed-request")
def lowest_version_is_ignored(
    client: ModelClient, decide: VersionOf, link: Link, api_key: int
) -> int:
    """Looks at the highest version of a range only, as KafkaJS does."""
    offered, newest = _offered(link, api_key), own_ranges(link)[api_key][1]
    return newest if offered is not None and offered[0] > newest else decide(link, api_key)


@fault(ModelClient.version_of, "KIP-35.client-uses-overlap", "KIP-97.no-doomed-request")
def reversed_range_is_used(client: ModelClient, decide: VersionOf, link: Link, api_key: int) -> int:
    """Sends the highest version of a range whose lowest one is above it, as kafka-python does."""
    offered = _offered(link, api_key)
    if offered is not None and offered[0] > offered[1] >= 0:
        return min(offered[1], own_ranges(link)[api_key][1])
    return decide(link, api_key)


@fault(ModelClient.version_of, "KIP-35.client-uses-overlap", "KIP-97.no-doomed-request")
def negative_version_is_sent(
    client: ModelClient, decide: VersionOf, link: Link, api_key: int
) -> int:
    """Sends a negative version if the broker lists nothing else, as librdkafka does."""
    offered = _offered(link, api_key)
    return offered[1] if offered is not None and offered[1] < 0 else decide(link, api_key)


@fault(ModelClient.version_of, "KIP-35.client-uses-overlap", "KIP-97.no-doomed-request")
def absent_api_is_used(client: ModelClient, decide: VersionOf, link: Link, api_key: int) -> int:
    """Sends v0 of an API that the broker does not list, as sarama did."""
    return 0 if _offered(link, api_key) is None else decide(link, api_key)


@fault(ModelClient.version_of, "KIP-35.client-uses-overlap")
def one_version_too_many(client: ModelClient, decide: VersionOf, link: Link, api_key: int) -> int:
    """Sends the first version above a range that does not begin with v0."""
    version, offered = decide(link, api_key), _offered(link, api_key)
    begins_later = offered is not None and offered[0] > 0
    return version + 1 if begins_later and version < own_ranges(link)[api_key][1] else version


@fault(ModelClient.version_of, "KIP-35.client-uses-overlap")
def handshake_must_begin_with_v0(
    client: ModelClient, decide: VersionOf, link: Link, api_key: int
) -> int:
    """Refuses a broker whose range of SaslHandshake begins with v1, which it sends, as librdkafka does."""
    offered = _offered(link, api_key)
    if api_key == SASL_HANDSHAKE_KEY and offered is not None and offered[0] == 1:
        raise NoCommonVersion("the broker does not support SaslHandshake v0")
    return decide(link, api_key)


# KIP-35.client-requests-decode

UNREADABLE_REQUESTS = ("KIP-35.client-requests-decode", "KIP-1242.older-broker-unaffected")
"""What requests break that have the layout of another version."""


@fault(ModelClient.api_versions_body, *UNREADABLE_REQUESTS)
def name_is_sent_in_versions_without_one(
    client: ModelClient, decide: ApiVersionsBody, link: Link, version: int
) -> bytes:
    """Sends the body of v3 on its first connection if it falls back to v0, whose request is empty."""
    is_wrong = version == 0 and link.number == 0
    return decide(link, FIRST_FLEXIBLE_VERSION if is_wrong else version)


@fault(ModelClient.header_bytes, *UNREADABLE_REQUESTS)
def older_requests_have_a_flexible_header(
    client: ModelClient, decide: HeaderBytes, header: InstanceIdHeader, version: int
) -> bytes:
    """Writes the tag section of newer headers in all versions of ApiVersions."""
    is_older = header.request_api_version < FIRST_FLEXIBLE_VERSION
    return decide(header, 2 if is_older and header.request_api_key == API_VERSIONS_KEY else version)


@fault(ModelClient.api_versions_body, *UNREADABLE_REQUESTS)
def tag_section_is_left_out(
    client: ModelClient, decide: ApiVersionsBody, link: Link, version: int
) -> bytes:
    """Ends the body of v3 before its tag section, which is not empty but a zero."""
    body = decide(link, version)
    return body[:-1] if version == FIRST_FLEXIBLE_VERSION else body


# KIP-35.client-prefers-newest


@fault(ModelClient.version_of, "KIP-35.client-prefers-newest")
def newest_common_version_is_avoided(
    client: ModelClient, decide: VersionOf, link: Link, api_key: int
) -> int:
    """Uses the second newest common version where there are two, except for SASL, which would fail."""
    newest, offered = decide(link, api_key), _offered(link, api_key)
    assert offered is not None
    if api_key in SASL_KEYS:
        return newest
    return max(newest - 1, offered[0], 0)


@fault(ModelClient.version_of, "KIP-35.client-prefers-newest")
def lowest_of_a_later_range_is_used(
    client: ModelClient, decide: VersionOf, link: Link, api_key: int
) -> int:
    """Uses the lowest version of a range that does not begin with v0."""
    newest, offered = decide(link, api_key), _offered(link, api_key)
    return newest if offered is None or offered[0] <= 0 else offered[0]


# KIP-35.client-asks-per-connection


ONE_TABLE_FOR_MANY = (
    "KIP-35.client-asks-per-connection",
    "KIP-97.mixed-cluster",
    "KIP-511.client-named-under-sasl",
)
"""What clients break that do not ask on every connection: they do not name themselves there, either."""


def _is_usable(table: Mapping[int, Range]) -> bool:
    """Return whether the client can do its work with a table; no client keeps one without a use."""
    if METADATA_KEY not in table:
        return False
    (own_lowest, own_highest), (lowest, highest) = OWN_RANGES[METADATA_KEY], table[METADATA_KEY]
    return max(own_lowest, lowest) <= min(own_highest, highest)


@fault(ModelClient.table_for, *ONE_TABLE_FOR_MANY)
def one_table_for_all_brokers(
    client: ModelClient, decide: TableFor, link: Link
) -> Mapping[int, Range]:
    """Asks the first broker alone and uses its table for all others, as KafkaJS does."""
    kept: Mapping[int, Range] | None = client.notes.get("table")
    if kept is None:
        kept = decide(link)
        if _is_usable(kept):
            client.notes["table"] = kept
    return kept


@fault(ModelClient.table_for, *ONE_TABLE_FOR_MANY)
def table_is_kept_for_the_next_connection(
    client: ModelClient, decide: TableFor, link: Link
) -> Mapping[int, Range]:
    """Asks each node once, and uses its table on all later connections to it."""
    if link.node is None:
        return decide(link)
    tables: dict[Node, Mapping[int, Range]] = client.notes.setdefault("tables", {})
    table = tables.get(link.node) or decide(link)
    if _is_usable(table):
        tables[link.node] = table
    return table


@fault(
    ModelClient.version_after_refusal,
    "KIP-35.client-asks-per-connection",
    "KIP-97.mixed-cluster",
    "KIP-97.new-client-old-broker",
)
def earlier_table_takes_the_place_of_a_refused_one(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Sends Metadata by the table of an earlier connection if the broker refuses the version with which that one got it."""
    if link.number > 0:
        link.table = OWN_RANGES
        client.metadata_in(link, client.version_of(link, METADATA_KEY))
        link.table = None
    return decide(link, refused, response)


@fault(ModelClient.table_for, "KIP-35.client-asks-per-connection")
def first_table_of_an_address_is_used_for_good(
    client: ModelClient, decide: TableFor, link: Link
) -> Mapping[int, Range]:
    """Asks on every connection, but goes on with the first table that came from the address."""
    table = decide(link)
    tables: dict[Address, Mapping[int, Range]] = client.notes.setdefault("tables", {})
    return tables.setdefault(link.address, table) if _is_usable(table) else table


# KIP-35.client-falls-back-on-35


@fault(ModelClient.version_after_refusal, "KIP-35.client-falls-back-on-35", "KIP-97.mixed-cluster")
def refusal_with_an_empty_table_is_final(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Gives up if a refusal has an empty table, as kafka-ts does."""
    if client.named_range(link, response) is None:
        raise NoCommonVersion("the broker does not support ApiVersions")
    return decide(link, refused, response)


@fault(ModelClient.version_after_refusal, "KIP-35.client-falls-back-on-35")
def range_that_is_too_high_is_final(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Gives up if a refusal names only versions that the client does not know."""
    named = client.named_range(link, response)
    if named is not None and named[0] > refused:
        raise NoCommonVersion("the broker is too new")
    return decide(link, refused, response)


@fault(ModelClient.version_after_refusal, "KIP-35.client-falls-back-on-35")
def versions_are_walked_down_without_a_range(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Asks in the next older version if a refusal names no range, as KafkaJS does."""
    if client.named_range(link, response) is None and refused > 0:
        return refused - 1
    return decide(link, refused, response)


@fault(ModelClient.version_after_refusal, "KIP-35.client-falls-back-on-35")
def refused_version_is_asked_again_for_a_reversed_range(
    client: ModelClient, decide: AfterRefusal, link: Link, refused: int, response: bytes
) -> int:
    """Asks in the refused version again if the lowest named version is above the highest."""
    named = client.named_range(link, response)
    if named is not None and named[0] > named[1] >= 0 and refused > 0:
        return refused
    return decide(link, refused, response)


# KIP-35.client-tolerates-unknown-keys


@fault(ModelClient.ranges_in, "KIP-35.client-tolerates-unknown-keys")
def private_keys_are_refused(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Refuses a table with the private key of a vendor, as proxies did."""
    if any(each.api_key >= FIRST_PRIVATE_KEY for each in response.api_keys):
        raise Nonsense("unexpected API key")
    return decide(link, response)


@fault(ModelClient.ranges_in, "KIP-35.client-tolerates-unknown-keys")
def newer_keys_are_refused(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Refuses a table with the key of a future release."""
    if any(FIRST_UNKNOWN_KEY <= each.api_key < FIRST_PRIVATE_KEY for each in response.api_keys):
        raise Nonsense("unexpected API key")
    return decide(link, response)


@fault(ModelClient.ranges_in, "KIP-35.client-tolerates-unknown-keys")
def table_ends_at_the_first_unknown_key(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Ignores all entries after the first one with an unknown key."""
    known: dict[int, Range] = {}
    for entry in response.api_keys:
        if not 0 <= entry.api_key < FIRST_UNKNOWN_KEY:
            break
        known[entry.api_key] = (entry.min_version, entry.max_version)
    return {key: known[key] for key in known.keys() & OWN_RANGES.keys()}


@fault(ModelClient.ranges_in, "KIP-35.client-tolerates-unknown-keys")
def unknown_tags_are_refused(
    client: ModelClient, decide: RangesIn, link: Link, response: ApiVersionsResponse
) -> Mapping[int, Range]:
    """Refuses a response with a tagged field that it does not know."""
    if response.unknown_tagged_fields:
        raise Nonsense("unexpected tagged field")
    return decide(link, response)


# KIP-35.client-survives-old-broker


@fault(
    ModelClient.next_frame, "KIP-35.client-survives-old-broker", "KIP-35.client-survives-nonsense"
)
def silence_hangs_the_process(
    client: ModelClient, decide: Callable[[Link], bytes], link: Link
) -> bytes:
    """Waits in a call that never returns if the broker stays silent, whatever the application wanted."""
    try:
        return decide(link)
    except ConnectionLost as error:
        raise Hung from error


@fault(
    ModelClient.backoff_ms, "KIP-35.client-survives-old-broker", "KIP-35.client-survives-nonsense"
)
def lost_connections_are_opened_again_at_once(
    client: ModelClient, decide: Callable[[ClientError, int], int], error: ClientError, attempt: int
) -> int:
    """Reconnects without a pause, however often the broker has closed the connection."""
    return 0 if isinstance(error, ConnectionLost) else decide(error, attempt)


# KIP-35.client-survives-nonsense


def _is_null_table(version: int, body: bytes) -> bool:
    if version < FIRST_FLEXIBLE_VERSION:
        return body[2:6] == b"\xff" * 4
    return body[2:3] == b"\0"


@fault(ModelClient.decoded_response, "KIP-35.client-survives-nonsense")
def null_table_aborts(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Aborts the process if the table is null, as librdkafka does."""
    if body.startswith(NO_ERROR) and _is_null_table(version, body):
        raise Aborted
    return decide(link, version, body)


@fault(ModelClient.decoded_response, "KIP-35.client-survives-nonsense")
def null_table_after_authentication_aborts(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Does the same only on connections with SASL, after the first response made sense."""
    if link.is_authenticated and body.startswith(NO_ERROR) and _is_null_table(version, body):
        raise Aborted
    return decide(link, version, body)


@fault(ModelClient.decoded_response, "KIP-35.client-survives-nonsense")
def malformed_table_is_asked_for_again_at_once(
    client: ModelClient, decide: Decoded, link: Link, version: int, body: bytes
) -> ApiVersionsResponse:
    """Asks again on the same connection, without a pause, if a table cannot be decoded, as @platformatic/kafka does."""
    while True:
        try:
            return decide(link, version, body)
        except DecodeError:
            if not body.startswith(NO_ERROR):
                raise
            body = client.body_of(link, version, client.api_versions_response(link, version))


@fault(ModelClient.attempt, "KIP-35.client-survives-nonsense")
def malformed_response_ends_the_client(client: ModelClient, decide: Callable[[], str]) -> str:
    """Fails for good after one response that cannot be decoded, as Java's AdminClient does."""
    if "dead" in client.notes:
        raise BrokerError("the client's thread has ended")
    try:
        return decide()
    except Nonsense:
        client.notes["dead"] = True
        raise
