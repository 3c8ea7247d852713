"""A correct client of Kafka: it asks each broker for its versions, then fetches metadata in a version that both support.

Sans-IO: it uses connections and a clock only as `network.Network` provides them. It follows KIP-35, KIP-511 and
KIP-1242. Every decision is a method of its own, so that a planted fault (`faults.py`) can replace exactly one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reference_model.clients.network import Address, Network, Stream, Unreachable
from wire.api_keys import API_VERSIONS_KEY, METADATA_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.frames import FrameReader, encode_frame
from wire.headers import (
    CORRELATION_ID_BYTES,
    ERROR_CODE_BYTES,
    RequestHeader,
    ResponseHeader,
    read_correlation_id,
    read_error_code,
    request_header_version,
)
from wire.primitives import write_int16
from wire.startup_messages import METADATA

WITHOUT_CLUSTER_CHECK = "without_cluster_check"
WITHOUT_REBOOTSTRAP = "without_rebootstrap"
OPTIONS = (WITHOUT_CLUSTER_CHECK, WITHOUT_REBOOTSTRAP)

CLIENT_ID = "model"
SOFTWARE_NAME = "kafka-conformance-model"
SOFTWARE_VERSION = "1.0"

REQUEST_TIMEOUT_MS = 3000
"""The longest wait for one response; a broker that is slow but alive has sent it by then."""
FIRST_BACKOFF_MS = 100
LONGEST_BACKOFF_MS = 1000
MAX_FRAME_BYTES = 1024 * 1024
"""A longer response is refused: no response to this client is nearly as long."""

UNSUPPORTED_VERSION = write_int16(ErrorCode.UNSUPPORTED_VERSION)
"""The first bytes of a response that refuses the version of its request."""

Range = tuple[int, int]
"""The lowest and highest version of an API, both inclusive."""
OWN_RANGES: Mapping[int, Range] = {
    API_VERSIONS_KEY: (0, NEWEST_VERSION),
    METADATA_KEY: (0, 13),
}
"""The versions that the client can speak, by API key."""


class ClientError(Exception):
    """Something that the client reports to its application."""


class Aborted(BaseException):
    """The client's process ends by SIGABRT; only a planted fault raises it."""


class Hung(BaseException):
    """The client's process does nothing any more and does not end; only a planted fault raises it."""


class ConnectionLost(ClientError):
    """The broker refused or closed the connection, or did not respond in time."""


class Nonsense(ClientError):
    """A response cannot be understood."""


class NoCommonVersion(ClientError):
    """Client and broker share no version of an API."""


class BrokerError(ClientError):
    """The broker responded with an error."""


class RequestRefused(BrokerError):
    """The broker considers the request itself wrong, so that another attempt is pointless."""


class RebootstrapRequired(BrokerError):
    """The connection leads to another cluster or another node than the client meant."""


class Node(NamedTuple):
    """One broker of a cluster."""

    node_id: int
    address: Address


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCluster:
    """What a client knows about its cluster.

    Attributes:
        cluster_id: the cluster's id; None if no broker has named it.
        nodes: its brokers; empty while the client bootstraps.
    """

    cluster_id: str | None = None
    nodes: tuple[Node, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class Link:
    """One connection of the client.

    Attributes:
        number: its number among all connections of the client, counted from 0.
        address: where it leads.
        stream: its bytes.
        node: the node that it is meant for; None while the client bootstraps.
        table: the ranges of the broker at its other end, by API key; None before that broker was asked.
        last_correlation_id: the correlation id of the latest request.
        reader: splits received bytes into frames.
    """

    number: int
    address: Address
    stream: Stream
    node: Node | None = None
    table: Mapping[int, Range] | None = None
    last_correlation_id: int = -1
    reader: FrameReader = field(
        default_factory=lambda: FrameReader(max_frame_bytes=MAX_FRAME_BYTES)
    )


class ModelClient:
    """A client with one bootstrap server.

    Attributes:
        network: its connections and its clock.
        bootstrap: the address of the bootstrap server.
        options: the names of its options, of `OPTIONS`.
        cluster: what the latest Metadata response said; empty before the first one and after a rebootstrap.
        links: its open connections, by node id; that to the bootstrap server is under None.
        opened: how many connections it has opened.
        until_ms: when the current operation has to end.
        notes: what a planted fault remembers; a correct client keeps nothing there.
    """

    def __init__(self, network: Network, bootstrap: Address, options: Iterable[str] = ()) -> None:
        self.network = network
        self.bootstrap = bootstrap
        self.options = frozenset(options)
        self.cluster = KnownCluster()
        self.links: dict[int | None, Link] = {}
        self.opened = 0
        self.until_ms = 0
        self.notes: dict[Any, Any] = {}
        self._version_to_go_on_with: dict[Address, int] = {}
        self._turn = 0
        self._failures_in_a_row = 0

    # The operation.

    def fetch_metadata(self, until_ms: int) -> str:
        """Fetch metadata from a node of the cluster; bootstrap first if none is known.

        Args:
            until_ms: until when a failure is followed by another attempt.

        Returns:
            what was found, in words.

        Raises:
            ClientError: it did not succeed in time.
        """
        self.until_ms = until_ms
        attempt = 0
        while True:
            try:
                return self.attempt()
            except ClientError as error:
                self.after_failure(error)
                pause = self.backoff_ms(error, attempt)
                if isinstance(error, RequestRefused) or self.left_ms <= pause:
                    raise
            attempt += 1
            self.network.wait(pause)

    @property
    def left_ms(self) -> int:
        """The time that is left for the current operation."""
        return max(0, self.until_ms - self.network.now_ms)

    def attempt(self) -> str:
        """Try once to fetch metadata."""
        if not self.cluster.nodes:
            self.cluster = self.metadata_from(self.link_to(None))
        node = self.next_node()
        self.cluster = self.metadata_from(self.link_to(node))
        self._failures_in_a_row = 0
        return f"{len(self.cluster.nodes)} nodes of cluster {self.cluster.cluster_id}"

    def next_node(self) -> Node:
        """Return the node whose turn it is, beginning with the last one."""
        if not self.cluster.nodes:
            raise Nonsense("the metadata lists no node")
        self._turn += 1
        return self.cluster.nodes[-self._turn % len(self.cluster.nodes)]

    def metadata_from(self, link: Link) -> KnownCluster:
        """Fetch metadata on a connection; close it if that fails."""
        try:
            link.table = self.table_for(link)
            version = self.version_of(link, METADATA_KEY)
            return self.metadata_in(link, version)
        except DecodeError as error:
            self.close(link)
            raise Nonsense(f"Metadata: {error}") from error
        except ClientError:
            self.close(link)
            raise

    def metadata_in(self, link: Link, version: int) -> KnownCluster:
        """Fetch metadata on a connection in a version."""
        request = METADATA.request(topics=(), allow_auto_topic_creation=False)
        body = encode(request, version=version)
        header_version = METADATA.request_header_version(version)
        response = self.exchange(link, METADATA_KEY, version, body, header_version)
        _, body_at = decode_prefix(
            ResponseHeader, response, version=METADATA.response_header_version(version)
        )
        metadata, _ = decode_prefix(METADATA.response, response[body_at:], version=version)
        return KnownCluster(
            cluster_id=metadata.cluster_id,
            nodes=tuple(
                Node(each.node_id, Address(each.host, each.port)) for each in metadata.brokers
            ),
        )

    # What happens after a failure.

    def backoff_ms(self, error: ClientError, attempt: int) -> int:
        """Return the pause after a failed attempt, counted from 0."""
        return min(FIRST_BACKOFF_MS << attempt, LONGEST_BACKOFF_MS)

    def after_failure(self, error: ClientError) -> None:
        """Rebootstrap if the broker asks for it, or if no known node can be used."""
        self._failures_in_a_row += 1
        no_node_left = 0 < len(self.cluster.nodes) <= self._failures_in_a_row
        if isinstance(error, RebootstrapRequired) or no_node_left:
            self.rebootstrap()

    def rebootstrap(self) -> None:
        """Begin again at the bootstrap server, without anything that was known about the cluster."""
        if WITHOUT_REBOOTSTRAP in self.options:
            return
        for link in list(self.links.values()):
            self.close(link)
        self.cluster = KnownCluster()
        self._failures_in_a_row = 0

    # Connections.

    def link_to(self, node: Node | None) -> Link:
        """Return the connection to a node, or to the bootstrap server; open one if there is none."""
        key = None if node is None else node.node_id
        link = self.links.get(key)
        address = self.bootstrap if node is None else node.address
        if link is not None and link.address == address:
            return link
        if link is not None:
            self.close(link)
        link = self.links[key] = self.opened_link(node, address)
        return link

    def opened_link(self, node: Node | None, address: Address) -> Link:
        """Open a connection."""
        try:
            stream = self.network.open(address)
        except Unreachable as error:
            raise ConnectionLost(f"no connection to {address.host}:{address.port}") from error
        self.opened += 1
        return Link(number=self.opened - 1, address=address, stream=stream, node=node)

    def close(self, link: Link) -> None:
        """Close a connection and forget it."""
        link.stream.close()
        self.links = {key: each for key, each in self.links.items() if each is not link}

    def exchange(
        self, link: Link, api_key: int, version: int, body: bytes, header_version: int
    ) -> bytes:
        """Send a request and return its response, header included.

        Raises:
            ConnectionLost: there is no response.
            Nonsense: the response is no frame, or that to another request.
        """
        link.last_correlation_id += 1
        header = RequestHeader(
            request_api_key=api_key,
            request_api_version=version,
            correlation_id=link.last_correlation_id,
            client_id=CLIENT_ID,
        )
        try:
            link.stream.send(encode_frame(encode(header, version=header_version) + body))
            response = self.next_frame(link)
        except Unreachable as error:
            raise ConnectionLost("the broker closed the connection") from error
        except DecodeError as error:
            raise Nonsense(f"no frame: {error}") from error
        if read_correlation_id(response) != link.last_correlation_id:
            raise Nonsense("the response has another correlation id than the request")
        return response

    def next_frame(self, link: Link) -> bytes:
        """Wait for one frame; return it without its size prefix."""
        give_up_at = self.network.now_ms + self.patience_ms(link)
        while (frame := link.reader.next_payload()) is None:
            left = give_up_at - self.network.now_ms
            data = link.stream.receive(left) if left > 0 else b""
            if not data:
                raise ConnectionLost("the broker did not respond in time")
            link.reader.receive_data(data)
        return frame

    def patience_ms(self, link: Link) -> int:
        """Return the longest wait for a response on a connection."""
        return min(REQUEST_TIMEOUT_MS, self.left_ms)

    # Negotiation.

    def table_for(self, link: Link) -> Mapping[int, Range]:
        """Return the table of the broker at the other end of a connection; ask for it once per connection."""
        return self.negotiated_table(link) if link.table is None else link.table

    def negotiated_table(self, link: Link) -> Mapping[int, Range]:
        """Ask a broker for its table, in an older version each time that one is refused.

        Raises:
            ClientError: it has none that this client understands.
        """
        version: int = self.first_version(link)
        while True:
            response = self.api_versions_response(link, version)
            self._version_to_go_on_with.pop(link.address, None)
            error_code = self.error_code_of(link, version, response)
            if error_code != ErrorCode.UNSUPPORTED_VERSION:
                break
            version = self.version_after_refusal(link, version, response)
            self._version_to_go_on_with[link.address] = version
        self.raise_error(link, error_code)
        body = self.body_of(link, version, response)
        try:
            decoded = self.decoded_response(link, version, body)
        except DecodeError as error:
            raise Nonsense(f"ApiVersions v{version}: {error}") from error
        if decoded.throttle_time_ms > 0:
            self.network.wait(min(decoded.throttle_time_ms, self.left_ms))
        return self.ranges_in(link, decoded)

    def first_version(self, link: Link) -> int:
        """Return the version of ApiVersions that the client begins with on a connection.

        It is the newest one, unless the last connection to this address was lost right after a version was refused there.
        """
        return self._version_to_go_on_with.pop(link.address, NEWEST_VERSION)

    def api_versions_response(self, link: Link, version: int) -> bytes:
        """Ask for the table in a version; return the response, header included."""
        header_version = request_header_version(API_VERSIONS_KEY, version)
        body = self.api_versions_body(link, version)
        return self.exchange(link, API_VERSIONS_KEY, version, body, header_version)

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
        if self.options & set(OPTIONS) or link.node is None or self.cluster.cluster_id is None:
            return None, -1
        return self.cluster.cluster_id, link.node.node_id

    def error_code_of(self, link: Link, version: int, response: bytes) -> int:
        """Return the error code of an ApiVersions response, which stands at the same place in every version."""
        error_code = read_error_code(response)
        if error_code is None:
            raise Nonsense("the response ends before its error code")
        return error_code

    def version_after_refusal(self, link: Link, refused: int, response: bytes) -> int:
        """Return the version to ask in after one was refused: the highest usable one that the broker names, or v0.

        Raises:
            NoCommonVersion: v0 was refused as well.
        """
        if refused == 0:
            raise NoCommonVersion("the broker refuses every version of ApiVersions")
        named = self.named_range(link, response)
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
            if entry.api_key in OWN_RANGES
        }

    def version_of(self, link: Link, api_key: int) -> int:
        """Return the version in which the client sends a request: the newest that both sides support.

        Raises:
            NoCommonVersion: there is none.
        """
        assert link.table is not None
        if api_key not in link.table:
            raise NoCommonVersion(f"the broker does not support API {api_key}")
        (own_lowest, own_highest), (lowest, highest) = OWN_RANGES[api_key], link.table[api_key]
        if max(own_lowest, lowest) > min(own_highest, highest):
            raise NoCommonVersion(
                f"API {api_key}: the broker supports v{lowest} to v{highest}, the client v{own_lowest} to v{own_highest}"
            )
        return min(own_highest, highest)
