"""Reads the frames of a client as the requests of a recording."""

from __future__ import annotations

import dataclasses

from reference_model.clients.scripts.recording import SeenRequest
from reference_model.clients.scripts.served_apis import API_VERSIONS_HEADERS
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, decode_prefix
from wire.errors import DecodeError
from wire.frames import encode_frame
from wire.headers import (
    FLEXIBLE_REQUEST_HEADER,
    PLAIN_REQUEST_HEADER,
    InstanceIdHeader,
    RequestHeader,
    read_request_start,
    request_header_version,
)

SHORTEST_REQUEST_BYTES = 8
"""API key, version and correlation id; a shorter frame is no request."""


def read_request(payload: bytes, *, connection: int, at_ms: int) -> SeenRequest:
    """Return the request of a frame, without what became of it.

    Args:
        payload: the frame without its size; at least `SHORTEST_REQUEST_BYTES`.
        connection: the number of its connection.
        at_ms: when it was complete, from the start of the play.
    """
    start = read_request_start(payload)
    request = SeenRequest(
        connection=connection,
        at_ms=at_ms,
        data=encode_frame(payload),
        api_key=start.api_key,
        api_version=start.api_version,
        correlation_id=start.correlation_id,
        client_id=_client_id(payload, RequestHeader, PLAIN_REQUEST_HEADER)[1],
    )
    return _decoded(request, payload) if request.is_about_versions else _named(request, payload)


class _CompactHeader(InstanceIdHeader):
    """A flexible header whose client id is compact, like every other string: wrong, and read only to name the fault."""

    FIELDS = tuple(
        dataclasses.replace(field, flexible=None) if field.name == "client_id" else field
        for field in InstanceIdHeader.FIELDS
    )


def _client_id(
    payload: bytes, header: type[RequestHeader], version: int
) -> tuple[bool, str | None]:
    """Return whether a header can be read, and its client id, which has the same place in every version that has one."""
    try:
        found, _ = decode_prefix(header, payload, version=version)
    except DecodeError:
        return False, None
    return True, found.client_id


def _named(request: SeenRequest, payload: bytes) -> SeenRequest:
    """Return a request of another API with its client id, even if that is compact and its length of two bytes exceeds the frame."""
    is_old, _ = _client_id(payload, RequestHeader, PLAIN_REQUEST_HEADER)
    is_compact, client_id = _client_id(payload, _CompactHeader, FLEXIBLE_REQUEST_HEADER)
    if is_old or not is_compact:
        return request
    return dataclasses.replace(request, client_id=client_id, has_compact_client_id=True)


def _decoded(request: SeenRequest, payload: bytes) -> SeenRequest:
    """Return an ApiVersions request with its body, or with the reason why it cannot be read."""
    version = request.api_version
    if not (0 <= version <= NEWEST_VERSION or version in API_VERSIONS_HEADERS):
        return request
    header_version = API_VERSIONS_HEADERS.get(
        version, request_header_version(API_VERSIONS_KEY, version)
    )
    try:
        _, body = _read_with(InstanceIdHeader, payload, header_version, version)
    except DecodeError as error:
        problem = str(error)
    else:
        return dataclasses.replace(request, body=body)
    try:
        header, body = _read_with(_CompactHeader, payload, header_version, version)
    except DecodeError:
        return dataclasses.replace(request, problem=problem)
    return dataclasses.replace(
        request, client_id=header.client_id, has_compact_client_id=True, body=body
    )


def _read_with(
    header: type[RequestHeader], payload: bytes, header_version: int, version: int
) -> tuple[RequestHeader, ApiVersionsRequest]:
    found, body_at = decode_prefix(header, payload, version=header_version)
    return found, decode(ApiVersionsRequest, payload[body_at:], version=version)
