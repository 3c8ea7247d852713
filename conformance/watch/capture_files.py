"""The packets in a capture file, pcap or pcapng, each with the link type of the interface that it was captured on."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import dpkt
from dpkt.pcapng import PCAPNG_BT_EPB, PCAPNG_BT_IDB, PCAPNG_BT_PB, PCAPNG_BT_SHB

from conformance.watch.unusable_source import UnusableSource

_ETHERNET, _COOKED, _COOKED_2 = 1, 113, 276
_LOOPBACK = (0, 108)
_RAW = (12, 14, 101, 228, 229)
"""Packets that begin with their IP header; some systems have own numbers for it."""
_READABLE = (_ETHERNET, _COOKED, _COOKED_2, *_LOOPBACK, *_RAW)
_HEADER_BYTES = 8
"""Type and length of a block, with which each block of a pcapng file begins; the length is at its end again."""
_SMALLEST_BLOCK_BYTES = 12
_LITTLE_ENDIAN = b"\x4d\x3c\x2b\x1a"
_PACKET_FORMS = {PCAPNG_BT_EPB: "I8xI4x", PCAPNG_BT_PB: "H10xI4x"}
"""The interface and the captured size in the blocks that have a packet; its bytes follow."""
_SECTION = struct.pack("<I", PCAPNG_BT_SHB)
"""What a section begins with; it is the same in both byte orders."""


def packets_of(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
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


def network_packet(packet: bytes, link_type: int) -> object:
    """Return what a packet of a link has in it.

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
        if not _SMALLEST_BLOCK_BYTES <= length == len(body) + _HEADER_BYTES:
            raise dpkt.NeedData(f"a block of {length} bytes")
        yield order, type_, body
