"""Segments are read from packets of any link."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pytest
from dpkt import ip, pcap, tcp, udp

from tests.upgrade.traffic_files.captured_traffic import write_capture
from upgrade.traffic_files.tcp_packets import Packets, Segment, read_segments

SOURCE, DESTINATION = b"\x0a\0\0\7", b"\x0a\0\0\1"


def packet(**fields: int | bytes) -> tcp.TCP:
    """Return the packet of TCP with three bytes of data, and other fields."""
    return tcp.TCP(**{"sport": 50_000, "dport": 9092, "seq": 1, "data": b"abc", **fields})


def in_ip(
    inner: tcp.TCP | udp.UDP,
    *,
    protocol: int = ip.IP_PROTO_TCP,
    options: bytes = b"",
    length: int | None = None,
) -> bytes:
    """Return a packet of IPv4; its length is the right one unless it is given."""
    total = 20 + len(options) + len(bytes(inner)) if length is None else length
    head = struct.pack(">BBHIBBH", 0x45 + len(options) // 4, 0, total, 0, 64, protocol, 0)
    return head + SOURCE + DESTINATION + options + bytes(inner)


def in_ip6(inner: tcp.TCP) -> bytes:
    """Return a packet of IPv6 with an extension header."""
    extension = bytes([ip.IP_PROTO_TCP, 0, 1, 4, 0, 0, 0, 0])
    body = extension + bytes(inner)
    head = struct.pack(">IHBB", 6 << 28, len(body), ip.IP_PROTO_DSTOPTS, 64)
    return head + bytes(15) + b"\1" + bytes(15) + b"\2" + body


def read(tmp_path: Path, data: bytes, *, snaplen: int = 65_535) -> tuple[list[Segment], Counter[Packets]]:
    """Return the segments of a capture of one packet, and what was counted."""
    counts: Counter[Packets] = Counter()
    path = write_capture(tmp_path / "a.pcap", [data], pcap.DLT_RAW, snaplen=snaplen)
    return list(read_segments(path, counts)), counts


@pytest.mark.parametrize(
    ("data", "size"),
    [
        pytest.param(in_ip(packet()), 3, id="usual"),
        pytest.param(in_ip(packet(), options=b"\1\1\1\1"), 3, id="options-of-ip"),
        pytest.param(in_ip(packet(off=6, opts=b"\1\1\1\1")), 3, id="options-of-tcp"),
        pytest.param(in_ip(packet(), length=0), 3, id="to-be-split-by-the-card"),
        pytest.param(in_ip6(packet()), 3, id="extension-of-ip6"),
    ],
)
def test_the_size_of_a_segment_is_that_of_its_data(tmp_path: Path, data: bytes, size: int) -> None:
    """Headers have options and extensions, which are no data."""
    ((segment,), counts) = read(tmp_path, data)
    assert (segment.data, segment.size, counts[Packets.CUT]) == (b"abc", size, 0)


def test_a_segment_that_was_cut_has_its_size(tmp_path: Path) -> None:
    """The headers say how much there was."""
    ((segment,), counts) = read(tmp_path, in_ip(packet()), snaplen=41)
    assert (segment.data, segment.size, counts[Packets.CUT]) == (b"a", 3, 1)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (tcp.TH_ACK, (False, 0, False, False)),
        (tcp.TH_SYN, (True, None, False, False)),
        (tcp.TH_FIN | tcp.TH_ACK, (False, 0, True, False)),
        (tcp.TH_RST, (False, None, False, True)),
    ],
)
def test_flags_are_read(tmp_path: Path, flags: int, expected: tuple[bool, int | None, bool, bool]) -> None:
    """Beginning, acknowledgement, end and reset are distinguished."""
    ((segment,), _) = read(tmp_path, in_ip(packet(flags=flags)))
    assert (segment.opens, segment.acknowledged, segment.ends, segment.resets) == expected


def test_other_protocols_are_counted(tmp_path: Path) -> None:
    """A packet of UDP is no segment."""
    segments, counts = read(tmp_path, in_ip(udp.UDP(sport=1, dport=9092, data=b"abc"), protocol=ip.IP_PROTO_UDP))
    assert (segments, counts) == ([], {Packets.OTHERS: 1})
