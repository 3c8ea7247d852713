"""TCP segments in packet captures: pcap and pcapng, with the link types that tcpdump writes; cut packets too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

import dpkt

from conformance.watch.capture_files import network_packet, packets_of
from conformance.watch.unusable_source import UnusableSource


class Endpoint(NamedTuple):
    """One end of a connection."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Segment(NamedTuple):
    """One TCP segment.

    Attributes:
        source: who sent it.
        destination: to whom.
        sequence: the number of its first byte; that of a SYN stands for no byte.
        data: its bytes, as far as they were captured.
        size: how many bytes it had.
        opens: whether it is a SYN.
        acknowledged: the number of the first byte that its sender has not received; None in a client's SYN.
        ends: whether it is a FIN.
        resets: whether it is a RST.
    """

    source: Endpoint
    destination: Endpoint
    sequence: int
    data: bytes
    size: int
    opens: bool
    acknowledged: int | None
    ends: bool
    resets: bool


@dataclass(slots=True)
class PacketCounts:
    """What was in captures.

    Attributes:
        segments: TCP segments.
        others: packets that are no TCP segments, or of which not even the TCP header was captured.
        cut: segments of which only a part was captured.
        unfinished: captures that end in the middle of a packet.
    """

    segments: int = 0
    others: int = 0
    cut: int = 0
    unfinished: int = 0


def read_segments(path: Path, counts: PacketCounts) -> Iterator[Segment]:
    """Yield the TCP segments of a capture in its order.

    Raises:
        UnusableSource: the file cannot be read, is no capture, or has packets of another link type.
    """
    try:
        with path.open("rb") as file:
            yield from _segments(packets_of(path, file), counts)
    except OSError as error:
        raise UnusableSource(f"cannot read the capture {path}: {error.strerror}") from error


def _segments(packets: Iterator[tuple[int, bytes]], counts: PacketCounts) -> Iterator[Segment]:
    while True:
        try:
            link_type, packet = next(packets)
        except StopIteration:
            return
        except dpkt.UnpackError:
            counts.unfinished += 1
            return
        segment = _segment(packet, link_type)
        if segment is None:
            counts.others += 1
            continue
        counts.segments += 1
        counts.cut += len(segment.data) < segment.size
        yield segment


def _segment(packet: bytes, link_type: int) -> Segment | None:
    try:
        ip = network_packet(packet, link_type)
    except dpkt.UnpackError:
        return None
    tcp = getattr(ip, "data", None)
    if not isinstance(ip, dpkt.ip.IP | dpkt.ip6.IP6) or not isinstance(tcp, dpkt.tcp.TCP):
        return None
    data = bytes(tcp.data)
    return Segment(
        source=Endpoint(str(ip_address(ip.src)), tcp.sport),
        destination=Endpoint(str(ip_address(ip.dst)), tcp.dport),
        sequence=tcp.seq,
        data=data,
        size=max(len(data), _payload_size(ip, tcp)),
        opens=bool(tcp.flags & dpkt.tcp.TH_SYN),
        acknowledged=tcp.ack if tcp.flags & dpkt.tcp.TH_ACK else None,
        ends=bool(tcp.flags & dpkt.tcp.TH_FIN),
        resets=bool(tcp.flags & dpkt.tcp.TH_RST),
    )


def _payload_size(ip: dpkt.ip.IP | dpkt.ip6.IP6, tcp: dpkt.tcp.TCP) -> int:
    """Return the size of a segment's data as its headers say; 0 if the network card was to split it, and they do not say."""
    if isinstance(ip, dpkt.ip.IP):
        headers = ip.hl * 4
        total = ip.len
    else:
        headers = sum(each.length for each in ip.all_extension_headers)
        total = ip.plen
    size: int = total - headers - tcp.off * 4
    return max(size, 0)
