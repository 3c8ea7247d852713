"""Segments of one direction are put in order, with holes where some are missing."""

from __future__ import annotations

import pytest

from upgrade.traffic_files import stream_order
from upgrade.traffic_files.stream_order import Piece, StreamOrder


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
