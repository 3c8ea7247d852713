"""Bytes, wide numbers and the byte before a nullable struct."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.decoder_contract import Decoder, attempt, contract_breaches
from wire import primitives
from wire.errors import EncodeError, InvalidBoolean, NegativeLength

WRITTEN: tuple[tuple[Decoder, Any, Any, str], ...] = (
    (primitives.read_uint16, primitives.write_uint16, 65535, "ffff"),
    (primitives.read_uint32, primitives.write_uint32, 2**32 - 1, "ffffffff"),
    (primitives.read_float64, primitives.write_float64, 1.5, "3ff8000000000000"),
    (primitives.read_nullable_bytes, primitives.write_nullable_bytes, b"ab", "000000026162"),
    (primitives.read_nullable_bytes, primitives.write_nullable_bytes, None, "ffffffff"),
    (
        primitives.read_compact_nullable_bytes,
        primitives.write_compact_nullable_bytes,
        b"ab",
        "036162",
    ),
    (
        primitives.read_compact_nullable_bytes,
        primitives.write_compact_nullable_bytes,
        None,
        "00",
    ),
    (primitives.read_struct_presence, primitives.write_struct_presence, True, "01"),
    (primitives.read_struct_presence, primitives.write_struct_presence, None, "ff"),
)


@pytest.mark.parametrize(("read", "write", "value", "written"), WRITTEN)
def test_value_has_one_form(read: Decoder, write: Any, value: Any, written: str) -> None:
    """A value is encoded as in the protocol guide, and no other bytes decode to it."""
    encoded = bytes.fromhex(written)
    assert write(value) == encoded
    assert contract_breaches(read, encoded, value) == []


@pytest.mark.parametrize(
    ("read", "data", "error"),
    [
        (primitives.read_nullable_bytes, b"\xff\xff\xff\xfe", NegativeLength),
        (primitives.read_struct_presence, b"\x00", InvalidBoolean),
        (primitives.read_struct_presence, b"\x02", InvalidBoolean),
    ],
)
def test_other_bytes_are_refused(read: Decoder, data: bytes, error: type[Exception]) -> None:
    """A length below -1, and a wrong byte before a struct, raise a typed error."""
    assert isinstance(attempt(read, data), error)


@pytest.mark.parametrize("write", [primitives.write_uint16, primitives.write_uint32])
def test_negative_numbers_do_not_fit(write: Any) -> None:
    """Unsigned types refuse negative numbers."""
    with pytest.raises(EncodeError):
        write(-1)
