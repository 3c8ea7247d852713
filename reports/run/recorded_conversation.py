"""The recorded steps of a failure as a conversation.

For a broker, "sent" is what the suite sent. For a client, the parts name both sides: the client sent, the scripted
broker answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reports.run.conversation import ByteRow, ConversationPart
from reports.run.frame_rows import (
    BARE_ANSWER,
    answer_rows,
    answer_rows_of,
    bare_rows,
    layout_of_answer,
    request_rows,
    stray_rows,
)
from wire.api_keys import API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome, Request, Step
from wire.frames import encode_frame
from wire.headers import CORRELATION_ID_BYTES, read_correlation_id, read_error_code
from wire.sasl import BARE_TOKEN

FIRST_STEPS, LAST_STEPS = 40, 20
"""Steps of a client's play that are kept; a client may send hundreds of requests, and the capture has more of them."""
TOKEN_HIDDEN = "the tokens of both sides are hidden, because the credentials were given"
"""The remark about a request whose token is not shown."""
NEXT_REQUEST = "the next request, which shows whether the connection is alive"
"""What a sentinel is, which follows what came for the request before it."""

_Seen = dict[tuple[int, int, bytes], int]
"""Responses by API, version and bytes, each with the correlation id of the first request that got it."""


def conversation_with_broker(steps: Iterable[Step]) -> tuple[ConversationPart, ...]:
    """Return everything that the suite sent and received."""
    return tuple(part for step in steps for part in _parts_of_step(step))


def _parts_of_step(step: Step) -> Iterator[ConversationPart]:
    if step.closes:
        yield ConversationPart(connection=step.connection, what="closed by us", ends_step=True)
        return
    if step.pause_s:
        what = f"nothing sent for {step.pause_s:g} s"
        yield ConversationPart(connection=step.connection, what=what, ends_step=True)
    if len(step.pieces) > 1:
        sizes = ", ".join(str(len(piece)) for piece in step.pieces)
        yield ConversationPart(connection=step.connection, what=f"written in pieces of {sizes} bytes")
    if step.pieces and not step.exchanges:
        yield ConversationPart(
            connection=step.connection,
            what="sent, without waiting for a response",
            rows=request_rows(b"".join(step.pieces)),
            ends_step=True,
        )
    for exchange in step.exchanges:
        yield from _ended(_parts_of_exchange(step, exchange))
    if step.end_of_stream:
        what = "our side of the stream ended"
        yield ConversationPart(connection=step.connection, what=what, ends_step=True)


def _ended(parts: Iterable[ConversationPart]) -> Iterator[ConversationPart]:
    """Yield parts, of which the last ends its step."""
    *others, last = parts
    yield from others
    yield replace(last, ends_step=True)


def _parts_of_exchange(step: Step, exchange: Exchange) -> Iterator[ConversationPart]:
    broken = f" ({exchange.request.broken})" if exchange.request.broken else ""
    if exchange.request.is_hidden:
        broken = f" ({TOKEN_HIDDEN})"
    yield _sent_part(step, exchange.request, f"sent{broken}")
    yield ConversationPart(
        connection=step.connection,
        what=_outcome_of(exchange),
        rows=() if exchange.payload is None else _payload_rows(exchange.request, exchange.payload),
    )
    if exchange.stray:
        yield ConversationPart(connection=step.connection, what="stray bytes", rows=stray_rows(exchange.stray))
    if step.sentinel:
        yield ConversationPart(
            connection=step.connection,
            what=NEXT_REQUEST,
            rows=request_rows(b"".join(step.pieces)[len(exchange.request.data) :]),
            notes=(f"the next request: {sentinel_word(step)}",),
        )


def _outcome_of(exchange: Exchange) -> str:
    """Return an exchange's outcome, and how it relates to the sentinel if they are not in order."""
    return ", ".join(filter(None, (exchange.outcome.value, exchange.arrival.value)))


def _sent_part(step: Step, request: Request, what: str) -> ConversationPart:
    if request.api_key == SASL_AUTHENTICATE_KEY and request.api_version == BARE_TOKEN:
        return ConversationPart(connection=step.connection, what=what, rows=bare_rows(request.data, "token"))
    notes = []
    if request.layout is not None and request.layout.version != request.api_version:
        named_by = f"v{request.layout.version}, the nearest known version"
        notes.append(f"request and response are decoded as {named_by}")
    rows = request_rows(request.data, request.layout)
    return ConversationPart(connection=step.connection, what=what, rows=rows, notes=tuple(notes))


def _payload_rows(request: Request, payload: bytes) -> tuple[ByteRow, ...]:
    frame = encode_frame(payload)
    if request.api_key == API_VERSIONS_KEY:
        return answer_rows(frame, api_version=layout_of_answer(payload, request.api_version))
    if request.layout is None:
        return bare_rows(frame, BARE_ANSWER)
    return answer_rows_of(frame, request.layout)


def sentinel_word(step: Step) -> str:
    """Return whether the sentinel of a step was answered, and whether that came before the response to the request."""
    (exchange,) = step.exchanges
    if exchange.arrival.sentinel_came_first:
        return "answered first"
    return "answered" if exchange.usable else "unanswered"


def conversation_with_client(steps: Sequence[Step]) -> tuple[ConversationPart, ...]:
    """Return what a client sent and what the scripted broker answered.

    A response that was there before, but for its correlation id, is named instead of repeated.

    Args:
        steps: as `reference_model.clients.scripts.steps` makes them.
    """
    if not steps:
        return (ConversationPart(connection=0, what="no request was recorded", ends_step=True),)
    left_out = range(FIRST_STEPS, len(steps) - LAST_STEPS)
    seen: _Seen = {}
    parts: list[ConversationPart] = []
    for index, step in enumerate(steps):
        if index not in left_out:
            parts += _ended(_parts_of_play(step, seen))
        elif index == left_out.start:
            gap = f"{len(left_out)} steps are left out here; exchange.pcap has all"
            parts[-1] = replace(parts[-1], left_out=gap)
    return tuple(parts)


def _parts_of_play(step: Step, seen: _Seen) -> Iterator[ConversationPart]:
    to_node = f" to {step.listener}" if step.listener else ""
    for exchange in step.exchanges:
        broken = f" ({exchange.request.broken})" if exchange.request.broken else ""
        yield _sent_part(step, exchange.request, f"client sent{to_node}{broken}")
        if exchange.payload is not None:
            yield _answer_part(step, exchange, exchange.payload, seen)
        elif exchange.outcome is Outcome.SILENT and not exchange.stray:
            yield ConversationPart(connection=step.connection, what="broker silent")
        if exchange.stray:
            what = "broker sent bytes that are no complete response"
            yield ConversationPart(connection=step.connection, what=what, rows=stray_rows(exchange.stray))
    if step.pieces and not step.exchanges:
        what = f"client sent bytes that are no request{to_node}"
        yield ConversationPart(connection=step.connection, what=what, rows=stray_rows(b"".join(step.pieces)))
    if step.ended:
        yield ConversationPart(connection=step.connection, what="broker closed")
    elif step.closes:
        yield ConversationPart(connection=step.connection, what="client closed")


def _answer_part(step: Step, exchange: Exchange, payload: bytes, seen: _Seen) -> ConversationPart:
    """Return a response with its bytes, or with a note instead if they were there before."""
    request = exchange.request
    part = ConversationPart(connection=step.connection, what=f"broker answered{_with_error(request, payload)}")
    has_right_id = read_correlation_id(payload) == request.correlation_id
    known = (request.api_key, request.api_version, payload[CORRELATION_ID_BYTES:])
    if has_right_id and known in seen:
        return replace(part, notes=(f"with the bytes of the response with correlation id {seen[known]}",))
    if has_right_id:
        seen[known] = request.correlation_id
    return replace(part, rows=_payload_rows(request, payload))


def _with_error(request: Request, payload: bytes) -> str:
    """Name the error code of an ApiVersions response; of others it is not known where they have one."""
    code = read_error_code(payload) if request.api_key == API_VERSIONS_KEY else 0
    return f" with {ErrorCode(code)!r}" if code else ""
