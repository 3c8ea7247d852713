"""Turns a target's bytes into values that a property can make assertions about.

Bytes that cannot be decoded are the target's fault: they raise `MalformedAnswer`, which is an AssertionError. Faults
on our side are `fixtures.errors.HarnessError` and are never raised here.
"""

from __future__ import annotations

import functools
from contextlib import suppress

from conformance.assertions.errors import JudgedElsewhere, MalformedAnswer, ResponseFault
from fixtures.client.patience import SMALL_ANSWER_BYTES
from reference_model.judging.flexible_headers import FLEXIBLE_RESPONSE_HEADER, response_after_tag_section
from reference_model.judging.outcome_texts import part_of_response, what_it_did
from wire.api_versions import NEWEST_VERSION, ApiVersionsResponse
from wire.codec import decode, decode_prefix
from wire.error_codes import ErrorCode
from wire.errors import BufferUnderflow, DecodeError
from wire.exchange import Exchange
from wire.headers import CORRELATION_ID_BYTES, ResponseHeader, read_error_code

_DUMP_BYTES = 48


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


def decode_elsewhere(exchange: Exchange, *, api_version: int) -> ApiVersionsResponse:
    """Decode the response of another listener than the judged one.

    Raises:
        JudgedElsewhere: there is none, or it does not decode.
    """
    try:
        return decode_answer(exchange, api_version=api_version)
    except MalformedAnswer as error:
        raise JudgedElsewhere(f"on another listener, which is judged there, {error}") from error


def key_ranges(answer: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    """Return the table of a response as a dict of API key to (min_version, max_version)."""
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}
