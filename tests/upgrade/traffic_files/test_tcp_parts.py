"""Packets, the order of their bytes, and the frames in them, each by itself."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pytest
from dpkt import ip, pcap, tcp, udp

from tests.upgrade.traffic_files.captured_traffic import write_capture
from upgrade.traffic_files import stream_order
from upgrade.traffic_files.frame_beginnings import FrameBeginning, FrameBeginnings
from upgrade.traffic_files.stream_order import Piece, StreamOrder
from upgrade.traffic_files.tcp_packets import Packets, Segment, read_segments
from wire.frames import encode_frame


def order_from(sequence: int = 0) -> StreamOrder:
    """Return one direction of which this is the number of the next byte."""
    order = StreamOrder()
    order.begin((sequence - 1) % 2**32)
    return order


def received(order: StreamOrder, *segments: tuple[int, bytes, int]) -> list[Piece]:
    """Return what comes of segments: number of the first byte, captured bytes, and size."""
    return [piece for each in segments for piece in order.receive(*each)]


def test_what_was_seen_before_is_left_out() -> None:
    """A segment that is sent again gives nothing, and one that is longer than the first time its new bytes alone."""
    order = order_from()
    assert received(order, (0, b"abc", 3)) == [Piece(b"abc", begins_segment=True)]
    assert received(order, (0, b"abc", 3), (1, b"b", 1)) == []
    assert received(order, (1, b"bcdef", 5)) == [Piece(b"def")]
    assert received(order, (6, b"g", 1)) == [Piece(b"g", begins_segment=True)]


def test_numbers_begin_again() -> None:
    """After the highest number comes 0."""
    order = order_from(2**32 - 2)
    assert received(order, (0, b"cd", 2)) == []
    assert received(order, (2**32 - 2, b"ab", 2)) == [
        Piece(b"ab", begins_segment=True),
        Piece(b"cd", begins_segment=True),
    ]


@pytest.mark.parametrize("segments", [[(3, b"de", 2), (3, b"defg", 4)], [(3, b"defg", 4), (3, b"", 4)]])
def test_the_most_that_was_captured_waits(segments: list[tuple[int, bytes, int]]) -> None:
    """Of two segments that begin with the same byte the longer one is kept, and of those the one with more bytes."""
    order = order_from()
    assert received(order, *segments) == []
    assert received(order, (0, b"abc", 3))[1:] == [Piece(b"defg", begins_segment=True)]


def test_what_the_other_end_has_received_is_missing() -> None:
    """A hole is given up once bytes after it are acknowledged, and not before."""
    order = order_from()
    assert received(order, (3, b"de", 2)) == []
    assert list(order.acknowledge(3)) == []
    assert list(order.acknowledge(4)) == [Piece(b"", 3), Piece(b"de", begins_segment=True)]


def test_few_segments_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """If too many wait, or too many bytes, what is before them counts as missing."""
    monkeypatch.setattr(stream_order, "MAX_WAITING", 2)
    order = order_from()
    assert received(order, (2, b"c", 1), (4, b"e", 1)) == []
    assert received(order, (6, b"g", 1)) == [Piece(b"", 2), Piece(b"c", begins_segment=True)]
    monkeypatch.setattr(stream_order, "MAX_WAITING_BYTES", 3)
    order = order_from()
    assert received(order, (2, b"cdef", 4)) == []
    assert received(order, (8, b"i", 1)) == [Piece(b"", 2), Piece(b"cdef", begins_segment=True)]


def frames(reader: FrameBeginnings, *data: bytes) -> list[FrameBeginning]:
    """Return the frames in pieces of a stream."""
    return [frame for each in data for frame in reader.read(Piece(each))]


def test_a_frame_has_a_possible_size() -> None:
    """A smaller or larger size than is possible shows that the place is lost."""
    for size, is_lost in ((3, True), (4, False), (10, False), (11, True)):
        reader = FrameBeginnings(lambda payload: 4, 10)
        reader.begin()
        frames(reader, struct.pack(">i", size))
        assert reader.is_lost is is_lost


@pytest.mark.parametrize("before", [b"\0\0", struct.pack(">i", 100) + b"abcdef"], ids=["size", "payload"])
def test_reading_begins_anew(before: bytes) -> None:
    """Where a frame is known to begin, nothing is left of the one before."""
    reader = FrameBeginnings(lambda payload: 4, 1000)
    reader.begin()
    frames(reader, before)
    reader.begin()
    assert frames(reader, encode_frame(b"wxyz")) == [FrameBeginning(4, b"wxyz")]


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
