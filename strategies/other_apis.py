"""Requests of other APIs than ApiVersions.

`bare_requests` are a header and some bytes, for refusals before the broker reads a body; `passed_requests` are those
that a proxy has no reason to change; `tagged_headers` have any tag section in their header. Which versions a target
lists is known only when it runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from reference_model.broker.rules.request_parser import READABLE_BODIES
from strategies.api_versions import ORDINARY_CORRELATION_IDS
from strategies.field_values import client_ids
from wire import api_keys
from wire.exchange import Request, encode_request
from wire.header_versions import PLAIN_REQUEST_HEADER, request_header_version
from wire.plain_header import PLAIN_BODY, PLAIN_CLIENT_ID, PLAIN_CORRELATION_ID, plain_header
from wire.primitives import INT16_MAX, INT16_MIN, NO_TAGS

KNOWN_KEYS = st.integers(0, 99)
"""All keys of Kafka so far and a few beyond. They are drawn often, because most int16 keys are unassigned."""
NEAR_VERSIONS = st.integers(-2, 20)


PASSED_KEYS = (
    api_keys.LIST_GROUPS_KEY,
    api_keys.DESCRIBE_GROUPS_KEY,
    api_keys.OFFSET_FETCH_KEY,
    api_keys.LIST_OFFSETS_KEY,
    api_keys.HEARTBEAT_KEY,
    api_keys.DESCRIBE_CONFIGS_KEY,
    api_keys.DESCRIBE_ACLS_KEY,
    api_keys.DESCRIBE_CLIENT_QUOTAS_KEY,
    api_keys.LIST_TRANSACTIONS_KEY,
)
"""APIs that only read, and whose responses name no address and no time."""
MAX_CLIENT_ID = 300
MAX_VERSIONS = 8


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


METADATA = _readable_request(api_keys.METADATA_KEY)
"""A Metadata request for all topics."""
LIST_GROUPS = _readable_request(api_keys.LIST_GROUPS_KEY)
DESCRIBE_CONFIGS = tuple(
    build_bare_request(api_keys.DESCRIBE_CONFIGS_KEY, version, body, broken="")
    for version, body in enumerate((bytes(4), bytes(5)))
)
"""DescribeConfigs v0 and v1 for no resource. v0 is deprecated since 3.7, and gone since 4.0."""
VOTE, ENVELOPE, BROKER_HEARTBEAT = map(
    _readable_request, (api_keys.VOTE_KEY, api_keys.ENVELOPE_KEY, api_keys.BROKER_HEARTBEAT_KEY)
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


def build_with_key(api_key: int, api_version: int) -> Request:
    """Return a request that is one of ApiVersions in all but its API key."""
    layout = max(api_version, 0)
    return encode_request(
        plain_header(api_key, api_version),
        PLAIN_BODY,
        header_version=request_header_version(api_keys.API_VERSIONS_KEY, layout),
        broken=f"ApiVersions with the API key {api_key}",
    )


def keys_like_api_versions() -> st.SearchStrategy[int]:
    """Keys whose low byte is that of ApiVersions; those next to it are drawn often."""
    others = st.sampled_from((1, 2, -1, -128, 127)) | st.integers(-128, 127).filter(bool)
    return others.map(lambda high: high * 256 + api_keys.API_VERSIONS_KEY)


def distances() -> st.SearchStrategy[int]:
    """Distances of a version from a range: positive above it, negative below it, mostly 1 or -1."""
    near = st.sampled_from([1, -1]) | st.integers(-4, 4)
    return (near | st.integers(-INT16_MAX, INT16_MAX)).filter(bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedRequest:
    """A request in a version that only the proxy's table tells.

    Attributes:
        api_key: the API, one of `PASSED_KEYS`.
        below_newest: how many versions below the newest one that the proxy lists.
        correlation_id: the correlation id.
        client_id: the client id.
    """

    api_key: int
    below_newest: int = 0
    correlation_id: int = 7
    client_id: str | None = PLAIN_CLIENT_ID


def passed_requests() -> st.SearchStrategy[PassedRequest]:
    """Requests of APIs that a proxy has no reason to change, with any client id."""
    return st.builds(
        PassedRequest,
        api_key=st.sampled_from(PASSED_KEYS),
        below_newest=st.integers(0, 3),
        correlation_id=ORDINARY_CORRELATION_IDS,
        client_id=client_ids(max_bytes=MAX_CLIENT_ID),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedHeader:
    """A request of an API that only reads, in a flexible version.

    Attributes:
        place: index into the flexible versions that the target serves, modulo their number. Stored failures have this
            name.
        section: the bytes of the header's tag section.
    """

    place: int = 0
    section: bytes = NO_TAGS

    def plain(self) -> TaggedHeader:
        """Return the same request without tags."""
        return replace(self, section=NO_TAGS)


def tagged_headers(sections: st.SearchStrategy[bytes]) -> st.SearchStrategy[TaggedHeader]:
    """Requests of other APIs whose headers have one of the given tag sections."""
    return st.builds(
        TaggedHeader,
        place=st.integers(0, MAX_VERSIONS - 1),
        section=sections,
    )
