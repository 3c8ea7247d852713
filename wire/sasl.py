"""The requests that authenticate a connection, as far as ApiVersions meets them: handshake and tokens.

Source: KIP-43 (SaslHandshake v0 and the bare tokens behind it) and KIP-152 (SaslHandshake v1, SaslAuthenticate).
"""

from __future__ import annotations

from wire import primitives
from wire.exchange import Request, encode_request
from wire.frames import encode_frame
from wire.headers import PLAIN_REQUEST_HEADER, RequestHeader

SASL_HANDSHAKE_KEY = 17
SASL_AUTHENTICATE_KEY = 36
CORRELATION_ID_BYTES = 4
ERROR_CODE_BYTES = 2
BARE_TOKEN = -1
"""Stands as api version where a token goes over the wire without a request header."""


def handshake_request(
    *, version: int = 1, mechanism: str = "PLAIN", correlation_id: int = 17
) -> Request:
    """Return a SaslHandshake request: behind v0 come bare tokens, behind v1 SaslAuthenticate requests."""
    header = RequestHeader(
        request_api_key=SASL_HANDSHAKE_KEY,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id="kafka-conformance",
    )
    body = primitives.write_nullable_string(mechanism)
    return encode_request(header, body, header_version=PLAIN_REQUEST_HEADER)


def authenticate_request(token: bytes, *, correlation_id: int = 36) -> Request:
    """Return a SaslAuthenticate v0 request that carries a token."""
    header = RequestHeader(
        request_api_key=SASL_AUTHENTICATE_KEY,
        request_api_version=0,
        correlation_id=correlation_id,
        client_id="kafka-conformance",
    )
    body = primitives.write_int32(len(token)) + token
    return encode_request(header, body, header_version=PLAIN_REQUEST_HEADER)


def bare_token(token: bytes) -> Request:
    """Return a token as it goes behind SaslHandshake v0: a frame of its own, without a header."""
    header = RequestHeader(
        request_api_key=SASL_AUTHENTICATE_KEY, request_api_version=BARE_TOKEN, correlation_id=0
    )
    return Request(data=encode_frame(token), header=header)


def plain_token(username: str, password: str) -> bytes:
    """Return the one token of the PLAIN mechanism. Source: RFC 4616, section 2."""
    return b"\0".join((b"", username.encode(), password.encode()))


def token_answering(payload: bytes) -> bytes:
    """Return the token in an answer to SaslAuthenticate v0; a null one counts as empty.

    Args:
        payload: the answer without its size prefix.

    Raises:
        DecodeError: the answer ends too early.
    """
    data = memoryview(payload)
    _, offset = primitives.read_nullable_string(data, CORRELATION_ID_BYTES + ERROR_CODE_BYTES)
    length, offset = primitives.read_int32(data, offset)
    token, _ = primitives.read_bytes(data, offset, max(length, 0))
    return bytes(token)
