"""The contract check itself: it detects a decoder that breaks the contract."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.decoder_contract import Decoder, contract_breaches
from wire.errors import BufferUnderflow, NegativeLength
from wire.primitives import read_int16


def _ignores_the_offset(data: memoryview, offset: int) -> tuple[int, int]:
    return read_int16(data, 0)[0], offset + 2


def _ends_one_early(data: memoryview, offset: int) -> tuple[int, int]:
    value, end = read_int16(data, offset)
    return value, end - 1


def _accepts_a_part(data: memoryview, offset: int) -> tuple[int, int]:
    return int.from_bytes(data[offset : offset + 2].tobytes().ljust(2, b"\x07")), offset + 2


def _calls_the_end_negative(data: memoryview, offset: int) -> tuple[int, int]:
    if len(data) < offset + 2:
        raise NegativeLength("not really", start=offset, end=len(data))
    return read_int16(data, offset)


def _blames_after_the_end(data: memoryview, offset: int) -> tuple[int, int]:
    if len(data) < offset + 2:
        raise BufferUnderflow("too far", start=offset, end=offset + 2)
    return read_int16(data, offset)


def _refuses_trailing_bytes(data: memoryview, offset: int) -> tuple[int, int]:
    if len(data) > offset + 2:
        raise NegativeLength("too much", start=offset, end=len(data))
    return read_int16(data, offset)


def _reads_another_value(data: memoryview, offset: int) -> tuple[Any, int]:
    value, end = read_int16(data, offset)
    return value + 1, end


@pytest.mark.parametrize(
    ("decoder", "breach"),
    [
        pytest.param(_ignores_the_offset, "is not 1800", id="offset"),
        pytest.param(_ends_one_early, "ends at 1, not at 2", id="end"),
        pytest.param(_accepts_a_part, "prefix of 1: (1799, 2) is no underflow", id="part"),
        pytest.param(_calls_the_end_negative, "prefix of 0: NegativeLength", id="kind"),
        pytest.param(_blames_after_the_end, "prefix of 1: blames 0 to 2", id="blame"),
        pytest.param(_refuses_trailing_bytes, "between 0 and 4 other bytes", id="trailing"),
        pytest.param(_reads_another_value, "1801 is not 1800", id="value"),
    ],
)
def test_broken_decoder_is_found_out(decoder: Decoder, breach: str) -> None:
    """Each way to break the contract is reported."""
    assert breach in "\n".join(contract_breaches(decoder, b"\x07\x08", 1800))


def test_right_decoder_breaks_nothing() -> None:
    """A decoder that keeps the contract causes no report."""
    assert contract_breaches(read_int16, b"\x07\x08", 1800) == []
