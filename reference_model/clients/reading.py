"""Reads the frames of a client as the requests of a recording."""

from __future__ import annotations

import dataclasses

from reference_model.clients.recording import SeenRequest
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, decode_prefix
from wire.errors import DecodeError
from wire.frames import encode_frame
from wire.headers import (
    INSTANCE_ID_REQUEST_HEADER,
    PLAIN_REQUEST_HEADER,
    InstanceIdHeader,
    RequestHeader,
    read_request_start,
    request_header_version,
)
from wire.instance_id_messages import has_instance_id

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
        client_id=_client_id(payload),
    )
    return _decoded(request, payload) if request.is_about_versions else request


def _client_id(payload: bytes) -> str | None:
    """Return the client id of a request, which has the same place in every header that has one."""
    try:
        header, _ = decode_prefix(RequestHeader, payload, version=PLAIN_REQUEST_HEADER)
    except DecodeError:
        return None
    client_id: str | None = header.client_id
    return client_id


def _decoded(request: SeenRequest, payload: bytes) -> SeenRequest:
    """Return an ApiVersions request with its body, or with the reason why it cannot be read."""
    version = request.api_version
    has_id = has_instance_id(API_VERSIONS_KEY, version)
    if not (0 <= version <= NEWEST_VERSION or has_id):
        return request
    header_version = (
        INSTANCE_ID_REQUEST_HEADER if has_id else request_header_version(API_VERSIONS_KEY, version)
    )
    try:
        _, body_at = decode_prefix(InstanceIdHeader, payload, version=header_version)
        body = decode(ApiVersionsRequest, payload[body_at:], version=version)
    except DecodeError as error:
        return dataclasses.replace(request, problem=str(error))
    return dataclasses.replace(request, body=body)
