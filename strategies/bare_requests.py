"""Requests of any API that are a header and some bytes, for refusals before the broker reads a body."""

from __future__ import annotations

from hypothesis import strategies as st

from reference_model.broker.rules.request_parser import READABLE_BODIES
from wire.api_keys import (
    BROKER_HEARTBEAT_KEY,
    ENVELOPE_KEY,
    LIST_GROUPS_KEY,
    METADATA_KEY,
    VOTE_KEY,
)
from wire.exchange import Request, encode_request
from wire.headers import PLAIN_CORRELATION_ID, PLAIN_REQUEST_HEADER, plain_header
from wire.primitives import INT16_MAX, INT16_MIN

KNOWN_KEYS = st.integers(0, 99)
"""All keys of Kafka so far and a few beyond. They are drawn often, because most int16 keys are unassigned."""
NEAR_VERSIONS = st.integers(-2, 20)


def build_bare_request(
    api_key: int,
    api_version: int,
    body: bytes = b"",
    *,
    broken: str = "not served",
    correlation_id: int = PLAIN_CORRELATION_ID,
) -> Request:
    """Return a request with header v1, whichever header its version requires."""
    header = plain_header(api_key, api_version, correlation_id)
    return encode_request(header, body, header_version=PLAIN_REQUEST_HEADER, broken=broken)


def _readable_request(api_key: int) -> Request:
    return build_bare_request(api_key, 0, READABLE_BODIES[api_key, 0], broken="")


METADATA = _readable_request(METADATA_KEY)
"""A Metadata request for all topics."""
LIST_GROUPS = _readable_request(LIST_GROUPS_KEY)
VOTE, ENVELOPE, BROKER_HEARTBEAT = map(
    _readable_request, (VOTE_KEY, ENVELOPE_KEY, BROKER_HEARTBEAT_KEY)
)
"""Requests of controllers: brokers do not list these APIs, but can parse them."""


def whole_requests() -> st.SearchStrategy[Request]:
    """Well-formed requests of APIs other than ApiVersions that every broker serves; they change nothing."""
    return st.sampled_from((METADATA, LIST_GROUPS))


def bare_requests() -> st.SearchStrategy[Request]:
    """Requests of any key and version, mostly small ones, with up to 20 bytes after the header."""
    any_number = st.integers(INT16_MIN, INT16_MAX)
    return st.builds(
        build_bare_request,
        KNOWN_KEYS | any_number,
        NEAR_VERSIONS | any_number,
        st.binary(max_size=20),
    )


def distances() -> st.SearchStrategy[int]:
    """Distances of a version from a range: positive above it, negative below it, mostly 1 or -1."""
    near = st.sampled_from([1, -1]) | st.integers(-4, 4)
    return (near | st.integers(-INT16_MAX, INT16_MAX)).filter(bool)
