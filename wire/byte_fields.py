"""Types that no ApiVersions message uses: bytes, records and the presence byte of a nullable struct.

The rules are those of `wire.primitives`. Records are read as plain bytes, because nothing here parses them.
"""

from __future__ import annotations

from wire.errors import InvalidBoolean, NegativeLength
from wire.primitives import (
    read_bytes,
    read_int8,
    read_int32,
    read_unsigned_varint,
    write_int8,
    write_int32,
    write_unsigned_varint,
)


def read_nullable_bytes(data: memoryview, offset: int) -> tuple[bytes | None, int]:
    """Read an int32 length and that many bytes; length -1 is null.

    Raises:
        NegativeLength: the length is below -1.
    """
    length, start = read_int32(data, offset)
    if length == -1:
        return None, start
    if length < 0:
        raise NegativeLength(f"bytes length {length}", start=offset, end=start)
    raw, end = read_bytes(data, start, length)
    return bytes(raw), end


def write_nullable_bytes(value: bytes | None) -> bytes:
    """Write an int32 length and the bytes; null is length -1."""
    return write_int32(-1) if value is None else write_int32(len(value)) + value


def read_compact_nullable_bytes(data: memoryview, offset: int) -> tuple[bytes | None, int]:
    """Read a varint holding the length plus one, then that many bytes; varint 0 is null."""
    length_plus_one, start = read_unsigned_varint(data, offset)
    if length_plus_one == 0:
        return None, start
    raw, end = read_bytes(data, start, length_plus_one - 1)
    return bytes(raw), end


def write_compact_nullable_bytes(value: bytes | None) -> bytes:
    """Write a varint holding the length plus one, then the bytes; null is varint 0."""
    return (
        write_unsigned_varint(0) if value is None else write_unsigned_varint(len(value) + 1) + value
    )


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
