"""Requests that the sources neither describe nor clearly forbid.

Apache Kafka parses them in its own way.

A varint, the order of tags, a string of the body or the client id may be odd, and version, header and body may belong
to different versions. The `broken` attribute says what is odd about each. Whether a release serves it is pinned per
release, or predicted by the reference model.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from hypothesis import strategies as st

from strategies.api_versions import FLEXIBLE_VERSIONS, api_versions_requests
from strategies.field_values import FIRST_TAG_NOBODY_KNOWS
from strategies.weights import one_branch
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import (
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
    NEWEST_VERSION,
    ApiVersionsRequest,
)
from wire.codec import TAG_SECTION, encode
from wire.exchange import Request, encode_request
from wire.header_versions import (
    FLEXIBLE_REQUEST_HEADER,
    INSTANCE_ID_REQUEST_HEADER,
    PLAIN_REQUEST_HEADER,
    request_header_version,
)
from wire.headers import NO_INSTANCE_ID
from wire.plain_header import PLAIN_BODY, PLAIN_CORRELATION_ID, plain_header
from wire.primitives import (
    INT16_MAX,
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


NAMES = ("client_software_name", "client_software_version")
CLUSTER_ID = "cluster_id"
MAX_BYTES = 60_000
_WITH_IDS = replace(
    PLAIN_BODY,
    # Next to a cluster id that is not null, a node id keeps the ids from being half given.
    cluster_id="a",
    node_id=7,
)
HEADER_VERSIONS = (PLAIN_REQUEST_HEADER, FLEXIBLE_REQUEST_HEADER, INSTANCE_ID_REQUEST_HEADER)
"""The versions of request headers, that of KIP-1313, a proposal, included."""


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
        lambda before, wrong, after: write_int16(len(before + wrong + after)) + before + wrong + after,
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
        lambda version, part, section: build_with_tag_section(version, part, section, broken="odd varint"),
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
    tags = st.lists(numbers, min_size=2, max_size=5).filter(lambda drawn: drawn != sorted(set(drawn)))
    return st.builds(build_with_tags, FLEXIBLE_VERSIONS, st.sampled_from(PARTS), tags.map(tuple))


ODD_LENGTH, BEYOND_THE_FRAME, TOO_LONG, NOT_TEXT = (
    "odd length of",
    "length beyond the frame of",
    "more than 32767 bytes of",
    "not UTF-8:",
)
"""The beginnings of `broken`."""


def build_with_string(version: int, field: str, data: bytes, *, broken: str, ids: bool = False) -> Request:
    """Return a flexible request in which one string of the body consists of these bytes, length included."""
    body = _WITH_IDS if ids and version >= FIRST_VERSION_WITH_CLUSTER_CHECK else PLAIN_BODY
    return encode_request(
        plain_header(API_VERSIONS_KEY, version),
        body,
        raw_body={field: data},
        broken=f"{broken} {field}",
    )


def _fields() -> st.SearchStrategy[tuple[int, str]]:
    """Versions with one of their strings: the names in each flexible version, the cluster id where there is one."""
    named = st.tuples(
        st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION),
        st.sampled_from(NAMES),
    )
    return named | st.tuples(st.integers(FIRST_VERSION_WITH_CLUSTER_CHECK, NEWEST_VERSION), st.just(CLUSTER_ID))


def _requests_with(data: st.SearchStrategy[bytes], broken: str) -> st.SearchStrategy[Request]:
    return st.builds(
        lambda versioned_field, drawn, ids: build_with_string(
            versioned_field[0], versioned_field[1], drawn, broken=broken, ids=ids
        ),
        _fields(),
        data,
        st.booleans(),
    )


def requests_with_odd_string_lengths() -> st.SearchStrategy[Request]:
    """Requests with an odd varint as the length of a string: too long a form, surplus bits, six bytes, or negative."""
    length_of_two = odd_varints(3).map(lambda varint: varint + b"1a")
    return _requests_with(length_of_two | odd_varints(0) | negative_varints(), ODD_LENGTH)


def compact_string(length: int, data: bytes) -> bytes:
    """Return a compact string that announces `length` bytes, whatever follows."""
    return write_unsigned_varint(length + 1) + data


def requests_with_string_overrun() -> st.SearchStrategy[Request]:
    """Requests with a string whose length reaches beyond the frame.

    Lengths next to 32767, the longest, are drawn often.
    """
    longest = st.sampled_from((INT16_MAX, INT16_MAX + 1))
    lengths = st.integers(60, 300) | longest | st.integers(60, 2 * INT16_MAX)
    announced = st.builds(compact_string, lengths, st.binary(max_size=4))
    return _requests_with(announced, BEYOND_THE_FRAME)


def requests_with_too_long_string() -> st.SearchStrategy[Request]:
    """Requests with a complete string of more than 32767 bytes; 32768 is drawn often."""
    lengths = st.just(INT16_MAX + 1) | st.integers(INT16_MAX + 1, MAX_BYTES)
    complete = st.builds(
        lambda length, letter: compact_string(length, letter * length),
        lengths,
        st.sampled_from((b"a", b"_")),
    )
    return _requests_with(complete, TOO_LONG)


def texts_that_are_not_utf_8() -> st.SearchStrategy[bytes]:
    """Compact strings whose bytes are not UTF-8: overlong forms, surrogates, cut or impossible characters."""
    around = st.text(st.sampled_from("abc019"), max_size=4).map(str.encode)
    return st.builds(
        # An ASCII byte follows, so that the wrong bytes never become part of a valid character.
        lambda before, wrong, after: compact_string(len(before + wrong + b"a" + after), before + wrong + b"a" + after),
        around,
        st.sampled_from(NOT_UTF_8),
        around,
    )


def requests_with_wrong_text() -> st.SearchStrategy[Request]:
    """Requests with a string that is not UTF-8."""
    return _requests_with(texts_that_are_not_utf_8(), NOT_TEXT)


def names_with_wrong_text() -> st.SearchStrategy[Request]:
    """Requests without ids whose software name or version is not UTF-8."""
    return st.builds(
        lambda version, field, data: build_with_string(version, field, data, broken=NOT_TEXT),
        st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION),
        st.sampled_from(NAMES),
        texts_that_are_not_utf_8(),
    )


def requests_with_odd_strings() -> st.SearchStrategy[Request]:
    """Requests with any of these odd strings."""
    return one_branch(
        st.one_of(
            requests_with_odd_string_lengths(),
            requests_with_string_overrun(),
            requests_with_too_long_string(),
            requests_with_wrong_text(),
        )
    )


def build_mixed(
    version: int,
    header_version: int,
    body_version: int,
    *,
    body: ApiVersionsRequest = PLAIN_BODY,
    instance_id: UUID = NO_INSTANCE_ID,
    correlation_id: int = PLAIN_CORRELATION_ID,
) -> Request:
    """Return a request with the header and the body of given versions."""
    # Header v3 is header v2 with an id before the tag section.
    has_id = header_version == INSTANCE_ID_REQUEST_HEADER
    return encode_request(
        plain_header(API_VERSIONS_KEY, version, correlation_id),
        encode(body, version=body_version),
        header_version=min(header_version, FLEXIBLE_REQUEST_HEADER),
        raw_header={TAG_SECTION: instance_id.bytes + b"\0"} if has_id else None,
        broken=f"v{version} with header v{header_version} and the body of v{body_version}",
    )


def _is_mixed(version: int, header_version: int, body_version: int) -> bool:
    """Return whether the three differ in more than a body that is the same in both versions."""
    own = header_version == request_header_version(API_VERSIONS_KEY, version)
    same_body = encode(PLAIN_BODY, version=body_version) == encode(PLAIN_BODY, version=min(version, NEWEST_VERSION))
    return not (own and same_body)


def requests_with_mixed_layouts() -> st.SearchStrategy[Request]:
    """Requests in v0 to v7 with header v1 to v3 and the body of v0 to v5, which do not all belong together."""
    triples = st.tuples(
        st.integers(0, NEWEST_VERSION + 2),
        st.sampled_from(HEADER_VERSIONS),
        st.integers(0, NEWEST_VERSION),
    ).filter(lambda triple: _is_mixed(*triple))
    ids = st.just(NO_INSTANCE_ID) | st.integers(0, 2**128 - 1).map(lambda value: UUID(int=value))
    return st.builds(lambda triple, instance_id: build_mixed(*triple, instance_id=instance_id), triples, ids)


def requests_with_any_body() -> st.SearchStrategy[Request]:
    """Requests in a flexible version with a sound header and any bytes as the body, short strings and counts often."""
    small_numbers = st.lists(st.integers(0, 6), max_size=24).map(bytes)
    # Without a least size, long ones are hardly ever drawn.
    any_bytes = one_branch(st.binary(max_size=60) | st.binary(min_size=30, max_size=60))
    return api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION, bodies=any_bytes | small_numbers)


def odd_requests() -> st.SearchStrategy[Request]:
    """Requests that releases parse in their own ways.

    Varints, strings or tags are odd, or layouts do not fit together.
    """
    return one_branch(
        st.one_of(
            requests_with_odd_varints(),
            requests_with_tags_out_of_order(),
            requests_with_odd_strings(),
            one_branch(requests_with_mixed_layouts()),
        )
    )
