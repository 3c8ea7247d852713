"""Odd frames: negative sizes, short payloads, parts of frames, and frames of an exact size."""

from __future__ import annotations

import pytest
from hypothesis import given

from strategies.odd_frames import (
    build_whole_frame_of,
    frames_with_negative_size,
    partial_frames,
    short_frames,
    surpluses,
)
from tests.strategies.search import find_any
from wire.exchange import Request
from wire.frames import SIZE_BYTES


def _size(sent: Request) -> int:
    return int.from_bytes(sent.data[:SIZE_BYTES], signed=True)


@given(sent=frames_with_negative_size())
def test_size_is_negative(sent: Request) -> None:
    """The size prefix is below zero."""
    assert _size(sent) < 0


@given(sent=short_frames())
def test_short_frame_is_whole(sent: Request) -> None:
    """The size prefix is correct, and fewer than ten bytes follow it."""
    assert _size(sent) == len(sent.data) - SIZE_BYTES < 10


@given(sent=partial_frames())
def test_partial_frame_lacks_bytes(sent: Request) -> None:
    """A partial frame has at least one byte and is never complete."""
    assert sent.data
    assert len(sent.data) < SIZE_BYTES or len(sent.data) - SIZE_BYTES < _size(sent)


@pytest.mark.parametrize("kept", [0, 1, 7, 9])
def test_short_frames_reach_their_bounds(kept: int) -> None:
    """Frames with 0 bytes, 1 byte, and up to half of the client id's length are drawn."""
    assert find_any(short_frames(), lambda sent: len(sent.data) - SIZE_BYTES == kept)


@given(surplus=surpluses())
def test_surplus_is_above_zero(surplus: int) -> None:
    """A surplus moves a size above the limit."""
    assert surplus > 0


def test_whole_frame_has_the_size_that_was_asked_for() -> None:
    """A plain request is padded to exactly the size."""
    sent = build_whole_frame_of(524288)
    assert _size(sent) == len(sent.data) - SIZE_BYTES == 524288
