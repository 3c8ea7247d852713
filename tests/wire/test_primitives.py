"""Tests of the primitive types: literal bytes, decoder contract, wrong bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.wire.decoder_contract import Decoder, attempt, contract_breaches
from tests.wire.generated_messages import TEXT
from tests.wire.golden_bytes import load_vectors
from wire import primitives
from wire.errors import (
    BufferUnderflow,
    DecodeError,
    DuplicateTag,
    EncodeError,
    InvalidBoolean,
    InvalidUtf8,
    NegativeLength,
    VarintTooLong,
)
from wire.primitives import UINT32_MAX, RawTaggedField, TaggedField


class Primitive(NamedTuple):
    """A primitive type by the name in its reader and writer, a strategy for its values, and literal encodings."""

    name: str
    values: st.SearchStrategy[Any]
    literals: tuple[tuple[Any, str], ...]

    @property
    def read(self) -> Decoder:
        """Its reader."""
        reader: Decoder = getattr(primitives, f"read_{self.name}")
        return reader

    @property
    def write(self) -> Callable[[Any], bytes]:
        """Its writer."""
        writer: Callable[[Any], bytes] = getattr(primitives, f"write_{self.name}")
        return writer


def _signed(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


TEXTS = st.none() | TEXT
BYTES = st.none() | st.binary(max_size=20)
VARINTS = tuple((each["value"], each["hex"]) for each in load_vectors("kafka-clients-4.4.0.json")["unsigned_varints"])
AN_ID = UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")
PRIMITIVES = (
    Primitive("int8", _signed(8), ((-128, "80"), (127, "7f"), (-1, "ff"))),
    Primitive("int16", _signed(16), ((-(2**15), "8000"), (2**15 - 1, "7fff"), (258, "0102"))),
    Primitive(
        "int32",
        _signed(32),
        ((-(2**31), "80000000"), (2**31 - 1, "7fffffff"), (16909060, "01020304")),
    ),
    Primitive(
        "int64",
        _signed(64),
        ((-(2**63), "80" + 7 * "00"), (2**63 - 1, "7f" + 7 * "ff"), (1, 7 * "00" + "01")),
    ),
    Primitive("uint16", st.integers(0, 2**16 - 1), ((2**16 - 1, "ffff"),)),
    Primitive("uint32", st.integers(0, UINT32_MAX), ((UINT32_MAX, "ffffffff"),)),
    Primitive("float64", st.floats(allow_nan=False), ((1.5, "3ff8000000000000"),)),
    Primitive("boolean", st.booleans(), ((False, "00"), (True, "01"))),
    Primitive("uuid", st.uuids(), ((AN_ID, "000102030405060708090a0b0c0d0e0f"),)),
    Primitive("unsigned_varint", st.integers(0, 300) | st.integers(0, UINT32_MAX), VARINTS),
    Primitive(
        "nullable_string",
        TEXTS,
        (
            (None, "ffff"),
            ("", "0000"),
            ("a\u20ac\U0001d11e", "000861e282acf09d849e"),
            ("\0", "000100"),
        ),
    ),
    Primitive(
        "compact_nullable_string",
        TEXTS,
        ((None, "00"), ("", "01"), ("\u00fc", "03c3bc"), ("n" * 127, "8001" + 127 * "6e")),
    ),
    Primitive("nullable_bytes", BYTES, ((b"ab", "000000026162"), (None, "ffffffff"))),
    Primitive("compact_nullable_bytes", BYTES, ((b"ab", "036162"), (None, "00"))),
    Primitive("struct_presence", st.sampled_from((True, None)), ((True, "01"), (None, "ff"))),
    Primitive(
        "array_length",
        st.none() | st.integers(0, 2**31 - 1),
        ((None, "ffffffff"), (0, "00000000"), (258, "00000102")),
    ),
    Primitive(
        "compact_array_length",
        st.none() | st.integers(0, UINT32_MAX - 1),
        ((None, "00"), (0, "01"), (127, "8001"), (UINT32_MAX - 1, "ffffffff0f")),
    ),
)
EACH_PRIMITIVE = pytest.mark.parametrize("primitive", PRIMITIVES, ids=lambda each: each.name)


@EACH_PRIMITIVE
@given(data=st.data())
def test_reader_keeps_the_decoder_contract(primitive: Primitive, data: st.DataObject) -> None:
    """A reader returns what the writer wrote, and refuses any part of it."""
    value = data.draw(primitive.values)
    assert contract_breaches(primitive.read, primitive.write(value), value) == []


@pytest.mark.parametrize(
    ("primitive", "value", "encoded"),
    [
        pytest.param(each, value, encoded, id=f"{each.name}-{encoded[:12]}")
        for each in PRIMITIVES
        for value, encoded in each.literals
    ],
)
def test_value_has_its_literal_bytes(primitive: Primitive, value: Any, encoded: str) -> None:
    """A value is encoded to, and decoded from, the bytes written out here."""
    assert primitive.write(value).hex() == encoded
    assert contract_breaches(primitive.read, bytes.fromhex(encoded), value) == []


@EACH_PRIMITIVE
@given(data=st.binary(max_size=12), offset=st.integers(0, 3))
def test_reader_blames_only_bytes_that_it_read(primitive: Primitive, data: bytes, offset: int) -> None:
    """A reader of arbitrary bytes returns a value within them or blames bytes within them."""
    offset = min(offset, len(data))
    outcome = attempt(primitive.read, data, offset)
    if isinstance(outcome, DecodeError):
        assert offset <= outcome.start <= outcome.end <= len(data)
        assert outcome.field_path == ""
    else:
        assert offset < outcome[1] <= len(data)


REFUSED = (
    ("boolean-2", primitives.read_boolean, "02", InvalidBoolean, 0, 1),
    ("boolean-negative", primitives.read_boolean, "ff", InvalidBoolean, 0, 1),
    ("int64-cut", primitives.read_int64, "00000000000000", BufferUnderflow, 0, 7),
    ("uuid-cut", primitives.read_uuid, 15 * "00", BufferUnderflow, 0, 15),
    ("varint-empty", primitives.read_unsigned_varint, "", BufferUnderflow, 0, 0),
    ("varint-cut", primitives.read_unsigned_varint, "80808080", BufferUnderflow, 0, 4),
    ("varint-33-bits", primitives.read_unsigned_varint, "8080808010", VarintTooLong, 0, 5),
    ("varint-35-bits", primitives.read_unsigned_varint, "808080807000", VarintTooLong, 0, 5),
    ("varint-six-bytes", primitives.read_unsigned_varint, "808080808000", VarintTooLong, 0, 5),
    ("string-minus-2", primitives.read_nullable_string, "fffe", NegativeLength, 0, 2),
    ("string-minimum", primitives.read_nullable_string, "80000000", NegativeLength, 0, 2),
    ("string-cut", primitives.read_nullable_string, "000361", BufferUnderflow, 2, 3),
    ("string-not-utf8", primitives.read_nullable_string, "000361ff62", InvalidUtf8, 3, 4),
    ("string-overlong", primitives.read_nullable_string, "0002c080", InvalidUtf8, 2, 3),
    ("string-surrogate", primitives.read_nullable_string, "0003eda080", InvalidUtf8, 2, 3),
    ("string-cut-character", primitives.read_nullable_string, "000361e282", InvalidUtf8, 3, 5),
    ("compact-cut", primitives.read_compact_nullable_string, "0461", BufferUnderflow, 1, 2),
    ("compact-not-utf8", primitives.read_compact_nullable_string, "0461f862", InvalidUtf8, 2, 3),
    ("compact-huge", primitives.read_compact_nullable_string, "ffffffff0f", BufferUnderflow, 5, 5),
    ("bytes-minus-2", primitives.read_nullable_bytes, "fffffffe", NegativeLength, 0, 4),
    ("struct-0", primitives.read_struct_presence, "00", InvalidBoolean, 0, 1),
    ("struct-2", primitives.read_struct_presence, "02", InvalidBoolean, 0, 1),
    ("array-minus-2", primitives.read_array_length, "fffffffe", NegativeLength, 0, 4),
    ("array-minimum", primitives.read_array_length, "80000000", NegativeLength, 0, 4),
    ("tags-cut-count", primitives.read_raw_tagged_fields, "80", BufferUnderflow, 0, 1),
    ("tags-missing", primitives.read_raw_tagged_fields, "ffffffff0f", BufferUnderflow, 5, 5),
    ("tags-no-size", primitives.read_raw_tagged_fields, "0105", BufferUnderflow, 2, 2),
    ("tags-cut-data", primitives.read_raw_tagged_fields, "01050200", BufferUnderflow, 3, 4),
    ("tags-twice", primitives.read_raw_tagged_fields, "03050007000500", DuplicateTag, 5, 6),
    ("tags-twice-long", primitives.read_raw_tagged_fields, "02050085000000", DuplicateTag, 3, 5),
)


@pytest.mark.parametrize(
    ("read", "data", "kind", "start", "end"),
    [pytest.param(*each, id=name) for name, *each in REFUSED],
)
def test_wrong_bytes_are_blamed_exactly(
    read: Decoder, data: str, kind: type[DecodeError], start: int, end: int
) -> None:
    """An error of the right kind names the bytes to blame, wherever the value begins."""
    for before in (b"", b"\x01\x02\x03"):
        with pytest.raises(DecodeError) as caught:
            read(memoryview(before + bytes.fromhex(data)), len(before))
        assert type(caught.value) is kind
        assert (caught.value.start, caught.value.end) == (len(before) + start, len(before) + end)


@pytest.mark.parametrize(
    ("read", "data", "problem"),
    [
        pytest.param(primitives.read_int64, "ffffff", "8 bytes expected, 2 left", id="number"),
        pytest.param(primitives.read_uuid, "ffffff", "16 bytes expected, 2 left", id="bytes"),
        pytest.param(primitives.read_nullable_string, "fffff0", "string length -16", id="length"),
    ],
)
def test_sentence_of_an_error_has_the_figures(read: Decoder, data: str, problem: str) -> None:
    """The message says how many bytes were expected and are left, or the wrong length."""
    with pytest.raises(DecodeError) as caught:
        read(memoryview(bytes.fromhex(data)), 1)
    assert caught.value.problem == problem


@pytest.mark.parametrize(
    ("write", "value"),
    [
        pytest.param(primitives.write_int8, 128, id="int8-above"),
        pytest.param(primitives.write_int8, -129, id="int8-below"),
        pytest.param(primitives.write_int16, 2**15, id="int16-above"),
        pytest.param(primitives.write_int32, -(2**31) - 1, id="int32-below"),
        pytest.param(primitives.write_int64, 2**63, id="int64-above"),
        pytest.param(primitives.write_int32, 1.5, id="int32-fraction"),
        pytest.param(primitives.write_uint16, -1, id="uint16-below"),
        pytest.param(primitives.write_uint32, -1, id="uint32-below"),
        pytest.param(primitives.write_unsigned_varint, -1, id="varint-negative"),
        pytest.param(primitives.write_unsigned_varint, 2**32, id="varint-above"),
        pytest.param(primitives.write_nullable_string, "n" * 32768, id="string-too-long"),
        pytest.param(primitives.write_nullable_string, "\ud800", id="string-surrogate"),
        pytest.param(primitives.write_compact_nullable_string, "n" * 32768, id="compact-too-long"),
        pytest.param(primitives.write_compact_nullable_string, "\ud800", id="compact-surrogate"),
        pytest.param(primitives.write_array_length, 2**31, id="array-above"),
        pytest.param(primitives.write_array_length, -1, id="array-negative"),
        pytest.param(primitives.write_compact_array_length, 2**32 - 1, id="compact-array-above"),
        pytest.param(primitives.write_compact_array_length, -1, id="compact-array-negative"),
    ],
)
def test_value_that_does_not_fit_is_refused(write: Callable[[Any], bytes], value: Any) -> None:
    """A writer refuses what its type cannot hold."""
    with pytest.raises(EncodeError):
        write(value)


def test_longest_string_fits() -> None:
    """A string of 32767 bytes is written and read in both forms."""
    text = "n" * 32767
    plain = primitives.write_nullable_string(text)
    compact = primitives.write_compact_nullable_string(text)
    assert plain[:2].hex() == "7fff"
    assert compact[:3].hex() == "808002"
    assert primitives.read_nullable_string(memoryview(plain), 0) == (text, 32769)
    assert primitives.read_compact_nullable_string(memoryview(compact), 0) == (text, 32770)


@given(value=st.integers(0, UINT32_MAX), size=st.integers(2, 5))
def test_padded_varint_reads_as_its_value(value: int, size: int) -> None:
    """A varint that is longer than needed has the requested size and reads as the same value."""
    value %= 1 << 7 * size
    padded = primitives.write_long_unsigned_varint(value, size)
    assert len(padded) == size
    assert contract_breaches(primitives.read_unsigned_varint, padded, value) == []


@pytest.mark.parametrize(("value", "size", "encoded"), [(0, 2, "8000"), (4, 5, "8480808000"), (16383, 2, "ff7f")])
def test_padded_varint_has_its_literal_bytes(value: int, size: int, encoded: str) -> None:
    """A padded varint is written as the bytes written out here."""
    assert primitives.write_long_unsigned_varint(value, size).hex() == encoded


@pytest.mark.parametrize(("value", "size"), [(128 * 128, 2), (-1, 5)])
def test_padded_varint_that_is_too_short_is_refused(value: int, size: int) -> None:
    """A padded varint refuses a value that does not fit its size."""
    with pytest.raises(EncodeError):
        primitives.write_long_unsigned_varint(value, size)


def _section_breaches(section: bytes, fields: tuple[RawTaggedField, ...]) -> list[str]:
    """Check the decoder contract on a tag section, with offsets relative to its start."""

    def read(data: memoryview, offset: int) -> tuple[tuple[RawTaggedField, ...], int]:
        found, end = primitives.read_raw_tagged_fields(data, offset)
        moved = (RawTaggedField(each.tag, *(at - offset for at in each[1:])) for each in found)
        return tuple(moved), end

    return contract_breaches(read, section, fields)


def test_tag_section_names_where_each_field_stands() -> None:
    """A tag section is read without interpretation, in the order of its fields."""
    section = bytes.fromhex("03 05 02 abcd 8001 00 00 01 ff")
    fields = (
        RawTaggedField(tag=5, offset=1, start=3, end=5),
        RawTaggedField(tag=128, offset=5, start=8, end=8),
        RawTaggedField(tag=0, offset=8, start=10, end=11),
    )
    assert _section_breaches(section, fields) == []


@given(
    st.dictionaries(st.integers(0, UINT32_MAX), st.binary(max_size=6), max_size=4).map(
        lambda fields: tuple(TaggedField(*each) for each in fields.items())
    )
)
@example(())
@example((TaggedField(UINT32_MAX, b"\x00" * 200), TaggedField(0, b"")))
def test_tag_section_keeps_order_and_data(fields: tuple[TaggedField, ...]) -> None:
    """A tag section is written in the given order and read back with the same data."""
    section = primitives.write_raw_tagged_fields(fields)
    found, end = primitives.read_raw_tagged_fields(memoryview(section), 0)
    assert tuple(TaggedField(each.tag, section[each.start : each.end]) for each in found) == fields
    assert end == len(section)
    assert _section_breaches(section, found) == []
