"""Requests whose version, header and body belong to different versions, and any bytes as the body of a served version."""

from __future__ import annotations

from uuid import UUID

from hypothesis import strategies as st

from strategies.api_versions import api_versions_requests, build_request
from strategies.weights import one_branch
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsRequest
from wire.codec import TAG_SECTION, encode
from wire.exchange import Request, encode_request
from wire.headers import (
    FLEXIBLE_REQUEST_HEADER,
    INSTANCE_ID_REQUEST_HEADER,
    NO_INSTANCE_ID,
    PLAIN_BODY,
    PLAIN_CORRELATION_ID,
    PLAIN_REQUEST_HEADER,
    request_header_version,
)

HEADER_VERSIONS = (PLAIN_REQUEST_HEADER, FLEXIBLE_REQUEST_HEADER, INSTANCE_ID_REQUEST_HEADER)
"""The versions of request headers, that of KIP-1313, a proposal, included."""


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
    header = build_request(version=version, correlation_id=correlation_id).header
    # Header v3 is header v2 with an id before the tag section.
    has_id = header_version == INSTANCE_ID_REQUEST_HEADER
    return encode_request(
        header,
        encode(body, version=body_version),
        header_version=min(header_version, FLEXIBLE_REQUEST_HEADER),
        raw_header={TAG_SECTION: instance_id.bytes + b"\0"} if has_id else None,
        broken=f"v{version} with header v{header_version} and the body of v{body_version}",
    )


def _is_mixed(version: int, header_version: int, body_version: int) -> bool:
    """Return whether the three differ in more than a body that is the same in both versions."""
    header = build_request(version=version).header
    own = header_version == request_header_version(header.request_api_key, version)
    same_body = encode(PLAIN_BODY, version=body_version) == encode(
        PLAIN_BODY, version=min(version, NEWEST_VERSION)
    )
    return not (own and same_body)


def requests_with_mixed_layouts() -> st.SearchStrategy[Request]:
    """Requests in v0 to v7 with header v1 to v3 and the body of v0 to v5, which do not all belong together."""
    triples = st.tuples(
        st.integers(0, NEWEST_VERSION + 2),
        st.sampled_from(HEADER_VERSIONS),
        st.integers(0, NEWEST_VERSION),
    ).filter(lambda triple: _is_mixed(*triple))
    ids = st.just(NO_INSTANCE_ID) | st.integers(0, 2**128 - 1).map(lambda value: UUID(int=value))
    return st.builds(
        lambda triple, instance_id: build_mixed(*triple, instance_id=instance_id), triples, ids
    )


def requests_with_any_body() -> st.SearchStrategy[Request]:
    """Requests in a flexible version with a sound header and any bytes as the body, short strings and counts often."""
    small_numbers = st.lists(st.integers(0, 6), max_size=24).map(bytes)
    # Without a least size, long ones are hardly ever drawn.
    any_bytes = one_branch(st.binary(max_size=60) | st.binary(min_size=30, max_size=60))
    return api_versions_requests(
        min_version=FIRST_FLEXIBLE_VERSION, bodies=any_bytes | small_numbers
    )
