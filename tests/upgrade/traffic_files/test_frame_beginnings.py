"""Frames are found in a stream, whatever came before."""

from __future__ import annotations

import struct

import pytest

from upgrade.traffic_files.frame_beginnings import FrameBeginning, FrameBeginnings
from upgrade.traffic_files.stream_order import Piece
from wire.frames import encode_frame


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
