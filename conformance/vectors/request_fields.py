"""The fields of a request's bytes, as a vector states them.

They are those that can be read, in the names of Kafka's schemas.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import decode_prefix
from wire.errors import DecodeError
from wire.fields import Message
from wire.header_versions import request_header_version
from wire.headers import RequestHeader, read_request_start

_LEFT_OUT = ("tag_order",)
MAX_TEXT = 64


def fields_of(frame: bytes) -> dict[str, Any]:
    """Return the fields of a frame without its size: of the header, and of the body if it is about ApiVersions."""
    start = read_request_start(frame)
    values: dict[str, Any] = {
        "request_api_key": start.api_key,
        "request_api_version": start.api_version,
        "correlation_id": start.correlation_id,
    }
    if start.api_key != API_VERSIONS_KEY:
        return values
    try:
        version = request_header_version(start.api_key, start.api_version)
        header, at = decode_prefix(RequestHeader, frame, version=version)
        values |= _as_json(header, version)
        if 0 <= start.api_version <= NEWEST_VERSION:
            body, _ = decode_prefix(ApiVersionsRequest, frame, version=start.api_version, offset=at)
            values |= _as_json(body, start.api_version)
    except DecodeError as error:
        values["unreadable"] = str(error)
    return values


def _as_json(message: Message, version: int) -> dict[str, Any]:
    known = {field.name for field in message.FIELDS if version in field.versions}
    values: dict[str, Any] = {}
    for each in fields(message):  # type: ignore[arg-type]
        value = getattr(message, each.name)
        if each.name == "unknown_tagged_fields":
            if value:
                values[each.name] = [[field.tag, field.data.hex()[:MAX_TEXT]] for field in value[:8]]
        elif each.name in known and each.name not in _LEFT_OUT:
            is_long = isinstance(value, str) and len(value) > MAX_TEXT
            values[each.name] = f"{value[:8]}... ({len(value)} characters)" if is_long else value
    return values
