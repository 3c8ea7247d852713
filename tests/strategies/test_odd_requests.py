"""Tests of odd requests, and of requests with two faults.

Each request is odd in the way that its note states. Every field is reached.
"""

from __future__ import annotations

import re
from functools import partial
from operator import eq
from uuid import UUID

import pytest
from hypothesis import given

from strategies.any_requests import requests_with_two_faults
from strategies.api_versions import build_request
from strategies.odd_requests import (
    BEYOND_THE_FRAME,
    CLUSTER_ID,
    NAMES,
    NOT_TEXT,
    ODD_LENGTH,
    TOO_LONG,
    build_mixed,
    build_with_string,
    client_ids_that_are_not_utf_8,
    long_varints,
    names_with_wrong_text,
    negative_client_id_lengths,
    negative_varints,
    requests_with_any_body,
    requests_with_mixed_layouts,
    requests_with_odd_strings,
    requests_with_odd_varints,
    requests_with_string_overrun,
    requests_with_tags_out_of_order,
    requests_with_too_long_string,
    six_byte_varints,
    texts_that_are_not_utf_8,
    varints_with_bits_to_drop,
)
from tests.strategies.search import find_any, unmet
from wire.api_versions import ApiVersionsRequest
from wire.codec import decode, decode_prefix
from wire.errors import BufferUnderflow, DecodeError, InvalidUtf8, VarintTooLong
from wire.exchange import Request
from wire.frames import SIZE_BYTES
from wire.header_versions import request_header_version
from wire.headers import InstanceIdHeader
from wire.primitives import UINT32_MAX, read_int16, read_unsigned_varint


@given(data=negative_client_id_lengths())
def test_client_id_length_is_below_null(data: bytes) -> None:
    """A negative length is two bytes long and less than the length of null."""
    length, end = read_int16(memoryview(data), 0)
    assert (length < -1, end) == (True, len(data))


@given(data=client_ids_that_are_not_utf_8())
def test_client_id_is_not_utf_8(data: bytes) -> None:
    """The length matches the bytes after it, and these are not UTF-8."""
    length, start = read_int16(memoryview(data), 0)
    assert length == len(data) - start
    with pytest.raises(UnicodeDecodeError):
        data[start:].decode()


@given(data=long_varints(5))
def test_long_varint_has_the_same_value(data: bytes) -> None:
    """A varint that is longer than needed reads as the same value."""
    assert len(data) > 1
    assert read_unsigned_varint(memoryview(data), 0) == (5, len(data))


@given(data=varints_with_bits_to_drop(5))
def test_dropped_bits_lie_above_the_32nd(data: bytes) -> None:
    """Without the bits above the 32nd, the value is the requested one."""
    value = sum((byte & 0x7F) << 7 * index for index, byte in enumerate(data))
    assert value > UINT32_MAX
    assert value & UINT32_MAX == 5


@given(data=six_byte_varints(5))
def test_six_bytes_are_too_many(data: bytes) -> None:
    """A varint whose fifth byte announces a sixth does not decode."""
    assert len(data) == 6
    with pytest.raises(VarintTooLong):
        read_unsigned_varint(memoryview(data), 0)


@given(data=negative_varints())
def test_negative_varint_has_its_highest_bit(data: bytes) -> None:
    """A varint that is negative as a signed number reads as 2**31 or more."""
    assert read_unsigned_varint(memoryview(data), 0)[0] >= 2**31


@pytest.mark.parametrize("part", ["header", "body"])
def test_odd_tags_reach_header_and_body(part: str) -> None:
    """Odd varints and tags out of order are drawn in headers and in bodies."""

    def is_there(sent: Request) -> bool:
        return part in sent.broken

    assert find_any(requests_with_odd_varints(), is_there)
    assert find_any(requests_with_tags_out_of_order(), is_there)


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


NOTE = re.compile(r"v(\d) with header v(\d) and the body of v(\d)")


def triple_of(sent: Request) -> tuple[int, ...]:
    """Return version, header version and body version as the note has them."""
    found = NOTE.fullmatch(sent.broken)
    assert found is not None
    return tuple(map(int, found.groups()))


@given(sent=requests_with_mixed_layouts())
def test_header_and_body_are_those_of_the_note(sent: Request) -> None:
    """Header and body decode in the versions that the note names, and these are not the request's own."""
    version, header_version, body_version = triple_of(sent)
    payload = sent.data[SIZE_BYTES:]
    header, offset = decode_prefix(InstanceIdHeader, payload, version=header_version)
    decode(ApiVersionsRequest, payload[offset:], version=body_version)
    assert header.request_api_version == version == sent.api_version
    own = build_request(version=version)
    assert header_version != request_header_version(18, version) or payload != own.data[SIZE_BYTES:]


def test_instance_ids_are_drawn() -> None:
    """Header v3 has an id other than zero as well."""

    def has_id(sent: Request) -> bool:
        if triple_of(sent)[1] != 3:
            return False
        header, _ = decode_prefix(InstanceIdHeader, sent.data[SIZE_BYTES:], version=3)
        return header.client_instance_id.int > 1

    assert find_any(requests_with_mixed_layouts(), has_id)


def test_mixed_request_has_its_literal_bytes() -> None:
    """The instance id stands before the tag section, and the body is that of its own version."""
    sent = build_mixed(6, 3, 0, instance_id=UUID(int=1))
    assert sent.data[SIZE_BYTES:] == bytes.fromhex(
        "0012 0006 00000007 0011 6b61666b612d636f6e666f726d616e636500000000000000000000000000000001 00"
    )


@given(sent=requests_with_any_body())
def test_any_body_follows_a_sound_header(sent: Request) -> None:
    """The header is that of a plain request in a flexible version; the body is drawn bytes."""
    bare = build_request(version=sent.api_version, correlation_id=sent.correlation_id, body=b"")
    assert sent.data[SIZE_BYTES:].startswith(bare.data[SIZE_BYTES:])
    assert sent.body is None
    assert 3 <= sent.api_version <= 5


@given(sent=requests_with_two_faults())
def test_both_faults_are_in_the_note(sent: Request) -> None:
    """The note names two malformations, unless the first left too few bytes for a second; the API key stays."""
    payload = sent.data[SIZE_BYTES:]
    assert len(payload) < 2 or "; " in sent.broken
    assert b"\x00\x12".startswith(payload[:2])
