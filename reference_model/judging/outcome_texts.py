"""Sentences about what a target did with a request, and what the model allows."""

from __future__ import annotations

from collections.abc import Sequence

from reference_model.broker.rules.reaction import Reaction
from reference_model.judging.flexible_headers import response_after_tag_section
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome
from wire.frames import DEFAULT_MAX_FRAME_BYTES, SIZE_BYTES, read_size
from wire.headers import CORRELATION_ID_BYTES, correlation_id_bytes, read_error_code
from wire.hidden_tokens import is_token


def in_words(allowed: Sequence[Reaction]) -> str:
    """Return the allowed reactions in words, each once."""
    return " or ".join(dict.fromkeys(map(str, allowed)))


def what_it_did(exchange: Exchange) -> str:
    """Describe the outcome of a request, without the content of a response."""
    what = {
        Outcome.ANSWER: "answered",
        Outcome.CLOSED: "closed the connection",
        Outcome.IGNORED: "ignored the request",
        Outcome.SILENT: "fell silent",
    }[exchange.outcome]
    return f"the target {what}{_arrival_of(exchange)}"


def part_of_response(exchange: Exchange) -> str:
    """Describe a response of which only a part came; empty if there is none of which this is known."""
    if len(exchange.stray) < SIZE_BYTES or exchange.framing_error is not None:
        return ""
    size, came = read_size(exchange.stray), len(exchange.stray) - SIZE_BYTES
    if not came < size <= DEFAULT_MAX_FRAME_BYTES:
        return ""
    return f"its size is {size}, {came} bytes came, and then {what_it_did(exchange)}"


def _arrival_of(exchange: Exchange) -> str:
    return f" {exchange.arrival.value}" if exchange.arrival else ""


def summary_of(exchange: Exchange) -> str:
    """Describe the outcome of a request in a few words, and what came after a response."""
    answered = what_it_answered(exchange)
    if exchange.payload is None or read_error_code(exchange.payload) is None:
        return answered
    return f"{answered}; {what_followed(exchange)}"


def what_it_answered(exchange: Exchange) -> str:
    """Describe the outcome of a request in a few words."""
    if exchange.payload is None:
        return what_it_did(exchange)
    code = read_error_code(exchange.payload)
    if code is None:
        return f"the target answered {exchange.payload.hex() or 'with an empty frame'}"
    flexible = response_after_tag_section(exchange.request, exchange.payload)
    what = repr(ErrorCode(code))
    if flexible is not None:
        what = f"{flexible.error_code!r} after a tag section in the response's header"
    return f"the target answered {what}{_other_id_in(exchange)}{_arrival_of(exchange)}"


def what_followed(exchange: Exchange) -> str:
    """Describe what came after a response that a sentinel followed."""
    if exchange.came_twice:
        return "the same response came a second time"
    if exchange.surplus:
        return f"then bytes came that belong to no response: {len(exchange.surplus)}"
    return f"the next request was {'answered' if exchange.usable else 'not answered'}"


def _other_id_in(exchange: Exchange) -> str:
    """Return that a response has another correlation id than its request; empty if it has the same."""
    sent = correlation_id_bytes(exchange.request.data[SIZE_BYTES:])
    seen = (exchange.payload or b"")[:CORRELATION_ID_BYTES]
    if is_token(exchange.request) or len(sent) < CORRELATION_ID_BYTES or sent == seen:
        return ""
    own, other = (int.from_bytes(id_, signed=True) for id_ in (sent, seen))
    return f" with the correlation id {other} instead of {own}"


def difference(exchange: Exchange, allowed: Sequence[Reaction]) -> str:
    """Return the sentence about a target that did something the model does not allow."""
    return f"the model allows {in_words(allowed)}; {summary_of(exchange)}"
