"""Replaces the tokens of an authentication by bytes of the same length.

They are replaced in both directions: a token of SCRAM contains no password, but lets whoever has it guess passwords
without asking the broker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from wire.api_keys import SASL_AUTHENTICATE_KEY
from wire.codec import Trace, decode_prefix
from wire.described_messages import SASL_AUTHENTICATE
from wire.errors import DecodeError
from wire.exchange import Exchange, Request, Step
from wire.frames import SIZE_BYTES
from wire.headers import CORRELATION_ID_BYTES, ERROR_CODE_BYTES, InstanceIdHeader, ResponseHeader
from wire.hidden_bytes import filler
from wire.sasl import BARE_TOKEN, plain_token

_START_BYTES = SIZE_BYTES + 2 + 2 + CORRELATION_ID_BYTES
"""Size, API key, version and correlation id of a request."""
_TOKEN_FIELD = "auth_bytes"


def is_token(request: Request) -> bool:
    """Return whether a request carries a token, with a header of its own or without."""
    return request.api_key == SASL_AUTHENTICATE_KEY


class TokenHider:
    """Hides the tokens of one user in the steps of a connection."""

    def __init__(self, username: str, password: str) -> None:
        """Store what the token of PLAIN contains; tokens of other mechanisms are found by their requests."""
        self._plain_token = plain_token(username, password)

    def hide(self, step: Step) -> Step:
        """Return a step without tokens; pieces, requests and responses keep their lengths."""
        exchanges = tuple(map(self._hidden_exchange, step.exchanges))
        sent = b"".join(step.pieces)
        of_requests = b"".join(each.request.data for each in exchanges)
        if len(of_requests) <= len(sent):
            # A sentinel may follow; whatever is written are the requests, in one piece or several.
            sent = of_requests + sent[len(of_requests) :]
        sent = self._without_plain_token(sent)
        has_token = any(is_token(each.request) for each in step.exchanges)
        return replace(
            step,
            exchanges=exchanges,
            pieces=tuple(_cut_like(sent, step.pieces)),
            following=tuple(map(_filled, step.following)) if has_token else step.following,
            unread=_filled(step.unread) if has_token else step.unread,
        )

    def _hidden_exchange(self, exchange: Exchange) -> Exchange:
        request, payload = exchange.request, exchange.payload
        if not is_token(request):
            data = self._without_plain_token(request.data)
            return replace(exchange, request=replace(request, data=data))
        return replace(
            exchange,
            request=replace(request, data=_hidden_request(request), is_hidden=True),
            payload=None if payload is None else _hidden_payload(request, payload),
            stray=_filled(exchange.stray),
        )

    def _without_plain_token(self, data: bytes) -> bytes:
        return data.replace(self._plain_token, filler(len(self._plain_token)))


def _filled(data: bytes) -> bytes:
    return filler(len(data))


def _cut_like(data: bytes, pieces: Iterable[bytes]) -> Iterable[bytes]:
    start = 0
    for piece in pieces:
        yield data[start : start + len(piece)]
        start += len(piece)


def token_in(request: Request) -> slice | None:
    """Return where the token is in the bytes of a request that carries one; None if they do not decode."""
    if request.api_version == BARE_TOKEN:
        return slice(SIZE_BYTES, len(request.data))
    known = SASL_AUTHENTICATE.request_header_version(request.api_version)
    header_version = known if request.layout is None else request.layout.request_header_version
    return _token_at(
        request.data,
        SIZE_BYTES,
        (InstanceIdHeader, header_version),
        (SASL_AUTHENTICATE.request, request.api_version),
    )


def _hidden_request(request: Request) -> bytes:
    """Return the bytes of a request with its token replaced, or with all that may be one if it does not decode."""
    where = token_in(request) or slice(_START_BYTES, len(request.data))
    return _hidden(request.data, where)


def _hidden_payload(request: Request, payload: bytes) -> bytes:
    """Return a response to a token with the broker's own token replaced."""
    version = request.api_version
    if version == BARE_TOKEN:
        return _filled(payload)
    header_version = SASL_AUTHENTICATE.response_header_version(version)
    where = _token_at(payload, 0, (ResponseHeader, header_version), (SASL_AUTHENTICATE.response, version))
    return _hidden(payload, where or slice(CORRELATION_ID_BYTES + ERROR_CODE_BYTES, len(payload)))


def _token_at(data: bytes, start: int, header: tuple[type[Any], int], body: tuple[type[Any], int]) -> slice | None:
    """Return where the token is in a message; `header` and `body` are classes with their versions."""
    trace: Trace = []
    try:
        _, offset = decode_prefix(header[0], data, version=header[1], offset=start)
        decode_prefix(body[0], data, version=body[1], offset=offset, trace=trace)
    except DecodeError:
        return None
    (span,) = (each for each in trace if each.field_path == _TOKEN_FIELD)
    return slice(span.end - len(span.value), span.end)


def _hidden(data: bytes, where: slice) -> bytes:
    return data[: where.start] + _filled(data[where]) + data[where.stop :]
