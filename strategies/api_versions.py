"""Strategies for well-formed ApiVersions requests.

The versions of the requests are supported or unsupported.

Every dimension that a property does not ask for is fixed. A property draws only the dimensions that its clause
is about, so that a failure points at that clause.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from strategies.field_values import PLAIN_SOFTWARE, Software
from strategies.weights import one_branch
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsRequest
from wire.codec import encode
from wire.exchange import Request, encode_request
from wire.headers import RequestHeader
from wire.plain_header import PLAIN_CLIENT_ID
from wire.primitives import INT16_MAX, INT16_MIN, TaggedField

ORDINARY_CORRELATION_IDS = st.integers(0, 1_000_000)
FLEXIBLE_VERSIONS = st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION)


def unknown_versions() -> st.SearchStrategy[int]:
    """Versions from 1 to 32767; those just above each release's maximum are drawn often.

    The version after the newest one and versions whose low byte is a known version are drawn often too.
    A test rejects the versions that its target supports.
    """
    cut_to_a_byte = st.builds(lambda high, low: high << 8 | low, st.integers(1, 127), st.integers(0, NEWEST_VERSION))
    return one_branch(
        st.one_of(
            st.integers(NEWEST_VERSION + 1, INT16_MAX),
            st.integers(1, NEWEST_VERSION + 3),
            st.just(NEWEST_VERSION + 1),
            cut_to_a_byte,
        )
    )


def negative_versions() -> st.SearchStrategy[int]:
    """Versions from -32768 to -1."""
    return st.integers(INT16_MIN, -1)


def body_with(software: Software) -> bytes:
    """Return the body of a request in the newest version with some software."""
    named = ApiVersionsRequest(client_software_name=software.name, client_software_version=software.version)
    return encode(named, version=NEWEST_VERSION)


class UnservedRequest(NamedTuple):
    """A request in a version above the target's highest one, which is known only when the target runs.

    Attributes:
        distance: how far the version is above the highest one.
        correlation_id: the correlation id.
        body: bytes to send instead of the body; None keeps the body.
    """

    distance: int = 1
    correlation_id: int = 7
    body: bytes | None = None

    def above(self, highest: int) -> Request:
        """Return the request for a target that serves ApiVersions up to `highest`."""
        version = min(highest + self.distance, INT16_MAX)
        return build_request(version=version, correlation_id=self.correlation_id, body=self.body)


def distances_above() -> st.SearchStrategy[int]:
    """Distances of a version above the highest one, from 1 to 32767, mostly small.

    Those at which the low byte of the version is that of a served one are drawn often too.
    """
    same_low_byte = st.builds(
        lambda high, below: (high << 8) - below, st.integers(1, 127), st.integers(0, NEWEST_VERSION)
    )
    return one_branch(st.one_of(st.integers(1, 3), st.integers(1, INT16_MAX), same_low_byte))


def unserved_requests(
    bodies: st.SearchStrategy[bytes | None] | None = None,
) -> st.SearchStrategy[UnservedRequest]:
    """Requests in a version above the target's highest one, with their own body unless `bodies` has another."""
    return st.builds(
        UnservedRequest,
        distances_above(),
        ORDINARY_CORRELATION_IDS,
        st.none() if bodies is None else bodies,
    )


def api_versions_requests(
    *,
    min_version: int = 0,
    max_version: int = NEWEST_VERSION,
    versions: st.SearchStrategy[int] | None = None,
    correlation_ids: st.SearchStrategy[int] = ORDINARY_CORRELATION_IDS,
    client_ids: st.SearchStrategy[str | None] | None = None,
    software: st.SearchStrategy[Software] | None = None,
    header_tags: st.SearchStrategy[tuple[TaggedField, ...]] | None = None,
    body_tags: st.SearchStrategy[tuple[TaggedField, ...]] | None = None,
    bodies: st.SearchStrategy[bytes | None] | None = None,
    trailing: st.SearchStrategy[bytes] | None = None,
) -> st.SearchStrategy[Request]:
    """ApiVersions requests.

    Args:
        min_version: lowest version drawn if `versions` is not given.
        max_version: highest version drawn if `versions` is not given.
        versions: the versions.
        correlation_ids: the correlation ids.
        client_ids: the client ids; a plain one if not given.
        software: client software name and version; plain ones if not given.
        header_tags: unknown tagged fields of the header; only flexible versions carry them.
        body_tags: unknown tagged fields of the body; only flexible versions carry them.
        bodies: bytes to send instead of the body; None keeps the body.
        trailing: bytes after the body.
    """
    return st.builds(
        build_request,
        version=st.integers(min_version, max_version) if versions is None else versions,
        correlation_id=correlation_ids,
        client_id=st.just(PLAIN_CLIENT_ID) if client_ids is None else client_ids,
        software=st.just(PLAIN_SOFTWARE) if software is None else software,
        header_tags=st.just(()) if header_tags is None else header_tags,
        body_tags=st.just(()) if body_tags is None else body_tags,
        body=st.none() if bodies is None else bodies,
        trailing=st.just(b"") if trailing is None else trailing,
    )


def build_request(
    *,
    version: int,
    correlation_id: int = 7,
    client_id: str | None = PLAIN_CLIENT_ID,
    software: Software = PLAIN_SOFTWARE,
    header_tags: tuple[TaggedField, ...] = (),
    body_tags: tuple[TaggedField, ...] = (),
    body: bytes | None = None,
    trailing: bytes = b"",
    cluster_id: str | None = None,
    node_id: int = -1,
    broken: str = "",
) -> Request:
    """Return one ApiVersions request. Strategies and pinned examples build their requests with it."""
    header = RequestHeader(
        request_api_key=API_VERSIONS_KEY,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
        unknown_tagged_fields=header_tags,
    )
    message = ApiVersionsRequest(
        client_software_name=software.name,
        client_software_version=software.version,
        cluster_id=cluster_id,
        node_id=node_id,
        unknown_tagged_fields=body_tags,
    )
    return encode_request(header, message if body is None else body, trailing=trailing, broken=broken)
