"""Annotated hex dump of everything exchanged in an example (`exchange.txt`).

Each line has offset, bytes and field.

For a broker, "sent" is what the suite sent. For a client, the texts name both sides: the client sent, the scripted
broker answered. `reports.site.byte_tables` reads the dumps back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from wire.api_keys import API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import Span, Trace, decode_prefix
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Exchange, Outcome, Request, Step
from wire.fields import Message
from wire.frames import SIZE_BYTES, encode_frame, read_size
from wire.header_versions import PLAIN_REQUEST_HEADER, Layout, request_header_version
from wire.headers import (
    CORRELATION_ID_BYTES,
    RequestHeader,
    ResponseHeader,
    read_correlation_id,
    read_error_code,
    read_request_start,
)
from wire.sasl import BARE_TOKEN

FIRST_STEPS, LAST_STEPS = 40, 20
"""Steps of a client's play that are dumped; a client may send hundreds of requests, and the capture has more of
them."""

TOKEN_HIDDEN = "the tokens of both sides are hidden, because the credentials were given"
"""The remark about a request whose token is not shown."""
NEXT_REQUEST = "the next request, which shows whether the connection is alive"
"""The heading of a sentinel, which follows what came for the request before it."""

_Seen = dict[tuple[int, int, bytes], int]
"""Responses by API, version and bytes, each with the correlation id of the first request that got it."""


BYTES_PER_LINE = 16
MAX_VALUE = 60
BARE_ANSWER = "answer"
"""Field name for a response whose fields are not known."""


def render_exchange(steps: Sequence[Step]) -> str:
    """Return an annotated hex dump of everything that was sent and received."""
    lines: list[str] = []
    for step in steps:
        if step.closes:
            lines += [f"connection {step.connection}: closed by us", ""]
            continue
        if step.pause_s:
            lines += [f"connection {step.connection}: nothing sent for {step.pause_s:g} s", ""]
        if len(step.pieces) > 1:
            sizes = ", ".join(str(len(piece)) for piece in step.pieces)
            lines.append(f"connection {step.connection}: written in pieces of {sizes} bytes")
        if step.pieces and not step.exchanges:
            lines += [f"connection {step.connection}: sent, without waiting for a response"]
            lines += [*dump_request(b"".join(step.pieces)), ""]
        for exchange in step.exchanges:
            lines += _dump_exchange(step, exchange)
        if step.end_of_stream:
            lines += [f"connection {step.connection}: our side of the stream ended", ""]
    return "\n".join(lines)


def _dump_exchange(step: Step, exchange: Exchange) -> list[str]:
    broken = f" ({exchange.request.broken})" if exchange.request.broken else ""
    if exchange.request.is_hidden:
        broken = f" ({TOKEN_HIDDEN})"
    lines = [
        f"connection {step.connection}: sent{broken}",
        *_dump_sent(exchange.request),
        f"connection {step.connection}: {_outcome_of(exchange)}",
    ]
    if exchange.payload is not None:
        lines += _dump_payload(exchange.request, exchange.payload)
    if exchange.stray:
        lines += [f"connection {step.connection}: stray bytes", *dump_stray(exchange.stray)]
    if step.sentinel:
        sentinel = b"".join(step.pieces)[len(exchange.request.data) :]
        lines += [f"connection {step.connection}: {NEXT_REQUEST}", *dump_request(sentinel)]
        lines.append(f"  the next request: {sentinel_word(step)}")
    return [*lines, ""]


def _outcome_of(exchange: Exchange) -> str:
    """Return an exchange's outcome, and how it relates to the sentinel if they are not in order."""
    return ", ".join(filter(None, (exchange.outcome.value, exchange.arrival.value)))


def _dump_sent(request: Request) -> list[str]:
    if request.api_key == SASL_AUTHENTICATE_KEY and request.api_version == BARE_TOKEN:
        return dump_bare(request.data, "token")
    lines = dump_request(request.data, request.layout)
    if request.layout is not None and request.layout.version != request.api_version:
        named_by = f"v{request.layout.version}, the nearest known version"
        lines.append(f"  request and response are decoded as {named_by}")
    return lines


def _dump_payload(request: Request, payload: bytes) -> list[str]:
    frame = encode_frame(payload)
    if request.api_key == API_VERSIONS_KEY:
        return dump_answer(frame, api_version=layout_of_answer(payload, request.api_version))
    if request.layout is None:
        return dump_bare(frame, BARE_ANSWER)
    return dump_answer_of(frame, request.layout)


def sentinel_word(step: Step) -> str:
    """Return whether the sentinel of a step was answered, and whether that came before the response to the request."""
    (exchange,) = step.exchanges
    if exchange.arrival.sentinel_came_first:
        return "answered first"
    return "answered" if exchange.usable else "unanswered"


def render_play(steps: Sequence[Step]) -> str:
    """Return an annotated hex dump of what a client sent and what the scripted broker answered.

    A response that was there before, but for its correlation id, is named instead of dumped.

    Args:
        steps: as `reference_model.clients.scripts.steps` makes them.
    """
    if not steps:
        return "connection 0: no request was recorded\n"
    left_out = range(FIRST_STEPS, len(steps) - LAST_STEPS)
    seen: _Seen = {}
    lines: list[str] = []
    for index, step in enumerate(steps):
        if index not in left_out:
            lines += [*_play_lines(step, seen), ""]
        elif index == left_out.start:
            lines += [f"  {len(left_out)} steps are left out here; exchange.pcap has all", ""]
    return "\n".join(lines)


def _play_lines(step: Step, seen: _Seen) -> Iterator[str]:
    where = f"connection {step.connection}"
    to_node = f" to {step.listener}" if step.listener else ""
    for exchange in step.exchanges:
        broken = f" ({exchange.request.broken})" if exchange.request.broken else ""
        yield f"{where}: client sent{to_node}{broken}"
        yield from _dump_sent(exchange.request)
        if exchange.outcome is Outcome.ANSWER:
            yield f"{where}: broker answered{_with_error(exchange)}"
        elif exchange.outcome is Outcome.SILENT and not exchange.stray:
            yield f"{where}: broker silent"
        if exchange.payload is not None:
            yield from _dump_known_payload(exchange.request, exchange.payload, seen)
        if exchange.stray:
            yield f"{where}: broker sent bytes that are no complete response"
            yield from dump_stray(exchange.stray)
    if step.pieces and not step.exchanges:
        yield f"{where}: client sent bytes that are no request{to_node}"
        yield from dump_stray(b"".join(step.pieces))
    if step.ended:
        yield f"{where}: broker closed"
    elif step.closes:
        yield f"{where}: client closed"


def _with_error(exchange: Exchange) -> str:
    """Name the error code of an ApiVersions response; of others it is not known where they have one."""
    if exchange.request.api_key != API_VERSIONS_KEY or exchange.payload is None:
        return ""
    code = read_error_code(exchange.payload)
    return f" with {ErrorCode(code)!r}" if code else ""


def _dump_known_payload(request: Request, payload: bytes, seen: _Seen) -> Iterator[str]:
    has_right_id = read_correlation_id(payload) == request.correlation_id
    known = (request.api_key, request.api_version, payload[CORRELATION_ID_BYTES:])
    if has_right_id and known in seen:
        yield f"  with the bytes of the response with correlation id {seen[known]}"
        return
    if has_right_id:
        seen[known] = request.correlation_id
    yield from _dump_payload(request, payload)


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
    if len(value) > MAX_VALUE:
        value = f"{value[:MAX_VALUE]}..."
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
