"""Annotated hex dumps: offset, bytes and the field that they encode, line by line."""

from __future__ import annotations

import dataclasses

from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import Span, Trace, decode_prefix
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.fields import Message
from wire.frames import SIZE_BYTES, read_size
from wire.headers import (
    PLAIN_REQUEST_HEADER,
    Layout,
    RequestHeader,
    ResponseHeader,
    read_error_code,
    read_request_start,
    request_header_version,
)

BYTES_PER_LINE = 16
LONGEST_VALUE = 60
BARE_ANSWER = "answer"
"""Field name for a response whose fields are not known."""


def _lines(data: bytes, spans: Trace, error: DecodeError | None, rest: str) -> list[str]:
    lines = []
    position = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start < position:
            continue
        lines += _dump(data, span, marked=False)
        position = span.end
    if position < len(data) or error is not None:
        note = rest if error is None else f"<-- {error}"
        span = Span("", position, len(data), None)
        lines += _dump(data, span, marked=error is not None, note=note)
    return lines


def _dump(data: bytes, span: Span, *, marked: bool, note: str = "") -> list[str]:
    value = repr(span.value)
    if len(value) > LONGEST_VALUE:
        value = f"{value[:LONGEST_VALUE]}..."
    text = note or f"{span.field_path} = {value}"
    lines = []
    for start in range(span.start, max(span.end, span.start + 1), BYTES_PER_LINE):
        piece = data[start : min(start + BYTES_PER_LINE, span.end)].hex(" ")
        mark = ">" if marked else " "
        lines.append(f"{mark} {start:6}  {piece:<47}  {text}".rstrip())
        text = ""
    return lines


def _traced(
    data: bytes,
    header: type[Message],
    header_version: int,
    body: type[Message] | None,
    version: int,
) -> list[str]:
    """Dump a frame as a header and a body, as far as they decode."""
    payload = memoryview(data)[SIZE_BYTES:]
    trace: Trace = []
    error = None
    try:
        offset = _decode_header(header, payload, header_version, trace)
        if body is not None:
            decode_prefix(body, payload, version=version, offset=offset, trace=trace)
    except DecodeError as found:
        error = found
        error.start += SIZE_BYTES
        error.end += SIZE_BYTES
    size = Span("size", 0, SIZE_BYTES, read_size(data))
    moved = [Span(s.field_path, s.start + SIZE_BYTES, s.end + SIZE_BYTES, s.value) for s in trace]
    return _lines(data, [size, *moved], error, "not decoded" if body is None else "after the body")


def _decode_header(header: type[Message], payload: memoryview, version: int, trace: Trace) -> int:
    """Decode a header and return where the body begins; mark the header's tagged fields as such."""
    spans: Trace = []
    try:
        _, offset = decode_prefix(header, payload, version=version, trace=spans)
    except DecodeError as error:
        error.field_path = _in_header(error.field_path)
        raise
    finally:
        trace += [dataclasses.replace(s, field_path=_in_header(s.field_path)) for s in spans]
    return offset


def _in_header(path: str) -> str:
    return f"header.{path}" if "tagged_fields" in path else path


def dump_bare(data: bytes, what: str) -> list[str]:
    """Dump a frame whose payload is not decoded, such as a SASL token."""
    size = Span("size", 0, SIZE_BYTES, read_size(data))
    return _lines(data, [size, Span(what, SIZE_BYTES, len(data), data[SIZE_BYTES:])], None, "")


def dump_stray(data: bytes) -> list[str]:
    """Dump bytes that belong to no response."""
    return _lines(data, [], None, "belongs to no response")


def dump_request(data: bytes, layout: Layout | None = None) -> list[str]:
    """Dump a request frame, decoded as ApiVersions if it is such a request.

    Of another API's request only the header is decoded if no layout is given.
    """
    key, version, _ = read_request_start(data[SIZE_BYTES:])
    if key == API_VERSIONS_KEY:
        body = ApiVersionsRequest if 0 <= version <= NEWEST_VERSION else None
        return _traced(data, RequestHeader, request_header_version(key, version), body, version)
    if layout is None:
        return _traced(data, RequestHeader, PLAIN_REQUEST_HEADER, None, version)
    header_version = layout.request_header_version
    return _traced(data, RequestHeader, header_version, layout.request, layout.version)


def dump_answer(data: bytes, *, api_version: int) -> list[str]:
    """Dump a response frame in the layout of a version of ApiVersions."""
    return _traced(data, ResponseHeader, 0, ApiVersionsResponse, api_version)


def dump_answer_of(data: bytes, layout: Layout) -> list[str]:
    """Dump a response frame of another API, as the response to a request in that layout."""
    header_version = layout.response_header_version
    return _traced(data, ResponseHeader, header_version, layout.response, layout.version)


def layout_of_answer(payload: bytes, api_version: int) -> int:
    """Return the version whose layout a response has: v0 for UNSUPPORTED_VERSION and unknown versions."""
    refused = read_error_code(payload) == ErrorCode.UNSUPPORTED_VERSION
    known = 0 <= api_version <= NEWEST_VERSION
    return api_version if known and not refused else 0
