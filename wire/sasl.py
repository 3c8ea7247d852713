"""The messages of SASL authentication that the suite needs: handshake and tokens.

Source: KIP-43 (SaslHandshake v0 and the bare tokens after it) and KIP-152 (SaslHandshake v1, SaslAuthenticate).
"""

from __future__ import annotations

from typing import NamedTuple

from wire import primitives
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.codec import TAG_SECTION, encode
from wire.described_messages import SASL_AUTHENTICATE, SASL_HANDSHAKE
from wire.exchange import Request, encode_request
from wire.frames import encode_frame
from wire.header_versions import FLEXIBLE_REQUEST_HEADER, PLAIN_REQUEST_HEADER
from wire.headers import CORRELATION_ID_BYTES
from wire.plain_header import plain_header
from wire.primitives import NO_TAGS

PLAIN = "PLAIN"
"""The name of the mechanism that sends a password as it is."""
FIRST_FLEXIBLE_AUTHENTICATE = 2
BARE_TOKEN = -1
"""The api version in the header of a `Request` that is a bare token, sent without a request header."""


def handshake_request(*, version: int = 1, mechanism: str = PLAIN, correlation_id: int = 17) -> Request:
    """Return a SaslHandshake request. Bare tokens follow v0, SaslAuthenticate requests follow v1."""
    header = plain_header(SASL_HANDSHAKE_KEY, version, correlation_id)
    # Negative versions have no layout of their own.
    written = max(version, 0)
    body = encode(SASL_HANDSHAKE.request(mechanism=mechanism), version=written)
    layout = SASL_HANDSHAKE.layout(written)
    return encode_request(header, body, layout=layout)


def authenticate_request(token: bytes, *, version: int = 0, tags: bytes = NO_TAGS, correlation_id: int = 36) -> Request:
    """Return a SaslAuthenticate request that carries a token.

    v0 and v1 have the same form. v2 has tags in header and body.
    """
    header = plain_header(SASL_AUTHENTICATE_KEY, version, correlation_id)
    if version >= FIRST_FLEXIBLE_AUTHENTICATE:
        return encode_request(
            header,
            primitives.write_unsigned_varint(len(token) + 1) + token + tags,
            header_version=FLEXIBLE_REQUEST_HEADER,
            raw_header={TAG_SECTION: tags},
        )
    body = encode(SASL_AUTHENTICATE.request(auth_bytes=token), version=0)
    if version > 0:
        return encode_request(header, body, header_version=PLAIN_REQUEST_HEADER)
    layout = SASL_AUTHENTICATE.layout(0)
    return encode_request(header, body, layout=layout)


def bare_token(token: bytes) -> Request:
    """Return a token in the form that follows SaslHandshake v0: a frame of its own, without a header."""
    header = plain_header(SASL_AUTHENTICATE_KEY, BARE_TOKEN, 0, client_id="")
    return Request(data=encode_frame(token), header=header)


def plain_token(username: str, password: str) -> bytes:
    """Return the only token of the PLAIN mechanism. Source: RFC 4616, section 2."""
    return b"\0".join((b"", username.encode(), password.encode()))


class AuthenticateAnswer(NamedTuple):
    """What a response to SaslAuthenticate contains.

    Attributes:
        error_code: the error code.
        token: the token; a null one is empty.
    """

    error_code: int
    token: bytes


def read_authenticate(payload: bytes, version: int = 0) -> AuthenticateAnswer:
    """Read a response to SaslAuthenticate up to its token; v0 and v1 are alike up to there.

    Args:
        payload: the response without its size prefix.
        version: the version of the request.

    Raises:
        DecodeError: the response ends too early, or is malformed.
    """
    data = memoryview(payload)
    offset = CORRELATION_ID_BYTES
    if version >= FIRST_FLEXIBLE_AUTHENTICATE:
        _, offset = primitives.read_raw_tagged_fields(data, offset)
        error_code, offset = primitives.read_int16(data, offset)
        _, offset = primitives.read_compact_nullable_string(data, offset)
        token, _ = primitives.read_compact_nullable_bytes(data, offset)
        return AuthenticateAnswer(error_code, token or b"")
    error_code, offset = primitives.read_int16(data, offset)
    _, offset = primitives.read_nullable_string(data, offset)
    length, offset = primitives.read_int32(data, offset)
    read, _ = primitives.read_bytes(data, offset, max(length, 0))
    return AuthenticateAnswer(error_code, bytes(read))
