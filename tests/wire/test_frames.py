"""Frames, complete and in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import DecodeError, EncodeError, FrameTooLarge, NegativeLength
from wire.frames import DEFAULT_MAX_FRAME_BYTES, FrameReader, encode_frame, read_size

PAYLOADS = st.lists(st.binary(max_size=12), max_size=4)


def _taken(reader: FrameReader) -> list[bytes]:
    taken = []
    while (payload := reader.next_payload()) is not None:
        taken.append(payload)
    return taken


@pytest.mark.parametrize(
    ("payload", "size", "expected"),
    [
        pytest.param(b"", None, "00000000", id="empty"),
        pytest.param(b"\x01\x02", None, "00000002 0102", id="plain"),
        pytest.param(b"\x01", 0, "00000000 01", id="zero-size"),
        pytest.param(b"\x01", -1, "ffffffff 01", id="negative-size"),
        pytest.param(b"", 2**31 - 1, "7fffffff", id="largest-size"),
    ],
)
def test_frame_has_its_literal_bytes(payload: bytes, size: int | None, expected: str) -> None:
    """A frame is its true size, or the given one, and the payload."""
    assert encode_frame(payload, size=size) == bytes.fromhex(expected)


def test_size_that_is_no_int32_is_refused() -> None:
    """A wrong size must still fit an int32."""
    with pytest.raises(EncodeError):
        encode_frame(b"", size=2**31)


@given(payloads=PAYLOADS)
def test_stream_fed_byte_by_byte_gives_the_same(payloads: list[bytes]) -> None:
    """A payload is returned with its last byte, and not before."""
    reader = FrameReader()
    for payload in payloads:
        frame = encode_frame(payload)
        for length, byte in enumerate(frame, start=1):
            assert reader.next_payload() is None
            reader.receive_data(bytes([byte]))
            assert reader.unread == frame[:length]
        assert reader.next_payload() == payload
        assert reader.unread == b""
    assert reader.next_payload() is None


def test_what_comes_in_pieces_is_hidden() -> None:
    """A secret of which each piece has a part, and one in bytes that are no frames."""
    reader = FrameReader(hide=lambda data: data.replace(b"secret", b"------"))
    for piece in (encode_frame(b"a secret")[:-3], b"ret", b"more sec"):
        reader.receive_data(piece)
    assert reader.next_payload() == b"a ------"
    assert reader.unread == b"more sec"
    assert reader.hidden(b"secret") == b"------"
    assert FrameReader().hidden(b"secret") == b"secret"


@given(payloads=PAYLOADS, after=st.binary(max_size=3), data=st.data())
def test_stream_is_cut_into_its_payloads(payloads: list[bytes], after: bytes, data: st.DataObject) -> None:
    """Fed at once or in any pieces, it returns its payloads and keeps the bytes after them."""
    stream = b"".join(encode_frame(payload) for payload in payloads) + after
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    reader = FrameReader()
    taken = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reader.receive_data(stream[start:end])
        taken += _taken(reader)
    assert taken == payloads
    assert reader.unread == after


@pytest.mark.parametrize(
    ("prefix", "kind", "problem"),
    [
        pytest.param("ffffffff", NegativeLength, "frame size -1", id="minus-1"),
        pytest.param("80000000", NegativeLength, "frame size -2147483648", id="minimum"),
        pytest.param("00000009", FrameTooLarge, "frame size 9 is above the bound of 8", id="above"),
        pytest.param("47455420", FrameTooLarge, "frame size 1195725856 is above the bound of 8", id="GET"),
    ],
)
def test_wrong_size_is_refused_with_its_four_bytes(prefix: str, kind: type[DecodeError], problem: str) -> None:
    """A size out of bounds is refused as soon as its four bytes are there, and every time after."""
    reader = FrameReader(max_frame_bytes=8)
    reader.receive_data(encode_frame(b"before") + bytes.fromhex(prefix)[:3])
    assert _taken(reader) == [b"before"]
    reader.receive_data(bytes.fromhex(prefix)[3:])
    for _ in range(2):
        with pytest.raises(DecodeError) as caught:
            reader.next_payload()
        error = caught.value
        assert type(error) is kind
        assert (error.field_path, error.start, error.end) == ("size", 0, 4)
        assert error.problem == problem
        reader.receive_data(b"more")
    assert reader.unread == bytes.fromhex(prefix) + b"moremore"


def test_size_at_the_bound_is_accepted() -> None:
    """A frame as large as the bound is accepted."""
    reader = FrameReader(max_frame_bytes=8)
    reader.receive_data(encode_frame(b"12345678"))
    assert reader.next_payload() == b"12345678"


def test_default_bound_is_sixteen_mebibytes() -> None:
    """A reader without its own bound refuses frames above 16 MiB and waits for those up to it."""
    assert DEFAULT_MAX_FRAME_BYTES == 16777216
    reader = FrameReader()
    reader.receive_data(bytes.fromhex("01000000"))
    assert reader.next_payload() is None
    reader = FrameReader()
    reader.receive_data(bytes.fromhex("01000001"))
    with pytest.raises(FrameTooLarge):
        reader.next_payload()


@pytest.mark.parametrize(("frame", "size"), [("00000002 abcd", 2), ("00000009 ab", 9), ("ffffffff", -1)])
def test_size_is_the_one_that_is_announced(frame: str, size: int) -> None:
    """A frame's size is read from its prefix, whatever follows."""
    assert read_size(bytes.fromhex(frame)) == size
