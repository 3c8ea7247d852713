"""Requests that the sources neither describe nor clearly forbid, and that Apache Kafka reads in its own way.

Each says in `broken` what is odd about it. Whether it is served is pinned, release by release.
"""

from __future__ import annotations

from hypothesis import strategies as st

from strategies.broken_requests import FLEXIBLE_VERSIONS
from strategies.header_fields import FIRST_TAG_NOBODY_KNOWS, PLAIN_CLIENT_ID
from strategies.software_names import PLAIN_SOFTWARE
from wire.api_versions import API_VERSIONS_KEY, NEWEST_VERSION, ApiVersionsRequest
from wire.codec import TAG_SECTION
from wire.exchange import Request, encode_request
from wire.headers import RequestHeader
from wire.primitives import (
    INT16_MAX,
    VARINT_MAX_BYTES,
    TaggedField,
    write_int16,
    write_long_unsigned_varint,
    write_raw_tagged_fields,
    write_unsigned_varint,
)

PLACES = ("header", "body")
_BODY = ApiVersionsRequest(
    client_software_name=PLAIN_SOFTWARE.name, client_software_version=PLAIN_SOFTWARE.version
)
_METRIC_MARKS = b'\n"*,:=?'
"""0.11 never answers a client id with one of these in it; that is a clause of its own."""
_NOT_UTF_8 = (b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80")


def build_with_client_id_bytes(version: int, client_id: bytes) -> Request:
    """Return a request whose client id, its length included, is these bytes."""
    return encode_request(
        _header(version), _BODY, raw_header={"client_id": client_id}, broken="odd client id"
    )


def build_with_tag_section(version: int, place: str, section: bytes, *, broken: str) -> Request:
    """Return a request whose tag section in header or body is these bytes."""
    raw = {TAG_SECTION: section}
    return encode_request(
        _header(version),
        _BODY,
        raw_header=raw if place == "header" else None,
        raw_body=raw if place == "body" else None,
        broken=f"{broken} in the {place}",
    )


def _header(version: int) -> RequestHeader:
    return RequestHeader(
        request_api_key=API_VERSIONS_KEY,
        request_api_version=version,
        correlation_id=7,
        client_id=PLAIN_CLIENT_ID,
    )


def negative_client_id_lengths() -> st.SearchStrategy[bytes]:
    """Lengths below -1, as bytes; -1 is null."""
    return st.integers(-INT16_MAX - 1, -2).map(write_int16)


def client_ids_that_are_not_utf_8() -> st.SearchStrategy[bytes]:
    """Client ids with their length, whose bytes are no UTF-8."""
    around = st.binary(max_size=8).map(lambda data: data.translate(None, _METRIC_MARKS))
    return st.builds(
        lambda before, wrong, behind: (
            write_int16(len(before + wrong + behind)) + before + wrong + behind
        ),
        around,
        st.sampled_from(_NOT_UTF_8),
        # A byte of ASCII behind it, so that the wrong bytes never become part of a character.
        around.map(lambda data: b"a" + data),
    )


def requests_with_odd_client_id() -> st.SearchStrategy[Request]:
    """Requests with a negative client id length, or with a client id that is no UTF-8."""
    return st.builds(
        build_with_client_id_bytes,
        st.integers(0, NEWEST_VERSION),
        negative_client_id_lengths() | client_ids_that_are_not_utf_8(),
    )


def long_varints(value: int) -> st.SearchStrategy[bytes]:
    """A value in more bytes than it needs, up to the five that a varint may have."""
    shortest = len(write_unsigned_varint(value))
    sizes = st.integers(shortest + 1, VARINT_MAX_BYTES)
    return sizes.map(lambda size: write_long_unsigned_varint(value, size))


def varints_with_bits_to_drop(value: int) -> st.SearchStrategy[bytes]:
    """A value in five bytes, the last of which has bits that no int32 has room for."""
    whole = write_long_unsigned_varint(value, VARINT_MAX_BYTES)
    surplus = st.integers(1, 7).map(lambda bits: bits << 4)
    return surplus.map(lambda bits: whole[:-1] + bytes([whole[-1] | bits]))


def six_byte_varints(value: int) -> st.SearchStrategy[bytes]:
    """A value in five bytes that all say that another one follows, and that one."""
    whole = write_long_unsigned_varint(value, VARINT_MAX_BYTES)
    last = st.sampled_from((b"\0", b"\x01"))
    return last.map(lambda byte: whole[:-1] + bytes([whole[-1] | 0x80]) + byte)


def negative_varints() -> st.SearchStrategy[bytes]:
    """Values from 2**31 on, which are negative as signed numbers."""
    return st.integers(2**31, 2**32 - 1).map(write_unsigned_varint)


def _odd_varints(value: int) -> st.SearchStrategy[bytes]:
    return long_varints(value) | varints_with_bits_to_drop(value) | six_byte_varints(value)


def tag_sections_with_odd_varints() -> st.SearchStrategy[bytes]:
    """Tag sections in which one varint is odd: the count, a tag's number, or its size."""
    one, number, size = (write_unsigned_varint(value) for value in (1, FIRST_TAG_NOBODY_KNOWS, 2))
    return st.one_of(
        _odd_varints(0),
        negative_varints(),
        _odd_varints(1).map(lambda count: count + number + size + b"ab"),
        _odd_varints(FIRST_TAG_NOBODY_KNOWS).map(lambda odd: one + odd + size + b"ab"),
        _odd_varints(2).map(lambda odd: one + number + odd + b"ab"),
    )


def requests_with_odd_varints() -> st.SearchStrategy[Request]:
    """Flexible requests with an odd varint in the tag section of their header or body."""
    return st.builds(
        lambda version, place, section: build_with_tag_section(
            version, place, section, broken="odd varint"
        ),
        FLEXIBLE_VERSIONS,
        st.sampled_from(PLACES),
        tag_sections_with_odd_varints(),
    )


def build_with_tags(version: int, place: str, tags: tuple[int, ...]) -> Request:
    """Return a request whose header or body has unknown tagged fields in this order, of one byte each."""
    section = write_raw_tagged_fields(tuple(TaggedField(tag, b"\0") for tag in tags))
    return build_with_tag_section(version, place, section, broken="tags out of order")


def requests_with_tags_out_of_order() -> st.SearchStrategy[Request]:
    """Flexible requests in whose header or body a tag stands twice, or tags do not ascend."""
    numbers = st.integers(FIRST_TAG_NOBODY_KNOWS, FIRST_TAG_NOBODY_KNOWS + 40)
    tags = st.lists(numbers, min_size=2, max_size=5).filter(
        lambda drawn: drawn != sorted(set(drawn))
    )
    return st.builds(build_with_tags, FLEXIBLE_VERSIONS, st.sampled_from(PLACES), tags.map(tuple))
