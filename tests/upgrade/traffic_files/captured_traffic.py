"""Conversations as TCP segments, and segments as packets of captures."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from pathlib import Path

from dpkt import ethernet, ip, ip6, pcap, pcapng, sll, sll2, tcp

from tests.upgrade.watching import relay
from upgrade.traffic_files.tcp_packets import Endpoint, Segment

CLIENT, BROKER = Endpoint("10.0.0.7", 50_000), Endpoint("10.0.0.1", 9092)
START = 2**32 - 300
"""The first sequence number of either end: numbers begin again from 0 within a conversation."""
TABLE = {each.api_key: (each.min_version, each.max_version) for each in relay.TABLE}

Turn = tuple[bytes, bytes]
"""What the client sent at once, and what the broker sent after that."""


def request(
    api_key: int,
    api_version: int,
    correlation_id: int,
    client_id: str | None = "shop",
    body: bytes = b"",
) -> bytes:
    """Return the frame of a request with a header v1."""
    return relay.request(api_key, api_version, body, number=correlation_id, client_id=client_id)


def asking(correlation_id: int) -> Turn:
    """Return an ApiVersions request that names its software, and the response with `TABLE`."""
    sent = relay.asking(3, number=correlation_id, client_id="shop")
    return sent, relay.table(3, number=correlation_id)


def response(correlation_id: int, body: bytes = b"") -> bytes:
    """Return the frame of a response."""
    return relay.response(body, number=correlation_id)


def exchanged(correlation_id: int, api_key: int = 3, api_version: int = 9, size: int = 20) -> Turn:
    """Return a request of some size and its response."""
    body = bytes(range(256)) * (size // 256 + 1)
    return (
        request(api_key, api_version, correlation_id, body=body[:size]),
        response(correlation_id, body[:size]),
    )


class Conversation:
    """The segments of one connection, in order.

    Attributes:
        segments: what was sent so far, the acknowledgements included.
    """

    def __init__(self, client: Endpoint = CLIENT, broker: Endpoint = BROKER) -> None:
        self.segments: list[Segment] = []
        self._next = {client: START, broker: START}
        self._client, self._broker = client, broker
        self.add(client, opens=True)
        self.add(broker, opens=True)

    def turns(self, *turns: Turn, segment_bytes: int = 50) -> Conversation:
        """Add what both ends sent, in segments of at most so many bytes."""
        for sent, received in turns:
            for source, data in ((self._client, sent), (self._broker, received)):
                for start in range(0, len(data), segment_bytes):
                    self.add(source, data[start : start + segment_bytes])
        return self

    def closed(self, *, resets: bool = False) -> Conversation:
        """Add the end of the connection."""
        for source in (self._client, self._broker):
            self.add(source, ends=not resets, resets=resets)
        return self

    def add(
        self,
        source: Endpoint,
        data: bytes = b"",
        *,
        opens: bool = False,
        ends: bool = False,
        resets: bool = False,
    ) -> None:
        """Add one segment."""
        other = self._broker if source == self._client else self._client
        is_first = opens and source == self._client
        self.segments.append(
            Segment(
                source=source,
                destination=other,
                sequence=self._next[source] % 2**32,
                data=data,
                size=len(data),
                opens=opens,
                acknowledged=None if is_first else self._next[other] % 2**32,
                ends=ends,
                resets=resets,
            )
        )
        self._next[source] += len(data) + opens + ends


def network_packet(segment: Segment) -> ip.IP | ip6.IP6:
    """Return a segment as a packet of IPv4 or IPv6."""
    flags = (
        tcp.TH_SYN * segment.opens
        | tcp.TH_ACK * (segment.acknowledged is not None)
        | tcp.TH_FIN * segment.ends
        | tcp.TH_RST * segment.resets
    )
    inner = tcp.TCP(
        sport=segment.source.port,
        dport=segment.destination.port,
        seq=segment.sequence,
        ack=segment.acknowledged or 0,
        flags=flags,
        data=segment.data,
    )
    source, destination = (ip_address(each.host) for each in (segment.source, segment.destination))
    if source.version == 4:
        return ip.IP(
            src=source.packed,
            dst=destination.packed,
            p=ip.IP_PROTO_TCP,
            data=inner,
            len=20 + len(inner),
        )
    return ip6.IP6(
        src=source.packed,
        dst=destination.packed,
        nxt=ip.IP_PROTO_TCP,
        plen=len(inner),
        data=inner,
        extension_hdrs={},
    )


def link_packet(packet: ip.IP | ip6.IP6, link_type: int, *, in_vlan: bool = False) -> bytes:
    """Return a packet with the header of a link type."""
    type_: int = ethernet.ETH_TYPE_IP if isinstance(packet, ip.IP) else ethernet.ETH_TYPE_IP6
    inner: bytes = bytes(packet)
    if link_type == pcap.DLT_EN10MB:
        tag = b"\x81\x00\x00\x05" if in_vlan else b""
        return bytes(12) + tag + type_.to_bytes(2) + inner
    if link_type == pcap.DLT_LINUX_SLL:
        inner = bytes(sll.SLL(ethtype=type_, data=inner))
    if link_type == pcap.DLT_LINUX_SLL2:
        inner = bytes(sll2.SLL2(ethtype=type_, data=inner))
    if link_type == pcap.DLT_NULL:
        return (2 if isinstance(packet, ip.IP) else 30).to_bytes(4, "little") + inner
    if link_type == pcap.DLT_LOOP:
        return (2 if isinstance(packet, ip.IP) else 30).to_bytes(4, "big") + inner
    return inner


def write_capture(
    path: Path,
    packets: Iterable[bytes],
    link_type: int,
    *,
    as_pcapng: bool = False,
    snaplen: int = 65_535,
) -> Path:
    """Write packets, each cut to `snaplen` bytes, as a capture."""
    content = io.BytesIO()
    writer: pcap.Writer | pcapng.Writer
    if as_pcapng:
        writer = pcapng.Writer(content, snaplen=snaplen, linktype=link_type)
    else:
        writer = pcap.Writer(content, snaplen=snaplen, linktype=link_type)
    for number, packet in enumerate(packets):
        writer.writepkt(packet[:snaplen], ts=float(number))
    path.write_bytes(content.getvalue())
    return path


def in_order(conversations: Sequence[Conversation]) -> list[Segment]:
    """Return the segments of conversations, one connection after the other."""
    return [segment for each in conversations for segment in each.segments]
