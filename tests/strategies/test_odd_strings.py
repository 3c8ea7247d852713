"""Strings whose length or bytes are odd: each is odd in the way it claims, and reaches every field."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import eq

import pytest
from hypothesis import given

from strategies.api_versions import build_request
from strategies.odd_strings import (
    BEYOND_THE_FRAME,
    CLUSTER_ID,
    NAMES,
    NOT_TEXT,
    ODD_LENGTH,
    TOO_LONG,
    build_with_string,
    compact_string,
    names_with_wrong_text,
    requests_with_odd_string_lengths,
    requests_with_odd_strings,
    requests_with_string_overrun,
    requests_with_too_long_string,
    texts_that_are_not_utf_8,
)
from tests.strategies.search import unmet
from wire.api_versions import ApiVersionsRequest
from wire.codec import decode
from wire.errors import BufferUnderflow, DecodeError, InvalidUtf8
from wire.exchange import Request
from wire.frames import SIZE_BYTES
from wire.primitives import read_unsigned_varint

BODY_OFFSET = len(build_request(version=3, body=b"").data) - SIZE_BYTES


def error_of(sent: Request) -> DecodeError | None:
    """Return the error of strict decoding of the body; None if it decodes."""
    try:
        decode(ApiVersionsRequest, sent.data[SIZE_BYTES + BODY_OFFSET :], version=sent.api_version)
    except DecodeError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("ids", "payload"),
    [
        pytest.param(False, "0261 00 ffffffff 00", id="without-ids"),
        pytest.param(True, "0261 0261 00000007 00", id="with-ids"),
    ],
)
def test_string_stands_in_its_field(ids: bool, payload: str) -> None:
    """The given bytes stand instead of one string, and the ids only where they are wanted."""
    sent = build_with_string(5, NAMES[1], b"\x02a", broken=ODD_LENGTH, ids=ids)
    assert sent.data.endswith(bytes.fromhex(payload))
    assert sent.broken == "odd length of client_software_version"


@given(sent=requests_with_string_overrun())
def test_overrunning_string_ends_beyond_the_frame(sent: Request) -> None:
    """Strict decoding runs out of bytes in the string that the note names."""
    error = error_of(sent)
    assert isinstance(error, BufferUnderflow)
    assert sent.broken == f"{BEYOND_THE_FRAME} {error.field_path}"


@given(sent=requests_with_too_long_string())
def test_too_long_string_is_complete(sent: Request) -> None:
    """The string has more than 32767 bytes, all of which are there."""
    assert len(sent.data) > 32767
    assert error_of(sent) is None
    assert sent.broken.startswith(TOO_LONG)


@given(data=texts_that_are_not_utf_8())
def test_wrong_text_does_not_decode(data: bytes) -> None:
    """The length matches the bytes after it, and these are not UTF-8."""
    length, start = read_unsigned_varint(memoryview(data), 0)
    assert length - 1 == len(data) - start
    with pytest.raises(UnicodeDecodeError):
        data[start:].decode()


@given(sent=names_with_wrong_text())
def test_wrong_text_stands_in_the_name_that_the_note_names(sent: Request) -> None:
    """Strict decoding finds the wrong bytes in exactly the field that the note names, which is never the cluster id."""
    error = error_of(sent)
    assert isinstance(error, InvalidUtf8)
    assert sent.broken == f"{NOT_TEXT} {error.field_path}"
    assert error.field_path in NAMES


def test_every_kind_reaches_every_field() -> None:
    """Names, versions and cluster ids are odd in each way."""
    kinds, fields = (ODD_LENGTH, BEYOND_THE_FRAME, TOO_LONG, NOT_TEXT), (*NAMES, CLUSTER_ID)
    notes = [f"{kind} {field}" for kind in kinds for field in fields]
    conditions = {note: partial(eq, note) for note in notes}
    assert not unmet(requests_with_odd_strings().map(lambda sent: sent.broken), conditions)


def contains(data: bytes) -> Callable[[Request], bool]:
    """Return a function that says whether a request contains some bytes."""
    return lambda sent: data in sent.data


def test_odd_lengths_reach() -> None:
    """Lengths are too long, have surplus bits or six bytes, or are negative as signed numbers."""
    assert not unmet(
        requests_with_odd_string_lengths(),
        {
            "longer-than-necessary": contains(b"\x83\x001a"),
            "surplus-bits": contains(b"\x83\x80\x80\x80\x101a"),
            "six-bytes": contains(b"\x83\x80\x80\x80\x80\x001a"),
            "null-in-six-bytes": contains(b"\x80\x80\x80\x80\x80\x00"),
            "negative": contains(b"\xff\xff\xff\xff\x0f"),
        },
    )


def test_overruns_reach() -> None:
    """The longest string that is allowed is announced, a longer one, and a short one."""
    lengths = {length: contains(compact_string(length, b"")) for length in (32767, 32768, 60)}
    assert not unmet(requests_with_string_overrun(), lengths)
