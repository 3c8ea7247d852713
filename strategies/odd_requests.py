"""Requests that the sources neither describe nor clearly forbid, and that Apache Kafka parses in its own way.

The `broken` attribute says what is odd about each. Whether a release serves it is pinned per release.
"""

from __future__ import annotations

from hypothesis import strategies as st

from strategies.api_versions import FLEXIBLE_VERSIONS
from strategies.header_fields import FIRST_TAG_NOBODY_KNOWS
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION
from wire.codec import TAG_SECTION
from wire.exchange import Request, encode_request
from wire.headers import PLAIN_BODY, plain_header
from wire.primitives import (
    INT16_MIN,
    VARINT_MAX_BYTES,
    TaggedField,
    write_int16,
    write_long_unsigned_varint,
    write_raw_tagged_fields,
    write_unsigned_varint,
)

PARTS = ("header", "body")
_METRIC_MARKS = b'\n"*,:=?'
"""Release 0.11 never answers if the client id contains one of these; a separate clause covers that."""
NOT_UTF_8 = (b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")
"""Bytes that are no UTF-8: impossible, cut off, overlong, a surrogate, and above the last character."""


def build_with_client_id_bytes(version: int, client_id: bytes) -> Request:
    """Return a request whose client id consists of these bytes, length included."""
    return encode_request(
        plain_header(API_VERSIONS_KEY, version),
        PLAIN_BODY,
        raw_header={"client_id": client_id},
        broken="odd client id",
    )


def build_with_tag_section(version: int, part: str, section: bytes, *, broken: str) -> Request:
    """Return a request whose tag section in the header or body consists of these bytes."""
    raw = {TAG_SECTION: section}
    return encode_request(
        plain_header(API_VERSIONS_KEY, version),
        PLAIN_BODY,
        raw_header=raw if part == "header" else None,
        raw_body=raw if part == "body" else None,
        broken=f"{broken} in the {part}",
    )


def negative_client_id_lengths() -> st.SearchStrategy[bytes]:
    """Encoded lengths below -1, which stands for null."""
    return st.integers(INT16_MIN, -2).map(write_int16)


def client_ids_that_are_not_utf_8() -> st.SearchStrategy[bytes]:
    """Encoded client ids, length included, whose bytes are not UTF-8."""
    around = st.binary(max_size=8).map(lambda data: data.translate(None, _METRIC_MARKS))
    return st.builds(
        lambda before, wrong, after: (
            write_int16(len(before + wrong + after)) + before + wrong + after
        ),
        around,
        st.sampled_from(NOT_UTF_8),
        # An ASCII byte follows, so that the wrong bytes never become part of a valid character.
        around.map(lambda data: b"a" + data),
    )


def requests_with_odd_client_id() -> st.SearchStrategy[Request]:
    """Requests with a client id length below -1, or with a client id that is not UTF-8."""
    return st.builds(
        build_with_client_id_bytes,
        st.integers(0, NEWEST_VERSION),
        negative_client_id_lengths() | client_ids_that_are_not_utf_8(),
    )


def long_varints(value: int) -> st.SearchStrategy[bytes]:
    """A value as a varint longer than necessary, up to the maximum of five bytes."""
    shortest = len(write_unsigned_varint(value))
    sizes = st.integers(shortest + 1, VARINT_MAX_BYTES)
    return sizes.map(lambda size: write_long_unsigned_varint(value, size))


def varints_with_bits_to_drop(value: int) -> st.SearchStrategy[bytes]:
    """A value as a varint of five bytes, the last of which has bits beyond the 32nd set."""
    five_bytes = write_long_unsigned_varint(value, VARINT_MAX_BYTES)
    surplus = st.integers(1, 7).map(lambda bits: bits << 4)
    return surplus.map(lambda bits: five_bytes[:-1] + bytes([five_bytes[-1] | bits]))


def six_byte_varints(value: int) -> st.SearchStrategy[bytes]:
    """A value as a varint of six bytes: the first five all have the continuation bit set."""
    five_bytes = write_long_unsigned_varint(value, VARINT_MAX_BYTES)
    last = st.sampled_from((b"\0", b"\x01"))
    return last.map(lambda byte: five_bytes[:-1] + bytes([five_bytes[-1] | 0x80]) + byte)


def negative_varints() -> st.SearchStrategy[bytes]:
    """Varints of values from 2**31 up, which are negative as a signed int32."""
    return st.integers(2**31, 2**32 - 1).map(write_unsigned_varint)


def odd_varints(value: int) -> st.SearchStrategy[bytes]:
    """A value as a varint that is longer than necessary, has surplus bits, or has six bytes."""
    return long_varints(value) | varints_with_bits_to_drop(value) | six_byte_varints(value)


def tag_sections_with_odd_varints() -> st.SearchStrategy[bytes]:
    """Tag sections in which one varint is odd: the count, a tag, or a size."""
    one, number, size = (write_unsigned_varint(value) for value in (1, FIRST_TAG_NOBODY_KNOWS, 2))
    return st.one_of(
        odd_varints(0),
        negative_varints(),
        odd_varints(1).map(lambda count: count + number + size + b"ab"),
        odd_varints(FIRST_TAG_NOBODY_KNOWS).map(lambda odd: one + odd + size + b"ab"),
        odd_varints(2).map(lambda odd: one + number + odd + b"ab"),
    )


def requests_with_odd_varints() -> st.SearchStrategy[Request]:
    """Flexible requests with an odd varint in the tag section of their header or body."""
    return st.builds(
        lambda version, part, section: build_with_tag_section(
            version, part, section, broken="odd varint"
        ),
        FLEXIBLE_VERSIONS,
        st.sampled_from(PARTS),
        tag_sections_with_odd_varints(),
    )


def build_with_tags(version: int, part: str, tags: tuple[int, ...]) -> Request:
    """Return a request with unknown tagged fields of one byte each, in this order, in its header or body."""
    section = write_raw_tagged_fields(tuple(TaggedField(tag, b"\0") for tag in tags))
    return build_with_tag_section(version, part, section, broken="tags out of order")


def requests_with_tags_out_of_order() -> st.SearchStrategy[Request]:
    """Flexible requests with a duplicate tag, or tags that do not ascend, in the header or body."""
    numbers = st.integers(FIRST_TAG_NOBODY_KNOWS, FIRST_TAG_NOBODY_KNOWS + 40)
    tags = st.lists(numbers, min_size=2, max_size=5).filter(
        lambda drawn: drawn != sorted(set(drawn))
    )
    return st.builds(build_with_tags, FLEXIBLE_VERSIONS, st.sampled_from(PARTS), tags.map(tuple))
