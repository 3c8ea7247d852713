"""Turns a target's bytes into values that a property can make assertions about.

Bytes that cannot be decoded are the target's fault: they raise `MalformedAnswer`, which is an AssertionError. Faults
on our side are `fixtures.errors.HarnessError` and are never raised here.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hypothesis import assume
from hypothesis.errors import UnsatisfiedAssumption

from fixtures.client.patience import SMALL_ANSWER_BYTES
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from reference_model.judging.agreement import part_of_response, what_it_did
from reference_model.judging.flexible_headers import (
    FLEXIBLE_RESPONSE_HEADER,
    response_after_tag_section,
)
from strategies.api_versions import UnservedRequest
from strategies.cluster_ids import Ids
from wire.api_versions import NEWEST_VERSION, ApiVersionsResponse
from wire.codec import decode, decode_prefix
from wire.error_codes import ErrorCode
from wire.errors import BufferUnderflow, DecodeError
from wire.exchange import Exchange, Outcome, Request
from wire.fields import Message
from wire.headers import CORRELATION_ID_BYTES, ResponseHeader, read_error_code
from wire.primitives import INT16_MAX

_DUMP_BYTES = 48
_SAYS_WHY = re.compile(r"panic|fatal error|SIG[A-Z]{3,}|Segmentation|FATAL|OutOfMemoryError|Uncaught")
"""Marks the line of a crash that states the reason, in Go, Rust, C and Java."""


class ResponseFault(enum.Enum):
    """Why the bytes of a target are not the required response."""

    FRAME = "its frame has a wrong size"
    NO_ANSWER = "there is no response"
    NO_ERROR_CODE = "it is too short for an error code"
    OTHER_ERROR = "it has another error code"
    OTHER_ID = "it has the correlation id of another request"
    UNDECODABLE = "it does not decode"
    SURPLUS = "bytes follow its body"
    NOT_KEPT = "the connection serves no request after it"


class MalformedAnswer(AssertionError):
    """The target's bytes are not the required response.

    Attributes:
        exchange: the exchange that they belong to.
        fault: the kind of problem.
        layout: the version of ApiVersions in whose layout they were read; None if they were not read in one.
    """

    def __init__(
        self,
        exchange: Exchange,
        problem: str,
        *,
        fault: ResponseFault = ResponseFault.UNDECODABLE,
        layout: int | None = None,
    ) -> None:
        super().__init__(problem)
        self.exchange = exchange
        self.fault = fault
        self.layout = layout


class JudgedElsewhere(HarnessError):
    """An example meets a fault that another clause judges, so it says nothing about the clause of its property."""


class Unjudged(AssertionError):
    """No source says how to judge something that a clause covers: informational, never a violation."""


class NotSeen(UnsatisfiedAssumption):
    """Rejection of an example because of the suite's limits, and not because of the target.

    Whether the target conforms stays open.
    """


class TargetEnded(AssertionError):
    """A request ended the target, and ended a fresh one too if we can start one."""


def crash_in_words(last_words: str) -> tuple[str, str]:
    """Return a one-line summary of a crash, and the complete text.

    The summary is the line in which the target states the reason, if there is one, else the first line, which is ours.

    Args:
        last_words: how the target ended, with the last lines that it wrote.
    """
    lines = last_words.splitlines() or [""]
    why = next((line for line in lines[1:] if _SAYS_WHY.search(line)), lines[0])
    return f"this request crashes the target: {why.strip()}", last_words


@contextmanager
def violation_context(where: str, value: str) -> Iterator[None]:
    """Add to a violation inside the block where the input stood, and in a second line what it was.

    The first line stays the same for all inputs that fail alike, because it distinguishes one failure from another.

    Args:
        where: what was unusual, for example "an unknown tag in the body".
        value: its value.
    """
    try:
        yield
    except AssertionError as error:
        what, *details = str(error).split("\n", 1)
        error.args = ("\n".join((f"{where}: {what}", value, *details)),)
        raise


def payload_of(exchange: Exchange) -> bytes:
    """Return the payload of the response.

    Raises:
        MalformedAnswer: there is no complete response.
    """
    if exchange.payload is not None:
        return exchange.payload
    frame = exchange.framing_error or part_of_response(exchange)
    if frame:
        raise MalformedAnswer(exchange, f"the response's frame: {frame}", fault=ResponseFault.FRAME)
    stray = f" after {exchange.stray[:_DUMP_BYTES].hex()}" if exchange.stray else ""
    raise MalformedAnswer(
        exchange,
        f"{what_it_did(exchange)} instead of answering{stray}",
        fault=ResponseFault.NO_ANSWER,
    )


def decode_answer(exchange: Exchange, *, api_version: int, exactly: bool = False) -> ApiVersionsResponse:
    """Decode a response in the layout of a version.

    Args:
        exchange: the exchange.
        api_version: the layout's version.
        exactly: whether bytes after the body are an error. Separate clauses judge these bytes, so other properties
            ignore them.

    Raises:
        MalformedAnswer: there is no response, or it does not decode.
    """
    payload = payload_of(exchange)
    body = payload[CORRELATION_ID_BYTES:]
    try:
        decode(ResponseHeader, payload[:CORRELATION_ID_BYTES], version=0)
        return _decode_body(body, api_version, exactly=exactly)
    except DecodeError as error:
        error.start += CORRELATION_ID_BYTES
        error.end += CORRELATION_ID_BYTES
        what = "a refusal (UNSUPPORTED_VERSION) in the layout of v0, and " if _is_refusal(body) else ""
        raise MalformedAnswer(
            exchange,
            f"{what}not decodable as ApiVersions v{api_version}: {error}",
            fault=_fault_of_body(body, api_version),
            layout=api_version,
        ) from error


def _fault_of_body(body: bytes, api_version: int) -> ResponseFault:
    """Return what is wrong with a body that does not decode exactly."""
    try:
        _decode_body(body, api_version, exactly=False)
    except DecodeError:
        return ResponseFault.UNDECODABLE
    return ResponseFault.SURPLUS


def _is_refusal(body: bytes) -> bool:
    """Return whether a body is the response of a broker that does not support the request's version."""
    try:
        return _decode_any_body(body, 0, exactly=True).error_code is ErrorCode.UNSUPPORTED_VERSION
    except DecodeError:
        return False


def _decode_body(body: bytes, api_version: int, *, exactly: bool) -> ApiVersionsResponse:
    """Decode the body of a response; small bodies are cached."""
    decode_once = _decode_small_body if len(body) <= SMALL_ANSWER_BYTES else _decode_any_body
    return decode_once(body, api_version, exactly=exactly)


def _decode_any_body(body: bytes, api_version: int, *, exactly: bool) -> ApiVersionsResponse:
    if exactly:
        return decode(ApiVersionsResponse, body, version=api_version)
    return decode_prefix(ApiVersionsResponse, body, version=api_version)[0]


_decode_small_body = functools.lru_cache(maxsize=1024)(_decode_any_body)
"""Cached, because a target sends the same few bodies again and again."""


def answer_after_flexible_header(exchange: Exchange, *, api_version: int) -> ApiVersionsResponse | None:
    """Decode a response that decodes with a tag section in its header, but not without one; None for any other."""
    payload = payload_of(exchange)
    try:
        decode_prefix(ApiVersionsResponse, payload, version=api_version, offset=CORRELATION_ID_BYTES)
    except DecodeError:
        with suppress(DecodeError):
            _, body = decode_prefix(ResponseHeader, payload, version=FLEXIBLE_RESPONSE_HEADER)
            answer, _ = decode_prefix(ApiVersionsResponse, payload, version=api_version, offset=body)
            return answer
    return None


def bytes_after_body(exchange: Exchange, *, api_version: int) -> bytes:
    """Return the bytes in a response's frame after the body of a version.

    Raises:
        MalformedAnswer: there is no response, or it does not decode.
    """
    decode_answer(exchange, api_version=api_version)
    payload = payload_of(exchange)
    _, end = decode_prefix(ApiVersionsResponse, payload, version=api_version, offset=CORRELATION_ID_BYTES)
    return payload[end:]


def error_code_of(exchange: Exchange) -> ErrorCode:
    """Read the error code of a response; its offset is the same in every version.

    Raises:
        MalformedAnswer: there is no response, it is too short for an error code, or that stands after a tag section.
    """
    payload = payload_of(exchange)
    flexible = response_after_tag_section(exchange.request, payload)
    if flexible is not None:
        version = exchange.request.api_version
        raise MalformedAnswer(
            exchange,
            f"the error code {flexible.error_code.name} stands after a tag section in the response's header",
            layout=version if version <= NEWEST_VERSION else 0,
        )
    code = read_error_code(payload)
    if code is None:
        error = BufferUnderflow("no error code", start=len(payload), end=len(payload), field_path="error_code")
        raise MalformedAnswer(
            exchange,
            f"the response is too short: {error}",
            fault=ResponseFault.NO_ERROR_CODE,
        )
    return ErrorCode(code)


def assert_answered(exchange: Exchange, problem: str) -> None:
    """Fail unless a request got a response; `problem` says what it means if it did not."""
    if exchange.payload is None:
        frame = exchange.framing_error or part_of_response(exchange)
        fault = ResponseFault.FRAME if frame else ResponseFault.NO_ANSWER
        raise MalformedAnswer(exchange, problem, fault=fault)


def decode_elsewhere(exchange: Exchange, *, api_version: int) -> ApiVersionsResponse:
    """Decode the response of another listener than the judged one.

    Raises:
        JudgedElsewhere: there is none, or it does not decode.
    """
    try:
        return decode_answer(exchange, api_version=api_version)
    except MalformedAnswer as error:
        raise JudgedElsewhere(f"on another listener, which is judged there, {error}") from error


def assert_kept(exchange: Exchange, problem: str) -> None:
    """Fail unless the connection serves a request after a response."""
    if not exchange.usable:
        raise MalformedAnswer(exchange, problem, fault=ResponseFault.NOT_KEPT)


def fate_of(exchange: Exchange) -> str:
    """Return what became of a request, whatever became of the next one."""
    if exchange.outcome is not Outcome.ANSWER:
        return what_it_did(exchange)
    return f"the target answered with {error_code_of(exchange).name}"


def assert_error(exchange: Exchange, *allowed: ErrorCode) -> ErrorCode:
    """Return a response's error code; fail unless it is one of those allowed.

    `ErrorCode.NONE` says that the request has to be served.
    """
    code = error_code_of(exchange)
    if code not in allowed:
        problem = f"the response has the error {code.name}, and not {' or '.join(each.name for each in allowed)}"
        raise MalformedAnswer(exchange, problem, fault=ResponseFault.OTHER_ERROR)
    return code


def assert_same_table(answer: ApiVersionsResponse, expected: ApiVersionsResponse, where: str) -> None:
    """Fail unless two responses list the same API keys with the same ranges.

    Args:
        answer: one response.
        expected: the other one.
        where: where the other one came from, for the failure message: "in v0".
    """
    found, wanted = key_ranges(answer), key_ranges(expected)
    differing = sorted(key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key))
    assert not differing, f"the table is not the one {where}\nAPI keys that differ: {', '.join(map(str, differing))}"


def assert_refused(exchange: Exchange, *, served: str = "the request was served") -> None:
    """Fail with the message `served` unless a request was refused: with a close, or with an error."""
    closed_or_answered = exchange.outcome in (Outcome.CLOSED, Outcome.ANSWER)
    assert closed_or_answered, f"neither refused nor closed; {what_it_did(exchange)}"
    if exchange.outcome is Outcome.ANSWER:
        assert error_code_of(exchange) is not ErrorCode.NONE, served


def key_ranges(answer: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    """Return the table of a response as a dict of API key to (min_version, max_version)."""
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}


def assume_seen(condition: bool) -> None:
    """Reject the example unless the suite has and sees what it takes to judge it.

    Raises:
        NotSeen: it does not.
    """
    if not condition:
        raise NotSeen


def assume_served(broker: Broker, *sent: Request) -> None:
    """Reject the example unless the target serves the version of every request."""
    assume(all(0 <= request.api_version <= broker.max_version for request in sent))


def assume_unserved(broker: Broker, sent: Request) -> None:
    """Reject the example unless the version is above the highest that the target serves."""
    assume(sent.api_version > broker.max_version)


def request_above(broker: Broker, drawn: UnservedRequest) -> Request:
    """Return a request in a version above the target's highest; reject the example if there is no such version."""
    assume(broker.max_version < INT16_MAX)
    return drawn.above(broker.max_version)


def tag_orders(answer: ApiVersionsResponse) -> tuple[tuple[int, ...], ...]:
    """Return the tags of every tag section of a response, in wire order."""
    structs: tuple[Message, ...] = (
        answer,
        *answer.api_keys,
        *answer.supported_features,
        *answer.finalized_features,
    )
    return tuple(struct.tag_order for struct in structs)


def right_ids(broker: Broker) -> Ids:
    """Return the ids of the target broker; a property that needs them is not applicable without them."""
    identity = broker.identity
    assert identity.cluster_id is not None
    assert identity.node_id is not None
    return Ids(identity.cluster_id, identity.node_id)
