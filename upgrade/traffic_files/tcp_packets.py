"""Reads the TCP segments of packet captures (pcap and pcapng).

Packets may be cut.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import BinaryIO, NamedTuple

import dpkt
from dpkt.pcapng import PCAPNG_BT_EPB, PCAPNG_BT_IDB, PCAPNG_BT_PB, PCAPNG_BT_SHB

from upgrade.prediction.observed_requests import UnusableSource

_ETHERNET, _COOKED, _COOKED_2 = 1, 113, 276
_LOOPBACK = (0, 108)
_RAW = (12, 14, 101, 228, 229)
"""Packets that begin with their IP header; some systems have own numbers for it."""
_READABLE = (_ETHERNET, _COOKED, _COOKED_2, *_LOOPBACK, *_RAW)
_HEADER_BYTES = 8
"""Type and length of a block, with which each block of a pcapng file begins; the length is at its end again."""
_MIN_BLOCK_BYTES = 12
_LITTLE_ENDIAN = b"\x4d\x3c\x2b\x1a"
_PACKET_FORMS = {PCAPNG_BT_EPB: "I8xI4x", PCAPNG_BT_PB: "H10xI4x"}
"""The interface and the captured size in the blocks that have a packet; its bytes follow."""
_SECTION = struct.pack("<I", PCAPNG_BT_SHB)
"""What a section begins with; it is the same in both byte orders."""


def _packets_of(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Return link type and bytes of each packet of a file that was just opened.

    The iterator raises `dpkt.UnpackError` where the file ends in the middle of a packet.

    Raises:
        UnusableSource: the file is no capture, or an interface has a link type that is not read.
    """
    try:
        capture = dpkt.pcap.UniversalReader(file)
    except (ValueError, dpkt.UnpackError) as error:
        raise UnusableSource(f"{path} is no packet capture (pcap or pcapng)") from error
    _check(path, capture.datalink())
    if isinstance(capture, dpkt.pcapng.Reader):
        # That reader takes all packets for those of the first interface.
        file.seek(0)
        return _packets_of_interfaces(path, file)
    link_type: int = capture.datalink()
    return ((link_type, packet) for _, packet in capture)


def _network_packet(packet: bytes, link_type: int) -> object:
    """Return the network packet inside a packet of a link.

    Raises:
        dpkt.UnpackError: too little of it was captured.
    """
    if link_type == _ETHERNET:
        return dpkt.ethernet.Ethernet(packet).data
    if link_type == _COOKED:
        return dpkt.sll.SLL(packet).data
    if link_type == _COOKED_2:
        return dpkt.sll2.SLL2(packet).data
    if link_type in _LOOPBACK:
        return dpkt.loopback.Loopback(packet).data
    return dpkt.ip6.IP6(packet) if packet[:1] and packet[0] >> 4 == 6 else dpkt.ip.IP(packet)


def _check(path: Path, link_type: int) -> None:
    if link_type not in _READABLE:
        raise UnusableSource(
            f"cannot read the packets of {path}: their link type is {link_type}; capture on an Ethernet, loopback or 'any' "
            "interface"
        )


def _packets_of_interfaces(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the packets of a pcapng file. Each section of it has own interfaces, numbered from 0."""
    link_types: list[int] = []
    for order, type_, body in _blocks(file):
        if type_ == PCAPNG_BT_SHB:
            link_types = []
        elif type_ == PCAPNG_BT_IDB:
            (link_type,) = _unpacked(f"{order}H", body)
            _check(path, link_type)
            link_types.append(link_type)
        elif type_ in _PACKET_FORMS:
            form = order + _PACKET_FORMS[type_]
            interface, size = _unpacked(form, body)
            start = struct.calcsize(form)
            if interface >= len(link_types):
                raise dpkt.UnpackError(f"a packet of interface {interface}, which is not described")
            yield link_types[interface], body[start : start + size]


def _unpacked(form: str, body: bytes) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, body)
    except struct.error as error:
        raise dpkt.UnpackError(f"a block with {len(body)} bytes of content") from error


def _blocks(file: BinaryIO) -> Iterator[tuple[str, int, bytes]]:
    """Yield byte order, type and content of each block of a pcapng file."""
    order = "<"
    while header := file.read(_HEADER_BYTES):
        if header.startswith(_SECTION):
            magic = file.read(len(_LITTLE_ENDIAN))
            order = "<" if magic == _LITTLE_ENDIAN else ">"
            file.seek(-len(magic), 1)
        if len(header) < _HEADER_BYTES:
            raise dpkt.NeedData("a block without its length")
        type_, length = struct.unpack(f"{order}II", header)
        body = file.read(max(length - _HEADER_BYTES, 0))
        if not _MIN_BLOCK_BYTES <= length == len(body) + _HEADER_BYTES:
            raise dpkt.NeedData(f"a block of {length} bytes")
        yield order, type_, body


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


class Packets(StrEnum):
    """What captures have besides segments that are whole, in words that its number follows."""

    OTHERS = "packets that are no TCP segments, or of which too little was captured"
    CUT = "packets captured in part, which does no harm if only payloads are missing"
    UNFINISHED = "captures that end in the middle of a packet"


def read_segments(path: Path, counts: Counter[Packets]) -> Iterator[Segment]:
    """Yield the TCP segments of a capture in its order.

    Raises:
        UnusableSource: the file cannot be read, is no capture, or has packets of another link type.
    """
    try:
        with path.open("rb") as file:
            yield from _segments(_packets_of(path, file), counts)
    except OSError as error:
        raise UnusableSource(f"cannot read the capture {path}: {error.strerror}") from error


def _segments(packets: Iterator[tuple[int, bytes]], counts: Counter[Packets]) -> Iterator[Segment]:
    try:
        for link_type, packet in packets:
            segment = _segment(packet, link_type)
            if segment is None:
                counts[Packets.OTHERS] += 1
                continue
            counts[Packets.CUT] += len(segment.data) < segment.size
            yield segment
    except dpkt.UnpackError:
        counts[Packets.UNFINISHED] += 1


def _segment(packet: bytes, link_type: int) -> Segment | None:
    try:
        ip = _network_packet(packet, link_type)
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
    """Return the size of a segment's data according to its headers.

    Return 0 if the headers do not say, as when the network card was to split the segment.
    """
    if isinstance(ip, dpkt.ip.IP):
        headers = ip.hl * 4
        total = ip.len
    else:
        headers = sum(each.length for each in ip.all_extension_headers)
        total = ip.plen
    size: int = total - headers - tcp.off * 4
    return max(size, 0)
