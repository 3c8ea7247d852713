"""Tests of odd frames: sizes, short payloads and parts of frames.

Sizes may be negative. Frames of an exact size are generated, too.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from reference_model.judging.stored_inputs import cut_frames
from strategies.api_versions import build_request
from strategies.odd_frames import (
    OTHER_PROTOCOLS,
    build_first_bytes,
    build_whole_frame_of,
    build_with_frame_inside,
    first_bytes_of_other_protocols,
    frames_with_small_size,
    is_cut_short,
    partial_frames,
    short_frames,
)
from tests.strategies.search import find_any, minimal
from wire.exchange import Request
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES
from wire.headers import CLIENT_ID_LENGTH_END


def _size(sent: Request) -> int:
    return int.from_bytes(sent.data[:SIZE_BYTES], signed=True)


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


@given(sent=frames_with_small_size())
def test_small_size_leaves_bytes_to_the_next_frame(sent: Request) -> None:
    """The size prefix is below the payload, and what it does not count is a frame or has a size that is refused."""
    assert is_cut_short(sent)
    assert 0 <= _size(sent) < len(sent.data) - SIZE_BYTES


@pytest.mark.parametrize("is_refused", [True, False])
@pytest.mark.parametrize("is_complete", [True, False])
def test_small_sizes_cut_requests_and_follow_complete_ones(is_complete: bool, is_refused: bool) -> None:
    """A cut request and a complete one are both followed by a frame, and by a size that is refused."""

    def meets(sent: Request) -> bool:
        frames = cut_frames(sent.data)
        plain = len(frames.complete[0].data) if frames.complete else 0
        complete = plain >= len(build_request(version=sent.api_version).data)
        return complete == is_complete and frames.size_is_refused == is_refused and not frames.awaits_more

    assert find_any(frames_with_small_size(), meets)


def test_frame_inside_a_client_id_is_a_request_of_its_own() -> None:
    """With the right size the bytes are one request whose client id is a request; with the small one they are two
    frames."""
    inner = build_request(version=3, correlation_id=8)
    sent = build_with_frame_inside(inner)
    first, second = cut_frames(sent.data).all
    assert (len(first.data), second.data) == (SIZE_BYTES + CLIENT_ID_LENGTH_END, inner.data)


def test_whole_frame_has_the_size_that_was_asked_for() -> None:
    """A plain request is padded to exactly the size."""
    sent = build_whole_frame_of(524288)
    assert _size(sent) == len(sent.data) - SIZE_BYTES == 524288


@pytest.mark.parametrize("protocol", OTHER_PROTOCOLS)
def test_other_protocols_begin_with_a_size_above_every_limit(protocol: str) -> None:
    """Read as a size, the first four bytes are refused before anything is allocated; each protocol is drawn."""
    sent = build_first_bytes(protocol)
    assert int.from_bytes(sent.data[:SIZE_BYTES], signed=True) > SOCKET_REQUEST_MAX_BYTES
    assert find_any(first_bytes_of_other_protocols(), lambda drawn: drawn.broken == f"bytes of {protocol}")


def test_a_plain_request_may_follow_another_protocol() -> None:
    """A header of PROXY precedes what the client sends."""
    plain = build_request(version=0).data
    assert find_any(first_bytes_of_other_protocols(), lambda drawn: drawn.data.endswith(plain))
    assert minimal(first_bytes_of_other_protocols()) == build_first_bytes("the PROXY protocol, v1")
