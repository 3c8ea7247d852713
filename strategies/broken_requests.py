"""Requests that are wrong on purpose, as their `broken` attribute says.

Some releases allocate as many bytes as a size announces before they check it. Announced sizes are therefore
small, or so large that they are refused before anything is allocated.
"""

from __future__ import annotations

from hypothesis import strategies as st

from strategies.api_versions import FLEXIBLE_VERSIONS, build_request
from strategies.field_values import FIRST_TWO_BYTE_SIZE, legal_software_texts
from strategies.odd_frames import build_with_size
from strategies.weights import one_branch
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import TAG_SECTION
from wire.exchange import Request, encode_request
from wire.frames import SIZE_BYTES, SOCKET_REQUEST_MAX_BYTES, encode_frame
from wire.header_versions import PLAIN_REQUEST_HEADER
from wire.plain_header import PLAIN_BODY, PLAIN_CLIENT_ID, PLAIN_CORRELATION_ID, plain_header
from wire.primitives import (
    INT32_MAX,
    INT32_MIN,
    write_compact_nullable_string,
    write_unsigned_varint,
)

MAX_HARMLESS_SIZE = 65536
COMPACT_CLIENT_ID = "compact client id"
"""The text in `broken` of a request whose client id has a compact length."""
MAX_COMPACT_CLIENT_ID = 300
UNASSIGNED_KEYS = range(2000, 10000)
"""Unassigned keys: Kafka's are smaller, and those of vendors are larger (grepplabs/kafka-proxy#185)."""
UNKNOWN_KEYS = st.integers(min(UNASSIGNED_KEYS), max(UNASSIGNED_KEYS)) | st.integers(-32768, -1)

_POSITIONS = st.integers(0, 9999)
"""Positions in ten-thousandths of a payload. Unlike floats, they shrink to the first byte that matters."""


def _at(position: int, count: int) -> int:
    """Return the index, below `count`, that a position stands for."""
    return position * count // 10000


def _tag_section(count: int, tag: int, size: int, data: bytes) -> bytes:
    return b"".join((*map(write_unsigned_varint, (count, tag, size)), data))


def _tag_counts(first: int) -> st.SearchStrategy[int]:
    """Tag counts from `first` up; those that are too high by little are drawn often."""
    return st.integers(first, first + 2) | st.integers(first, INT32_MAX)


def _overrunning_sections() -> st.SearchStrategy[bytes]:
    """Tag sections with fewer fields than their count, or a field shorter than its size."""
    too_many = st.builds(
        lambda count, data: _tag_section(count, 1, len(data), data),
        _tag_counts(2),
        st.binary(max_size=8),
    )
    too_long = st.builds(
        lambda data, surplus: _tag_section(1, 1, len(data) + surplus, data),
        st.binary(max_size=8),
        st.integers(40, MAX_HARMLESS_SIZE),
    )
    none_there = _tag_counts(1).map(write_unsigned_varint)
    return too_many | too_long | none_there


def build_with_body_tag_section(version: int, section: bytes) -> Request:
    """Return a request whose body ends with these bytes instead of its tag section."""
    return encode_request(
        plain_header(API_VERSIONS_KEY, version),
        PLAIN_BODY,
        raw_body={TAG_SECTION: section},
        broken="the body's tag section reaches beyond the frame",
    )


def requests_with_tag_overrun() -> st.SearchStrategy[Request]:
    """Flexible requests whose tag section in the header or body reaches beyond the frame."""
    in_body = st.builds(build_with_body_tag_section, FLEXIBLE_VERSIONS, _overrunning_sections())
    # The body is empty, so that none of its bytes can be mistaken for the missing tags.
    in_header = st.builds(
        lambda version, section: encode_request(
            plain_header(API_VERSIONS_KEY, version),
            b"",
            raw_header={TAG_SECTION: section},
            broken="the header's tag section reaches beyond the frame",
        ),
        FLEXIBLE_VERSIONS,
        _overrunning_sections(),
    )
    return in_body | in_header


def build_with_old_header(version: int, client_id: str | None = PLAIN_CLIENT_ID) -> Request:
    """Return a request in a flexible version with header v1."""
    return encode_request(
        plain_header(API_VERSIONS_KEY, version, client_id=client_id),
        PLAIN_BODY,
        header_version=PLAIN_REQUEST_HEADER,
        broken="header v1 on a flexible version",
    )


def flexible_requests_with_old_header() -> st.SearchStrategy[Request]:
    """Requests in a flexible version whose header has no tag section.

    The client id is never empty: its length of two zero bytes would also parse as a compact null without tags.
    """
    return st.builds(
        build_with_old_header,
        FLEXIBLE_VERSIONS,
        st.none() | st.text(st.sampled_from("abc-"), min_size=1, max_size=20),
    )


def build_with_compact_client_id(version: int, client_id: str = PLAIN_CLIENT_ID) -> Request:
    """Return a flexible request whose client id has a compact length."""
    return encode_request(
        plain_header(API_VERSIONS_KEY, version, client_id=client_id),
        PLAIN_BODY,
        raw_header={"client_id": write_compact_nullable_string(client_id)},
        broken=COMPACT_CLIENT_ID,
    )


def requests_with_compact_client_id() -> st.SearchStrategy[Request]:
    """Flexible requests whose client id has a compact length, which no header version uses.

    The client id is never null: a compact null without tags would also parse as an old header's empty client id. It has
    at most `MAX_COMPACT_CLIENT_ID` bytes: a compact length of two bytes parses as a negative length, which means
    null, and the following characters as at least 45 tags of at least 45 bytes. The frame must be too short for those.
    """
    letters = st.sampled_from("abc-")
    two_byte_lengths = st.integers(FIRST_TWO_BYTE_SIZE - 1, MAX_COMPACT_CLIENT_ID)
    long = st.builds(lambda letter, count: letter * count, letters, two_byte_lengths)
    return st.builds(
        build_with_compact_client_id,
        FLEXIBLE_VERSIONS,
        st.text(letters, max_size=60) | long,
    )


def build_with_null_name(
    version: int, field: str, other: str = "a", *, correlation_id: int = PLAIN_CORRELATION_ID
) -> Request:
    """Return a request in which `field` is null, and the other of name and version is `other`."""
    body = ApiVersionsRequest(client_software_name=other, client_software_version=other)
    null = {field: write_unsigned_varint(0)}
    header = plain_header(API_VERSIONS_KEY, version, correlation_id)
    return encode_request(header, body, raw_body=null, broken=f"null {field}")


def requests_with_null_name() -> st.SearchStrategy[Request]:
    """Requests whose client software name or version is null; neither is nullable."""
    return st.builds(
        build_with_null_name,
        FLEXIBLE_VERSIONS,
        st.sampled_from(("client_software_name", "client_software_version")),
        legal_software_texts(),
    )


def build_truncated(version: int, kept: int) -> Request:
    """Return a complete frame with the first `kept` bytes of a plain request's payload."""
    plain = build_request(version=version)
    payload = plain.data[SIZE_BYTES:]
    return Request(
        data=encode_frame(payload[:kept]),
        header=plain.header,
        broken=f"cut after {kept} of {len(payload)} bytes",
    )


def truncated_requests() -> st.SearchStrategy[Request]:
    """Complete frames of any version, served or not, whose payload ends somewhere inside the header or body."""

    def cut(version: int, position: int) -> Request:
        size = len(build_request(version=version).data) - SIZE_BYTES
        return build_truncated(version, _at(position, size))

    return st.builds(cut, FLEXIBLE_VERSIONS | st.integers(0, NEWEST_VERSION + 1), _POSITIONS)


def requests_for_unknown_apis() -> st.SearchStrategy[Request]:
    """Requests with an api key that no release and no vendor uses."""

    def build(api_key: int, api_version: int, body: bytes) -> Request:
        header = plain_header(api_key, api_version, client_id="")
        return encode_request(
            header,
            body,
            header_version=PLAIN_REQUEST_HEADER,
            broken=f"unknown api key {api_key}",
        )

    return st.builds(build, UNKNOWN_KEYS, st.integers(0, 5), st.binary(max_size=20))


def never_served_requests() -> st.SearchStrategy[Request]:
    """Complete ApiVersions frames that no broker can serve.

    They are the kinds of this module except wrong sizes and mutations.
    """
    return st.one_of(
        truncated_requests(),
        requests_with_null_name(),
        one_branch(requests_with_tag_overrun()),
        requests_with_compact_client_id(),
        flexible_requests_with_old_header(),
    )


def malformed_requests() -> st.SearchStrategy[Request]:
    """The same, and requests of APIs that no release has."""
    return one_branch(never_served_requests() | requests_for_unknown_apis())


def frames_with_wrong_size() -> st.SearchStrategy[Request]:
    """Bytes whose size prefix is negative, above every limit, or more than what follows."""
    right_size = len(build_request(version=0).data) - SIZE_BYTES
    sizes = st.one_of(
        st.integers(INT32_MIN, -1),
        st.integers(SOCKET_REQUEST_MAX_BYTES + 1, INT32_MAX),
        st.integers(right_size + 1, MAX_HARMLESS_SIZE),
    )
    return sizes.map(build_with_size)


def mutated(plain: st.SearchStrategy[Request]) -> st.SearchStrategy[Request]:
    """Requests with a few bytes of the payload replaced, inserted or removed.

    The api key remains that of ApiVersions, so that no mutation becomes a request that changes the broker.
    """
    key_bytes = 2

    def mutate(plain: Request, position: int, removed: int, added: bytes) -> Request:
        payload = plain.data[SIZE_BYTES:]
        if len(payload) < key_bytes:
            return plain
        start = key_bytes + _at(position, len(payload) - key_bytes + 1)
        removed = min(removed, len(payload) - start)
        changed = payload[:start] + added + payload[start + removed :]
        what = f"{removed} bytes at {start} replaced by {added.hex() or 'nothing'}"
        return Request(
            data=encode_frame(changed),
            header=plain.header,
            broken=f"{plain.broken}; {what}" if plain.broken else what,
        )

    return st.builds(mutate, plain, _POSITIONS, st.integers(0, 4), st.binary(max_size=4))


def mutated_requests() -> st.SearchStrategy[Request]:
    """Plain ApiVersions requests with a few bytes of the payload replaced, inserted or removed."""
    versions = st.integers(0, NEWEST_VERSION + 1)
    return mutated(versions.map(lambda version: build_request(version=version)))
