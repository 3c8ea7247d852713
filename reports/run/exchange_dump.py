"""Everything that was exchanged in an example, as an annotated hex dump (`exchange.txt`).

For a broker, "sent" is what the suite sent. For a client, the texts name both sides: the client sent, the scripted broker
answered. `reports.site.byte_tables` reads the dumps back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.run.hex_dump import (
    BARE_ANSWER,
    dump_answer,
    dump_answer_of,
    dump_bare,
    dump_request,
    dump_stray,
    layout_of_answer,
)
from wire.api_keys import API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Request, Step
from wire.frames import encode_frame
from wire.headers import CORRELATION_ID_BYTES, read_correlation_id, read_error_code
from wire.sasl import BARE_TOKEN

FIRST_STEPS, LAST_STEPS = 40, 20
"""Steps of a client's play that are dumped; a client may send hundreds of requests, and the capture has more of them."""

TOKEN_HIDDEN = "the tokens of both sides are hidden, because the credentials were given"
"""The remark about a request whose token is not shown."""
NEXT_REQUEST = "the next request, which shows whether the connection is alive"
"""The heading of a sentinel, which follows what came for the request before it."""

_Seen = dict[tuple[int, int, bytes], int]
"""Responses by API, version and bytes, each with the correlation id of the first request that got it."""


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
