"""Connections of the model client.

It opens and closes them, and exchanges requests and responses on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from reference_model.clients.model.client_errors import ConnectionLost, Nonsense
from reference_model.clients.model.network import HostPort, Network, Stream, Unreachable
from wire.codec import encode
from wire.errors import DecodeError
from wire.frames import FrameReader, encode_frame
from wire.headers import RequestHeader, read_correlation_id

CLIENT_ID = "model"

REQUEST_TIMEOUT_MS = 3000
"""The longest wait for one response; a broker that is slow but alive has sent it by then."""
MAX_FRAME_BYTES = 1024 * 1024
"""A longer response is refused: no response to this client is nearly as long."""

Range = tuple[int, int]
"""The lowest and highest version of an API, both inclusive."""


class KnownBroker(NamedTuple):
    """One broker of a cluster."""

    node_id: int
    address: HostPort


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCluster:
    """What a client knows about its cluster.

    Attributes:
        cluster_id: the cluster's id; None if no broker has named it.
        nodes: its brokers; empty while the client bootstraps.
    """

    cluster_id: str | None = None
    nodes: tuple[KnownBroker, ...] = ()


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
        is_authenticated: whether SASL authentication is over.
        reader: splits received bytes into frames.
    """

    number: int
    address: HostPort
    stream: Stream
    node: KnownBroker | None = None
    table: Mapping[int, Range] | None = None
    last_correlation_id: int = -1
    is_authenticated: bool = False
    reader: FrameReader = field(default_factory=lambda: FrameReader(max_frame_bytes=MAX_FRAME_BYTES))


class ClientConnections:
    """The connections of a client with one bootstrap server, and what it knows of the cluster.

    Attributes:
        network: opens connections, and has a clock.
        bootstrap: the address of the bootstrap server.
        options: the names of the client's options, of `negotiation.OPTIONS`.
        credentials: the user name and the password with which it authenticates by SASL PLAIN; None if it does not.
        cluster: what the latest Metadata response said; empty before the first one and after a rebootstrap.
        links: its open connections, by node id; that to the bootstrap server is under None.
        opened: how many connections it has opened.
        until_ms: when the current operation has to end.
        notes: what a planted fault remembers; a correct client keeps nothing there.
        kept: memory that a planted fault never frees; a correct client keeps none.
        allocated_mb: the memory that it makes room for without need, in megabytes; only a planted fault does.
    """

    def __init__(
        self,
        network: Network,
        bootstrap: HostPort,
        options: Iterable[str] = (),
        credentials: tuple[str, str] | None = None,
    ) -> None:
        self.network = network
        self.bootstrap = bootstrap
        self.options = frozenset(options)
        self.credentials = credentials
        self.cluster = KnownCluster()
        self.links: dict[int | None, Link] = {}
        self.opened = 0
        self.until_ms = 0
        self.notes: dict[Any, Any] = {}
        self.kept: list[bytes] = []
        self.allocated_mb = 0.0

    @property
    def left_ms(self) -> int:
        """The time that is left for the current operation."""
        return max(0, self.until_ms - self.network.now_ms)

    def link_to(self, node: KnownBroker | None) -> Link:
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

    def opened_link(self, node: KnownBroker | None, address: HostPort) -> Link:
        """Open a connection."""
        try:
            stream = self.network.open(address)
            stream.start_tls()
        except Unreachable as error:
            raise ConnectionLost(f"no connection to {address.host}:{address.port}") from error
        self.opened += 1
        return Link(number=self.opened - 1, address=address, stream=stream, node=node)

    def close(self, link: Link) -> None:
        """Close a connection and forget it."""
        link.stream.close()
        self.links = {key: each for key, each in self.links.items() if each is not link}

    def exchange(self, link: Link, api_key: int, version: int, body: bytes, header_version: int) -> bytes:
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
            client_id=self.client_id_for(link, header_version),
        )
        try:
            header_bytes = self.header_bytes(self.completed(link, header), header_version)
            link.stream.send(encode_frame(header_bytes + body))
            response = self.next_frame(link)
        except Unreachable as error:
            raise ConnectionLost("the broker closed the connection") from error
        except DecodeError as error:
            raise Nonsense(f"no frame: {error}") from error
        if read_correlation_id(response) != link.last_correlation_id:
            raise Nonsense("the response has another correlation id than the request")
        return response

    def client_id_for(self, link: Link, header_version: int) -> str | None:
        """Return the client id of a request."""
        return CLIENT_ID

    def completed(self, link: Link, header: RequestHeader) -> RequestHeader:
        """Return a header with the fields of newer versions; those of today need none."""
        return header

    def reported_id(self) -> UUID | None:
        """Return the id of the client that its application can log; a client of today has none."""
        return None

    def header_bytes(self, header: RequestHeader, version: int) -> bytes:
        """Return the bytes of a request header in a version."""
        return encode(header, version=version)

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
