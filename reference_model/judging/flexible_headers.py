"""Detector of ApiVersions responses that wrongly have a tag section in the header.

No version of these responses has a tag section in its header.
"""

from __future__ import annotations

import functools

from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION, NEWEST_VERSION, ApiVersionsResponse
from wire.codec import decode_prefix
from wire.errors import DecodeError
from wire.exchange import Request
from wire.headers import CORRELATION_ID_BYTES, ResponseHeader

FLEXIBLE_RESPONSE_HEADER = 1
MAX_KEPT_BYTES = 4096
_ANY_ID = bytes(CORRELATION_ID_BYTES)


def response_after_tag_section(request: Request, payload: bytes) -> ApiVersionsResponse | None:
    """Return a response that decodes exactly with a tag section in its header, and not without one; None for any other.

    It decodes in the version of its request, or in v0, in which versions are refused that are not supported.
    """
    if request.api_key != API_VERSIONS_KEY or request.api_version < FIRST_FLEXIBLE_VERSION:
        return None
    body = payload[CORRELATION_ID_BYTES:]
    read = _read_small if len(body) <= MAX_KEPT_BYTES else _read
    return read(body, request.api_version)


def _read(body: bytes, version: int) -> ApiVersionsResponse | None:
    layouts = [layout for layout in (version, 0) if layout <= NEWEST_VERSION]
    if any(_decoded(body, layout, may_go_on=True) for layout in layouts):
        return None
    try:
        _, end = decode_prefix(ResponseHeader, _ANY_ID + body, version=FLEXIBLE_RESPONSE_HEADER)
    except DecodeError:
        return None
    after_tags = body[end - CORRELATION_ID_BYTES :]
    responses = (_decoded(after_tags, layout) for layout in layouts)
    return next((response for response in responses if response is not None), None)


_read_small = functools.lru_cache(maxsize=1024)(_read)
"""Cached, because a target sends the same few bodies again and again."""


def _decoded(body: bytes, layout: int, *, may_go_on: bool = False) -> ApiVersionsResponse | None:
    try:
        response, end = decode_prefix(ApiVersionsResponse, body, version=layout)
    except DecodeError:
        return None
    return response if may_go_on or end == len(body) else None
