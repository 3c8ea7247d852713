"""Odd requests: each is odd in the way it claims, in header and body."""

from __future__ import annotations

import pytest
from hypothesis import given

from strategies.odd_requests import (
    client_ids_that_are_not_utf_8,
    long_varints,
    negative_client_id_lengths,
    negative_varints,
    requests_with_odd_varints,
    requests_with_tags_out_of_order,
    six_byte_varints,
    varints_with_bits_to_drop,
)
from tests.strategies.search import find_any
from wire.errors import VarintTooLong
from wire.exchange import Request
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
