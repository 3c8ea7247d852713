"""Faults against the clauses of KIP-35."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

from reference_model.clients.model.client_connections import KnownBroker, Link, Range
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
from reference_model.clients.model.negotiation import OWN_RANGES
from reference_model.clients.model.network import HostPort
from reference_model.clients.scripts.script import healthy_ranges
from reference_model.faults.clients.older_versions import offered_range
from reference_model.faults.clients.registry import fault
from wire.api_keys import (
    API_VERSIONS_KEY,
    FIRST_PRIVATE_KEY,
    METADATA_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsResponse
from wire.errors import DecodeError
from wire.headers import NO_ERROR, RequestHeader

FIRST_UNKNOWN_KEY = max(key for key, _, _ in healthy_ranges()) + 1


# KIP-35.client-uses-overlap


UNREADABLE_REQUESTS = ("KIP-35.client-requests-decode", "KIP-1242.older-broker-unaffected")
"""What requests break that have the layout of another version."""
ONE_TABLE_FOR_MANY = (
    "KIP-35.client-asks-per-connection",
    "KIP-97.mixed-cluster",
    "KIP-511.client-named-under-sasl",
)
"""What clients break that do not ask on every connection: they do not name themselves there, either."""


@fault("KIP-35.client-uses-overlap", "KIP-97.no-doomed-request")
class LowestVersionIsIgnored(ModelClient):
    """Looks at the highest version of a range only, as KafkaJS does."""

    def version_of(self, link: Link, api_key: int) -> int:
        offered, newest = offered_range(link, api_key), self.own_ranges(link)[api_key][1]
        if offered is not None and offered[0] > newest:
            return newest
        return super().version_of(link, api_key)


@fault("KIP-35.client-uses-overlap", "KIP-97.no-doomed-request")
class ReversedRangeIsUsed(ModelClient):
    """Sends the highest version of a range whose lowest one is above it, as kafka-python does."""

    def version_of(self, link: Link, api_key: int) -> int:
        offered = offered_range(link, api_key)
        if offered is not None and offered[0] > offered[1] >= 0:
            return min(offered[1], self.own_ranges(link)[api_key][1])
        return super().version_of(link, api_key)


@fault("KIP-35.client-uses-overlap", "KIP-97.no-doomed-request")
class NegativeVersionIsSent(ModelClient):
    """Sends a negative version if the broker lists nothing else, as librdkafka does."""

    def version_of(self, link: Link, api_key: int) -> int:
        offered = offered_range(link, api_key)
        if offered is not None and offered[1] < 0:
            return offered[1]
        return super().version_of(link, api_key)


@fault("KIP-35.client-uses-overlap", "KIP-97.no-doomed-request")
class AbsentApiIsUsed(ModelClient):
    """Sends v0 of an API that the broker does not list, as sarama did."""

    def version_of(self, link: Link, api_key: int) -> int:
        return 0 if offered_range(link, api_key) is None else super().version_of(link, api_key)


@fault("KIP-35.client-uses-overlap")
class OneVersionTooMany(ModelClient):
    """Sends the first version above a range that does not begin with v0."""

    def version_of(self, link: Link, api_key: int) -> int:
        version, offered = super().version_of(link, api_key), offered_range(link, api_key)
        begins_later = offered is not None and offered[0] > 0
        return version + (begins_later and version < self.own_ranges(link)[api_key][1])


@fault("KIP-35.client-uses-overlap")
class HandshakeMustBeginWithV0(ModelClient):
    """Refuses a broker whose range of SaslHandshake begins with v1, which it sends, as librdkafka does."""

    def version_of(self, link: Link, api_key: int) -> int:
        offered = offered_range(link, api_key)
        if api_key == SASL_HANDSHAKE_KEY and offered is not None and offered[0] == 1:
            raise NoCommonVersion("the broker does not support SaslHandshake v0")
        return super().version_of(link, api_key)


# KIP-35.client-requests-decode


@fault(*UNREADABLE_REQUESTS)
class NameIsSentInVersionsWithoutOne(ModelClient):
    """Sends the body of v3 on its first connection if it falls back to v0, whose request is empty."""

    def api_versions_body(self, link: Link, version: int) -> bytes:
        is_wrong = version == 0 and link.number == 0
        return super().api_versions_body(link, FIRST_FLEXIBLE_VERSION if is_wrong else version)


@fault(*UNREADABLE_REQUESTS)
class OlderRequestsHaveAFlexibleHeader(ModelClient):
    """Writes the tag section of newer headers in all versions of ApiVersions."""

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        is_older = header.request_api_version < FIRST_FLEXIBLE_VERSION
        return super().header_bytes(header, 2 if is_older and header.request_api_key == API_VERSIONS_KEY else version)


@fault(*UNREADABLE_REQUESTS)
class TagSectionIsLeftOut(ModelClient):
    """Ends the body of v3 before its tag section, which is not empty but a zero."""

    def api_versions_body(self, link: Link, version: int) -> bytes:
        body = super().api_versions_body(link, version)
        return body[:-1] if version == FIRST_FLEXIBLE_VERSION else body


# KIP-35.client-asks-per-connection


def _is_usable(table: Mapping[int, Range]) -> bool:
    """Return whether the client can do its work with a table; no client keeps one without a use."""
    if METADATA_KEY not in table:
        return False
    (own_lowest, own_highest), (lowest, highest) = OWN_RANGES[METADATA_KEY], table[METADATA_KEY]
    return max(own_lowest, lowest) <= min(own_highest, highest)


@fault(*ONE_TABLE_FOR_MANY)
class OneTableForAllBrokers(ModelClient):
    """Asks the first broker alone and uses its table for all others, as KafkaJS does."""

    def table_for(self, link: Link) -> Mapping[int, Range]:
        kept: Mapping[int, Range] | None = self.notes.get("table")
        if kept is None:
            kept = super().table_for(link)
            if _is_usable(kept):
                self.notes["table"] = kept
        return kept


@fault(*ONE_TABLE_FOR_MANY)
class TableIsKeptForTheNextConnection(ModelClient):
    """Asks each node once, and uses its table on all later connections to it."""

    def table_for(self, link: Link) -> Mapping[int, Range]:
        if link.node is None:
            return super().table_for(link)
        tables: dict[KnownBroker, Mapping[int, Range]] = self.notes.setdefault("tables", {})
        table = tables.get(link.node) or super().table_for(link)
        if _is_usable(table):
            tables[link.node] = table
        return table


@fault("KIP-35.client-asks-per-connection", "KIP-97.mixed-cluster", "KIP-97.new-client-old-broker")
class EarlierTableTakesThePlaceOfARefusedOne(ModelClient):
    """Sends Metadata by an earlier connection's table if the broker refuses the version that got that table."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if link.number > 0:
            link.table = OWN_RANGES
            self.metadata_in(link, self.version_of(link, METADATA_KEY))
            link.table = None
        return super().version_after_refusal(link, refused, named)


@fault("KIP-35.client-asks-per-connection")
class FirstTableOfAnAddressIsUsedForGood(ModelClient):
    """Asks on every connection, but goes on with the first table that came from the address."""

    def table_for(self, link: Link) -> Mapping[int, Range]:
        table = super().table_for(link)
        tables: dict[HostPort, Mapping[int, Range]] = self.notes.setdefault("tables", {})
        return tables.setdefault(link.address, table) if _is_usable(table) else table


# KIP-35.client-falls-back-on-35


@fault("KIP-35.client-falls-back-on-35", "KIP-97.mixed-cluster", "KIP-97.new-client-old-broker")
class RefusalWithAnEmptyTableIsFinal(ModelClient):
    """Gives up if a refusal has an empty table, as kafka-ts does."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if named is None:
            raise NoCommonVersion("the broker does not support ApiVersions")
        return super().version_after_refusal(link, refused, named)


@fault("KIP-35.client-falls-back-on-35")
class RangeThatIsTooHighIsFinal(ModelClient):
    """Gives up if a refusal names only versions that the client does not know."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if named is not None and named[0] > refused:
            raise NoCommonVersion("the broker is too new")
        return super().version_after_refusal(link, refused, named)


@fault("KIP-35.client-falls-back-on-35")
class VersionsAreWalkedDownWithoutARange(ModelClient):
    """Asks in the next older version if a refusal names no range, as KafkaJS does."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if named is None and refused > 0:
            return refused - 1
        return super().version_after_refusal(link, refused, named)


@fault("KIP-35.client-falls-back-on-35")
class RefusedVersionIsAskedAgainForAReversedRange(ModelClient):
    """Asks in the refused version again if the lowest named version is above the highest."""

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        if named is not None and named[0] > named[1] >= 0 and refused > 0:
            return refused
        return super().version_after_refusal(link, refused, named)


# KIP-35.client-tolerates-unknown-keys


@fault("KIP-35.client-tolerates-unknown-keys")
class PrivateKeysAreRefused(ModelClient):
    """Refuses a table with the private key of a vendor, as proxies did."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        if any(each.api_key >= FIRST_PRIVATE_KEY for each in response.api_keys):
            raise Nonsense("unexpected API key")
        return super().ranges_in(link, response)


@fault("KIP-35.client-tolerates-unknown-keys")
class NewerKeysAreRefused(ModelClient):
    """Refuses a table with the key of a future release."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        if any(FIRST_UNKNOWN_KEY <= each.api_key < FIRST_PRIVATE_KEY for each in response.api_keys):
            raise Nonsense("unexpected API key")
        return super().ranges_in(link, response)


@fault("KIP-35.client-tolerates-unknown-keys")
class TableEndsAtTheFirstUnknownKey(ModelClient):
    """Ignores all entries after the first one with an unknown key."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        before = takewhile(lambda each: 0 <= each.api_key < FIRST_UNKNOWN_KEY, response.api_keys)
        return super().ranges_in(link, replace(response, api_keys=tuple(before)))


@fault("KIP-35.client-tolerates-unknown-keys")
class UnknownTagsAreRefused(ModelClient):
    """Refuses a response with a tagged field that it does not know."""

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        if response.unknown_tagged_fields:
            raise Nonsense("unexpected tagged field")
        return super().ranges_in(link, response)


# KIP-35.client-survives-old-broker


@fault("KIP-35.client-survives-old-broker", "KIP-35.client-survives-nonsense")
class SilenceHangsTheProcess(ModelClient):
    """Waits in a call that never returns if the broker stays silent, whatever the application wanted."""

    def next_frame(self, link: Link) -> bytes:
        try:
            return super().next_frame(link)
        except ConnectionLost as error:
            raise Hung from error


@fault("KIP-35.client-survives-old-broker", "KIP-35.client-survives-nonsense")
class LostConnectionsAreOpenedAgainAtOnce(ModelClient):
    """Reconnects without a pause, however often the broker has closed the connection."""

    def backoff_ms(self, error: ClientError, attempt: int) -> int:
        return 0 if isinstance(error, ConnectionLost) else super().backoff_ms(error, attempt)


# KIP-35.client-survives-nonsense


def _is_null_table(version: int, body: bytes) -> bool:
    if version < FIRST_FLEXIBLE_VERSION:
        return body[2:6] == b"\xff" * 4
    return body[2:3] == b"\0"


@fault("KIP-35.client-survives-nonsense")
class NullTableAborts(ModelClient):
    """Aborts the process if the table is null, as librdkafka does."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        if body.startswith(NO_ERROR) and _is_null_table(version, body):
            raise Aborted
        return super().decoded_response(link, version, body)


@fault("KIP-35.client-survives-nonsense")
class NullTableAfterAuthenticationAborts(ModelClient):
    """Does the same only on connections with SASL, after the first response made sense."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        if link.is_authenticated and body.startswith(NO_ERROR) and _is_null_table(version, body):
            raise Aborted
        return super().decoded_response(link, version, body)


@fault("KIP-35.client-survives-nonsense")
class MalformedTableIsAskedForAgainAtOnce(ModelClient):
    """Asks again on the same connection, without a pause, if a table cannot be decoded, as @platformatic/kafka does."""

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        while True:
            try:
                return super().decoded_response(link, version, body)
            except DecodeError:
                if not body.startswith(NO_ERROR):
                    raise
                body = self.body_of(link, version, self.api_versions_response(link, version))


@fault("KIP-35.client-survives-nonsense")
class MalformedResponseEndsTheClient(ModelClient):
    """Fails for good after one response that cannot be decoded, as Java's AdminClient does."""

    def attempt(self) -> str:
        if "dead" in self.notes:
            raise BrokerError("the client's thread has ended")
        try:
            return super().attempt()
        except Nonsense:
            self.notes["dead"] = True
            raise
