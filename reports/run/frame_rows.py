"""The bytes of one frame, field by field, as far as they can be decoded."""

from __future__ import annotations

import dataclasses

from reports.run.conversation import ByteRow
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import Span, Trace, decode_prefix
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.fields import Message
from wire.frames import SIZE_BYTES, read_size
from wire.header_versions import PLAIN_REQUEST_HEADER, Layout, request_header_version
from wire.headers import RequestHeader, ResponseHeader, read_error_code, read_request_start

MAX_VALUE = 60
"""Characters of a value."""
BARE_ANSWER = "answer"
"""Field name for a response whose fields are not known."""
_Rows = tuple[ByteRow, ...]


def request_rows(data: bytes, layout: Layout | None = None) -> _Rows:
    """Return the fields of a request frame, decoded as ApiVersions if it is such a request.

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


def answer_rows(data: bytes, *, api_version: int) -> _Rows:
    """Return the fields of a response frame in the layout of a version of ApiVersions."""
    return _traced(data, ResponseHeader, 0, ApiVersionsResponse, api_version)


def answer_rows_of(data: bytes, layout: Layout) -> _Rows:
    """Return the fields of a response frame of another API, as the response to a request in that layout."""
    header_version = layout.response_header_version
    return _traced(data, ResponseHeader, header_version, layout.response, layout.version)


def bare_rows(data: bytes, what: str) -> _Rows:
    """Return the size and the rest of a frame whose payload is not decoded, such as a SASL token."""
    if len(data) < SIZE_BYTES:
        return _part_of_size(data)
    size = Span("size", 0, SIZE_BYTES, read_size(data))
    return _rows(data, [size, Span(what, SIZE_BYTES, len(data), data[SIZE_BYTES:])], None, "")


def stray_rows(data: bytes) -> _Rows:
    """Return the row of bytes that belong to no response."""
    return _rows(data, [], None, "belongs to no response")


def layout_of_answer(payload: bytes, api_version: int) -> int:
    """Return the version whose layout a response has: v0 for UNSUPPORTED_VERSION and unknown versions."""
    refused = read_error_code(payload) == ErrorCode.UNSUPPORTED_VERSION
    known = 0 <= api_version <= NEWEST_VERSION
    return api_version if known and not refused else 0


def _traced(
    data: bytes,
    header: type[Message],
    header_version: int,
    body: type[Message] | None,
    version: int,
) -> _Rows:
    """Return the rows of a header and a body, as far as they decode."""
    if len(data) < SIZE_BYTES:
        return _part_of_size(data)
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
    return _rows(data, [size, *moved], error, "not decoded" if body is None else "after the body")


def _part_of_size(data: bytes) -> _Rows:
    """Return the row of a piece of a frame that ends inside its size."""
    return (ByteRow(offset=0, data=data, path="size", value=f"{len(data)} of {SIZE_BYTES} bytes"),)


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


def _rows(data: bytes, spans: Trace, error: DecodeError | None, rest: str) -> _Rows:
    rows = []
    position = 0
    for span in sorted(spans, key=lambda span: span.start):
        if span.start < position:
            continue
        value = repr(span.value)
        shown = value if len(value) <= MAX_VALUE else f"{value[:MAX_VALUE]}..."
        rows.append(ByteRow(offset=span.start, data=data[span.start : span.end], path=span.field_path, value=shown))
        position = span.end
    if position < len(data) or error is not None:
        note = rest if error is None else str(error)
        rows.append(ByteRow(offset=position, data=data[position:], path="", value=note, marked=error is not None))
    return tuple(rows)
