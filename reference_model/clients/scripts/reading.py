"""Reads the frames of a client as the requests of a recording."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from reference_model.clients.scripts.recording import SeenRequest
from reference_model.clients.scripts.served_apis import API_VERSIONS_HEADERS, CLIENT_APIS, SASL_APIS
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode, decode_prefix
from wire.errors import DecodeError, DuplicateTag
from wire.frames import encode_frame
from wire.header_versions import FLEXIBLE_REQUEST_HEADER, PLAIN_REQUEST_HEADER, request_header_version
from wire.headers import InstanceIdHeader, RequestHeader, read_request_start
from wire.message_schemas import Api

MIN_REQUEST_BYTES = 8
"""API key, version and correlation id; a shorter frame is no request."""
_READ_APIS: Mapping[int, Api] = {**CLIENT_APIS, **SASL_APIS}
"""The APIs other than ApiVersions whose requests are decoded, by key: those that scripted brokers answer."""


def read_request(payload: bytes, *, connection: int, at_ms: int) -> SeenRequest:
    """Return the request of a frame, without what became of it.

    Args:
        payload: the frame without its size; at least `MIN_REQUEST_BYTES`.
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


def _client_id(payload: bytes, header: type[RequestHeader], version: int) -> tuple[bool, str | None]:
    """Return whether a header can be read, and its client id.

    The client id has the same place in every version that has one.
    """
    try:
        header_fields, _ = decode_prefix(header, payload, version=version)
    except DecodeError:
        return False, None
    return True, header_fields.client_id


def _named(request: SeenRequest, payload: bytes) -> SeenRequest:
    """Return a request of another API with its client id.

    A client id may be compact, so that a length of two bytes exceeds the frame.

    If the API is one that scripted brokers answer, the body is decoded as well.
    """
    is_old, _ = _client_id(payload, RequestHeader, PLAIN_REQUEST_HEADER)
    is_compact, client_id = _client_id(payload, _CompactHeader, FLEXIBLE_REQUEST_HEADER)
    if not is_old and is_compact:
        return dataclasses.replace(request, client_id=client_id, has_compact_client_id=True)
    api = _READ_APIS.get(request.api_key)
    if api is None or request.api_version not in api.valid_versions:
        return request
    try:
        header, message = read_message(api, payload, request.api_version)
    except DecodeError as error:
        return _unreadable(request, error)
    return dataclasses.replace(request, tags_descend=_tags_descend(header, message))


def read_message(api: Api, payload: bytes, version: int) -> tuple[RequestHeader, Any]:
    """Decode a request of an API other than ApiVersions.

    Like Kafka, ignore bytes after its body, which librdkafka sends after Metadata v13.

    Raises:
        DecodeError: header or body do not follow their schemas.
    """
    header_version = api.request_header_version(version)
    header, body_at = decode_prefix(InstanceIdHeader, payload, version=header_version)
    message, _ = decode_prefix(api.request, payload, version=version, offset=body_at)
    return header, message


def _unreadable(request: SeenRequest, error: DecodeError) -> SeenRequest:
    """Return a request that cannot be decoded, with the reason."""
    is_twice = isinstance(error, DuplicateTag)
    return dataclasses.replace(request, problem=str(error), tags_descend=is_twice)


def _tags_descend(header: RequestHeader, message: Any) -> bool:
    """Return whether a tag section has a tag lower than the one before.

    It looks at sections of the request at any depth (KIP-482, Tagged Fields).
    """
    return any(
        later < earlier for order in (header.tag_order, *_tag_orders(message)) for earlier, later in pairwise(order)
    )


def _tag_orders(message: Any) -> Iterator[tuple[int, ...]]:
    """Yield the tags of every tag section of a message, in the order in which they were sent."""
    yield message.tag_order
    for field in message.FIELDS:
        value = getattr(message, field.name)
        for each in value if isinstance(value, tuple) else ():
            if dataclasses.is_dataclass(each):
                yield from _tag_orders(each)


def _decoded(request: SeenRequest, payload: bytes) -> SeenRequest:
    """Return an ApiVersions request with its body, or with the reason why it cannot be read."""
    version = request.api_version
    if not (0 <= version <= NEWEST_VERSION or version in API_VERSIONS_HEADERS):
        return request
    header_version = API_VERSIONS_HEADERS.get(version, request_header_version(API_VERSIONS_KEY, version))
    try:
        header, body = _read_with(InstanceIdHeader, payload, header_version, version)
    except DecodeError as error:
        unreadable = _unreadable(request, error)
    else:
        return dataclasses.replace(request, body=body, tags_descend=_tags_descend(header, body))
    try:
        header, body = _read_with(_CompactHeader, payload, header_version, version)
    except DecodeError:
        return unreadable
    return dataclasses.replace(request, client_id=header.client_id, has_compact_client_id=True, body=body)


def _read_with(
    header: type[RequestHeader], payload: bytes, header_version: int, version: int
) -> tuple[RequestHeader, ApiVersionsRequest]:
    header_fields, body_at = decode_prefix(header, payload, version=header_version)
    return header_fields, decode(ApiVersionsRequest, payload[body_at:], version=version)
