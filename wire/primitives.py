"""Readers and writers for Kafka's primitive types, without I/O.

Rules:
- every `read_x(data, offset)` returns the value and the offset after it, and never reads past the end;
- every `write_x(value)` returns the bytes, and raises `EncodeError` for a value that does not fit;
- a reader raises a `DecodeError` whose offsets name the bytes at fault;
- lengths are checked against the remaining bytes before anything is allocated.

Numbers are big-endian. Source: Kafka protocol guide, "Protocol Primitive Types"; KIP-482 for the compact
types, the unsigned varint and the tagged fields.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from wire.errors import (
    BufferUnderflow,
    DuplicateTag,
    EncodeError,
    InvalidBoolean,
    InvalidUtf8,
    NegativeLength,
    VarintTooLong,
)

VARINT_MAX_BYTES = 5
STRING_LENGTH_BYTES = 2
"""Before every string that is not compact."""
UINT32_MAX = 2**32 - 1
INT16_MIN, INT16_MAX = -(2**15), 2**15 - 1
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
NO_TAGS = b"\0"
"""A tag section without tags."""


class TaggedField(NamedTuple):
    """A tagged field that is not in the schema: its tag and its raw bytes."""

    tag: int
    data: bytes


class RawTaggedField(NamedTuple):
    """The position of one field in a tag section.

    Attributes:
        tag: the field's tag.
        offset: offset of the field's first byte, where the tag begins.
        start: offset of its data, after the tag and the size.
        end: offset after its data.
    """

    tag: int
    offset: int
    start: int
    end: int


def _number(form: str, name: str) -> tuple[Callable[[memoryview, int], tuple[int, int]], Callable[[float], bytes]]:
    """Return the reader and the writer of a number.

    Args:
        form: its form in the notation of `struct`, big-endian.
        name: its name in messages about values that do not fit.
    """
    layout = struct.Struct(form)

    def read(data: memoryview, offset: int) -> tuple[int, int]:
        end = offset + layout.size
        if end > len(data):
            raise BufferUnderflow(
                f"{layout.size} bytes expected, {len(data) - offset} left",
                start=offset,
                end=len(data),
            )
        return layout.unpack_from(data, offset)[0], end

    def write(value: float) -> bytes:
        try:
            return layout.pack(value)
        except struct.error as error:
            raise EncodeError(f"{value!r} does not fit an {name}") from error

    return read, write


read_int8, write_int8 = _number(">b", "int8")
read_int16, write_int16 = _number(">h", "int16")
read_int32, write_int32 = _number(">i", "int32")
read_int64, write_int64 = _number(">q", "int64")
read_uint16, write_uint16 = _number(">H", "uint16")
read_uint32, write_uint32 = _number(">I", "uint32")

read_float64: Callable[[memoryview, int], tuple[float, int]]
read_float64, write_float64 = _number(">d", "float64")


def read_boolean(data: memoryview, offset: int) -> tuple[bool, int]:
    """Read one byte that is 0 or 1.

    Raises:
        InvalidBoolean: the byte is neither.
    """
    value, end = read_int8(data, offset)
    if value not in (0, 1):
        raise InvalidBoolean(f"{value} is not a boolean", start=offset, end=end)
    return bool(value), end


def write_boolean(value: bool) -> bytes:
    """Write 0 or 1."""
    return b"\x01" if value else b"\x00"


def read_uuid(data: memoryview, offset: int) -> tuple[UUID, int]:
    """Read 16 bytes, most significant first."""
    raw, end = read_bytes(data, offset, 16)
    return UUID(bytes=bytes(raw)), end


def write_uuid(value: UUID) -> bytes:
    """Write 16 bytes, most significant first."""
    return value.bytes


def read_unsigned_varint(data: memoryview, offset: int) -> tuple[int, int]:
    """Read one unsigned varint: base 128, least significant group first, 1 to 5 bytes.

    Forms longer than necessary are accepted, because no source forbids them.

    Args:
        data: the bytes to decode.
        offset: index of the first byte, counted from 0.

    Returns:
        The value (0 to 2**32 - 1) and the offset after it.

    Raises:
        BufferUnderflow: the bytes end inside the varint.
        VarintTooLong: the fifth byte has its continuation bit set, or the value exceeds 2**32 - 1.
    """
    value = 0
    for index in range(VARINT_MAX_BYTES):
        position = offset + index
        if position >= len(data):
            raise BufferUnderflow("the varint is cut off", start=offset, end=len(data))
        byte = data[position]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value > UINT32_MAX:
                break
            return value, position + 1
    raise VarintTooLong("the varint does not fit 32 bits", start=offset, end=position + 1)


def write_unsigned_varint(value: int) -> bytes:
    """Write the shortest unsigned varint of a value from 0 to 2**32 - 1."""
    if not 0 <= value <= UINT32_MAX:
        raise EncodeError(f"{value!r} does not fit an unsigned varint")
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def write_long_unsigned_varint(value: int, size: int) -> bytes:
    """Write a varint in exactly `size` bytes (2 to 5), padded with empty groups: legal, but not the shortest."""
    if not 0 <= value < 1 << 7 * size:
        raise EncodeError(f"{value!r} does not fit a varint of {size} bytes")
    groups = [value >> 7 * index & 0x7F | 0x80 for index in range(size)]
    groups[-1] &= 0x7F
    return bytes(groups)


def read_bytes(data: memoryview, offset: int, length: int) -> tuple[memoryview, int]:
    """Read `length` bytes without copying them."""
    end = offset + length
    if end > len(data):
        raise BufferUnderflow(f"{length} bytes expected, {len(data) - offset} left", start=offset, end=len(data))
    return data[offset:end], end


def _read_count(number: tuple[int, int], what: str, offset: int) -> tuple[int | None, int]:
    """Return a count that was read at `offset`, and the offset after it; -1 is null."""
    count, end = number
    if count < -1:
        raise NegativeLength(f"{what} {count}", start=offset, end=end)
    return (None if count == -1 else count), end


def read_array_length(data: memoryview, offset: int) -> tuple[int | None, int]:
    """Read the int32 count of an array; -1 is a null array.

    Raises:
        NegativeLength: the count is below -1.
    """
    return _read_count(read_int32(data, offset), "array count", offset)


def write_array_length(count: int | None) -> bytes:
    """Write the int32 count of an array; null is -1."""
    return write_int32(-1 if count is None else _not_negative(count))


def read_compact_array_length(data: memoryview, offset: int) -> tuple[int | None, int]:
    """Read the count of a compact array, a varint holding the count plus one; 0 is a null array."""
    count_plus_one, end = read_unsigned_varint(data, offset)
    return (None if count_plus_one == 0 else count_plus_one - 1), end


def write_compact_array_length(count: int | None) -> bytes:
    """Write the count of a compact array as a varint holding the count plus one; null is 0."""
    return write_unsigned_varint(0 if count is None else _not_negative(count) + 1)


def _not_negative(count: int) -> int:
    if count < 0:
        raise EncodeError(f"{count!r} is not a count")
    return count


def _text(data: memoryview, length: int | None, offset: int) -> tuple[str | None, int]:
    raw, end = _nullable_bytes(data, length, offset)
    try:
        return (None if raw is None else raw.decode()), end
    except UnicodeDecodeError as error:
        raise InvalidUtf8(f"not UTF-8: {error.reason}", start=offset + error.start, end=offset + error.end) from error


def _utf8(value: str | None) -> bytes | None:
    try:
        raw = None if value is None else value.encode()
    except UnicodeEncodeError as error:
        raise EncodeError(f"{value!r} cannot be written as UTF-8") from error
    if raw is not None and len(raw) > INT16_MAX:
        raise EncodeError(f"a string of {len(raw)} bytes is longer than {INT16_MAX}")
    return raw


def read_nullable_string(data: memoryview, offset: int) -> tuple[str | None, int]:
    """Read an int16 length and that many bytes of UTF-8; length -1 is null.

    Raises:
        NegativeLength: the length is below -1.
    """
    return _text(data, *_read_count(read_int16(data, offset), "string length", offset))


def write_nullable_string(value: str | None) -> bytes:
    """Write an int16 length and the UTF-8 bytes; null is length -1."""
    raw = _utf8(value)
    return write_int16(-1) if raw is None else write_int16(len(raw)) + raw


def read_compact_nullable_string(data: memoryview, offset: int) -> tuple[str | None, int]:
    """Read a varint holding the length plus one, then that many bytes of UTF-8; varint 0 is null."""
    return _text(data, *read_compact_array_length(data, offset))


def write_compact_nullable_string(value: str | None) -> bytes:
    """Write a varint holding the length plus one, then the UTF-8 bytes; null is varint 0."""
    return write_compact_nullable_bytes(_utf8(value))


def _nullable_bytes(data: memoryview, length: int | None, offset: int) -> tuple[bytes | None, int]:
    if length is None:
        return None, offset
    raw, end = read_bytes(data, offset, length)
    return bytes(raw), end


def read_nullable_bytes(data: memoryview, offset: int) -> tuple[bytes | None, int]:
    """Read an int32 length and that many bytes; length -1 is null.

    Raises:
        NegativeLength: the length is below -1.
    """
    return _nullable_bytes(data, *_read_count(read_int32(data, offset), "bytes length", offset))


def write_nullable_bytes(value: bytes | None) -> bytes:
    """Write an int32 length and the bytes; null is length -1."""
    return write_int32(-1) if value is None else write_int32(len(value)) + value


def read_compact_nullable_bytes(data: memoryview, offset: int) -> tuple[bytes | None, int]:
    """Read a varint holding the length plus one, then that many bytes; varint 0 is null."""
    return _nullable_bytes(data, *read_compact_array_length(data, offset))


def write_compact_nullable_bytes(value: bytes | None) -> bytes:
    """Write a varint holding the length plus one, then the bytes; null is varint 0."""
    return write_compact_array_length(None if value is None else len(value)) + (value or b"")


def read_struct_presence(data: memoryview, offset: int) -> tuple[bool | None, int]:
    """Read the presence byte of a nullable struct: 1 if the struct follows, -1 for null.

    Raises:
        InvalidBoolean: the byte is neither.
    """
    value, end = read_int8(data, offset)
    if value not in (1, -1):
        raise InvalidBoolean(f"{value} is neither 1 nor -1", start=offset, end=end)
    return (True if value == 1 else None), end


def write_struct_presence(present: object) -> bytes:
    """Write the presence byte of a nullable struct."""
    return write_int8(-1 if present is None else 1)


def read_raw_tagged_fields(data: memoryview, offset: int) -> tuple[tuple[RawTaggedField, ...], int]:
    """Read a tag section without interpreting its fields. The order of the tags is not checked.

    Returns:
        The fields in the order of the bytes, and the offset after the section.

    Raises:
        DuplicateTag: a tag occurs twice.
    """
    count, offset = read_unsigned_varint(data, offset)
    fields: list[RawTaggedField] = []
    seen: set[int] = set()
    for _ in range(count):
        tag_offset = offset
        tag, offset = read_unsigned_varint(data, offset)
        if tag in seen:
            raise DuplicateTag(f"tag {tag} occurs twice", start=tag_offset, end=offset)
        seen.add(tag)
        size, start = read_unsigned_varint(data, offset)
        _, offset = read_bytes(data, start, size)
        fields.append(RawTaggedField(tag, tag_offset, start, offset))
    return tuple(fields), offset


def write_raw_tagged_fields(fields: tuple[TaggedField, ...]) -> bytes:
    """Write a tag section in the given order; in a valid section the tags ascend."""
    section = [write_unsigned_varint(len(fields))]
    for tag, data in fields:
        section += (write_unsigned_varint(tag), write_unsigned_varint(len(data)), data)
    return b"".join(section)
