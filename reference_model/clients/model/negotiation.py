"""Version negotiation of the model client, by KIP-35, KIP-511 and KIP-1242."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping

from reference_model.clients.model.client_connections import Link, Range
from reference_model.clients.model.client_errors import (
    BrokerError,
    NoCommonVersion,
    Nonsense,
    RebootstrapRequired,
    RequestRefused,
)
from reference_model.clients.model.features import Features
from reference_model.clients.model.network import HostPort
from reference_model.clients.scripts.script import TRANSACTIONS
from wire.api_keys import (
    ADD_OFFSETS_TO_TXN_KEY,
    ADD_PARTITIONS_TO_TXN_KEY,
    API_VERSIONS_KEY,
    END_TXN_KEY,
    FIND_COORDINATOR_KEY,
    INIT_PRODUCER_ID_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
    SASL_AUTHENTICATE_KEY,
    SASL_HANDSHAKE_KEY,
    TXN_OFFSET_COMMIT_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.header_versions import request_header_version
from wire.headers import CORRELATION_ID_BYTES, ERROR_CODE_BYTES, read_error_code
from wire.primitives import write_int16

WITHOUT_CLUSTER_CHECK = "without_cluster_check"
WITHOUT_REBOOTSTRAP = "without_rebootstrap"
REBOOTSTRAPS_AFTER_1_S = "rebootstraps_after_1_s"
WITHOUT_IDS = frozenset({WITHOUT_CLUSTER_CHECK, WITHOUT_REBOOTSTRAP})
"""The options with which it sends no ids."""
OPTIONS = (WITHOUT_CLUSTER_CHECK, WITHOUT_REBOOTSTRAP, REBOOTSTRAPS_AFTER_1_S, TRANSACTIONS)

MODEL = "model"
"""The client's id; "model+<fault>" with a planted fault."""
SOFTWARE_NAME = "kafka-conformance-model"
SOFTWARE_VERSION = "1.0"

OWN_RANGES: Mapping[int, Range] = {
    API_VERSIONS_KEY: (0, NEWEST_VERSION),
    METADATA_KEY: (0, 13),
    SASL_HANDSHAKE_KEY: (1, 1),
    SASL_AUTHENTICATE_KEY: (0, 2),
    PRODUCE_KEY: (3, 13),
    FIND_COORDINATOR_KEY: (1, 6),
    INIT_PRODUCER_ID_KEY: (0, 5),
    ADD_PARTITIONS_TO_TXN_KEY: (0, 3),
    ADD_OFFSETS_TO_TXN_KEY: (0, 4),
    TXN_OFFSET_COMMIT_KEY: (0, 6),
    END_TXN_KEY: (0, 5),
}
"""The versions that the client can speak, by API key."""
UNSUPPORTED_VERSION = write_int16(ErrorCode.UNSUPPORTED_VERSION)
"""The first bytes of a response that refuses the version of its request."""


class Asking(Features):
    """Writes requests for the table of a broker, and says which versions the client speaks."""

    def newest_version(self, link: Link) -> int:
        """Return the newest version of ApiVersions that a broker at this address can read the header of."""
        return NEWEST_VERSION

    def own_ranges(self, link: Link) -> Mapping[int, Range]:
        """Return the versions that the client speaks with the broker at the other end of a connection, by API key."""
        return OWN_RANGES

    def api_versions_response(self, link: Link, version: int) -> bytes:
        """Ask for the table in a version; return the response, header included."""
        header_version = self._header_of_api_versions(version)
        body = self.api_versions_body(link, version)
        return self.exchange(link, API_VERSIONS_KEY, version, body, header_version)

    def _header_of_api_versions(self, version: int) -> int:
        """Return the header version of a request for the table."""
        return request_header_version(API_VERSIONS_KEY, version)

    def api_versions_body(self, link: Link, version: int) -> bytes:
        """Return the body of an ApiVersions request."""
        name, software_version = self.software(link)
        cluster_id, node_id = self.expected_ids(link)
        request = ApiVersionsRequest(
            client_software_name=name,
            client_software_version=software_version,
            cluster_id=cluster_id,
            node_id=node_id,
        )
        return encode(request, version=version)

    def software(self, link: Link) -> tuple[str, str]:
        """Return the name and the version with which the client introduces itself."""
        return SOFTWARE_NAME, SOFTWARE_VERSION

    def expected_ids(self, link: Link) -> tuple[str | None, int]:
        """Return the cluster id and the node id that the broker has to have; None and -1 where neither is known."""
        if self.options & WITHOUT_IDS or link.node is None or self.cluster.cluster_id is None:
            return None, -1
        return self.cluster.cluster_id, link.node.node_id


class Negotiation(Asking):
    """Asks each broker for its table, in an older version if a newer one is refused, and chooses versions from it.

    Attributes:
        known_keys: the APIs that it may use with some broker.
    """

    known_keys: Collection[int] = OWN_RANGES.keys()

    @functools.cached_property
    def _version_to_go_on_with(self) -> dict[HostPort, int]:
        return {}

    def table_for(self, link: Link) -> Mapping[int, Range]:
        """Return the table of the broker at the other end of a connection; ask for it once per connection."""
        return self.negotiated_table(link) if link.table is None else link.table

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        """Ask a broker for its table, beginning with the newest version.

        Raises:
            ClientError: it has none that this client understands.
        """
        return self._table_from(link, self.first_version(link))

    def _table_from(self, link: Link, version: int) -> Mapping[int, Range]:
        """Ask a broker for its table, in an older version each time that one is refused.

        Raises:
            ClientError: it has none that this client understands.
        """
        while True:
            response = self.api_versions_response(link, version)
            self._version_to_go_on_with.pop(link.address, None)
            error_code = self.error_code_of(link, version, response)
            if error_code != ErrorCode.UNSUPPORTED_VERSION:
                break
            named = self.named_range(link, response)
            version = self.version_after_refusal(link, version, named)
            self._version_to_go_on_with[link.address] = version
        self.raise_error(link, error_code)
        body = self.body_of(link, version, response)
        try:
            decoded = self.decoded_response(link, version, body)
        except DecodeError as error:
            raise Nonsense(f"ApiVersions v{version}: {error}") from error
        if decoded.throttle_time_ms > 0:
            self.wait_while_throttled(link, decoded.throttle_time_ms)
        self.learn_features(link, decoded)
        return self.ranges_in(link, decoded)

    def wait_while_throttled(self, link: Link, throttle_time_ms: int) -> None:
        """Send nothing for as long as the broker said."""
        self.network.wait(min(throttle_time_ms, self.left_ms))

    def first_version(self, link: Link) -> int:
        """Return the version of ApiVersions that the client begins with on a connection.

        It is the newest one. If the last connection to this address was lost right after a version was refused there,
        it is the next one.
        """
        return self._version_to_go_on_with.pop(link.address, self.newest_version(link))

    def error_code_of(self, link: Link, version: int, response: bytes) -> int:
        """Return the error code of an ApiVersions response, which stands at the same place in every version."""
        error_code = read_error_code(response)
        if error_code is None:
            raise Nonsense("the response ends before its error code")
        return error_code

    def version_after_refusal(self, link: Link, refused: int, named: Range | None) -> int:
        """Return the version to ask in after one was refused: the highest usable one that the broker names, or v0.

        Args:
            link: the connection.
            refused: the refused version.
            named: the range that the refusal names; None if it names none.

        Raises:
            NoCommonVersion: v0 was refused as well.
        """
        if refused == 0:
            raise NoCommonVersion("the broker refuses every version of ApiVersions")
        if named is not None:
            lowest, highest = named
            version = min(highest, refused - 1)
            if version >= max(lowest, 0):
                return version
        return 0

    def named_range(self, link: Link, response: bytes) -> Range | None:
        """Return the range of ApiVersions that a refusal names, which is written in the layout of v0."""
        try:
            decoded = self.decoded_response(link, 0, response[CORRELATION_ID_BYTES:])
        except DecodeError:
            return None
        entry = decoded.range_of(API_VERSIONS_KEY)
        return None if entry is None else (entry.min_version, entry.max_version)

    def raise_error(self, link: Link, error_code: int) -> None:
        """Raise the error that an ApiVersions response reports; do nothing if there is none."""
        if error_code == ErrorCode.NONE:
            return
        name = f"the broker responded with {ErrorCode(error_code).name}"
        if error_code == ErrorCode.INVALID_REQUEST:
            raise RequestRefused(name)
        if error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            raise RebootstrapRequired(name)
        raise BrokerError(name)

    def body_of(self, link: Link, version: int, response: bytes) -> bytes:
        """Return an ApiVersions response without its header, which is v0 in every version."""
        return response[CORRELATION_ID_BYTES:]

    def decoded_response(self, link: Link, version: int, body: bytes) -> ApiVersionsResponse:
        """Decode the body of an ApiVersions response; one that refuses the version is always in the layout of v0.

        Raises:
            DecodeError: it does not follow the schema.
        """
        layout = 0 if body[:ERROR_CODE_BYTES] == UNSUPPORTED_VERSION else version
        # Bytes after the body are ignored, as Kafka's own client does.
        return decode_prefix(ApiVersionsResponse, body, version=layout)[0]

    def ranges_in(self, link: Link, response: ApiVersionsResponse) -> Mapping[int, Range]:
        """Return the ranges that a table lists for the APIs that the client knows; it ignores all others."""
        return {
            entry.api_key: (entry.min_version, entry.max_version)
            for entry in response.api_keys
            if entry.api_key in self.known_keys
        }

    def version_of(self, link: Link, api_key: int) -> int:
        """Return the version in which the client sends a request: the newest that both sides support.

        Raises:
            NoCommonVersion: there is none.
        """
        assert link.table is not None
        if api_key not in link.table:
            raise NoCommonVersion(f"the broker does not support API {api_key}")
        own_lowest, own_highest = self.own_ranges(link)[api_key]
        lowest, highest = link.table[api_key]
        if max(own_lowest, lowest) > min(own_highest, highest):
            raise NoCommonVersion(
                f"no version of API {api_key} is common: the broker has v{lowest} to v{highest}, the client v{own_lowest} to v{own_highest}"
            )
        return min(own_highest, highest)
