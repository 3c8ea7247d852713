"""SASL steps that are wrong on purpose.

Mechanisms and tokens are null, too long or something else.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from strategies.api_versions import build_request
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.codec import TAG_SECTION
from wire.exchange import Request, encode_request
from wire.frames import SIZE_BYTES
from wire.header_versions import FLEXIBLE_REQUEST_HEADER, PLAIN_REQUEST_HEADER
from wire.headers import RequestHeader
from wire.plain_header import plain_header
from wire.primitives import (
    INT16_MAX,
    INT16_MIN,
    INT32_MAX,
    INT32_MIN,
    NO_TAGS,
    write_int16,
    write_int32,
    write_unsigned_varint,
)
from wire.sasl import FIRST_FLEXIBLE_AUTHENTICATE, PLAIN, bare_token, handshake_request

NEWEST_AUTHENTICATE = FIRST_FLEXIBLE_AUTHENTICATE
MAX_MECHANISM = 1000
TAGS_BEYOND_THE_FRAME = write_unsigned_varint(3)
"""A section that announces three tags, and has none."""


def _header(api_key: int, api_version: int) -> RequestHeader:
    return plain_header(api_key, api_version, 23)


def build_handshake(version: int, body: bytes, *, broken: str) -> Request:
    """Return a SaslHandshake request whose body consists of these bytes."""
    return encode_request(
        _header(SASL_HANDSHAKE_KEY, version),
        body,
        header_version=PLAIN_REQUEST_HEADER,
        broken=broken,
    )


def build_handshake_of_length(version: int, length: int) -> Request:
    """Return a SaslHandshake request that announces a mechanism of this length and has that of PLAIN."""
    body = write_int16(length) + PLAIN.encode()
    return build_handshake(version, body, broken=f"a mechanism of length {length}")


def build_authenticate_of_length(version: int, length: int) -> Request:
    """Return a SaslAuthenticate request that announces a token of this length and has four bytes; -1 is null."""
    is_flexible = version >= FIRST_FLEXIBLE_AUTHENTICATE
    # A compact length has no negative values but null.
    announced = write_unsigned_varint(max(length, -1) + 1) if is_flexible else write_int32(length)
    return encode_request(
        _header(SASL_AUTHENTICATE_KEY, version),
        announced + b"\0a\0b",
        header_version=FLEXIBLE_REQUEST_HEADER if is_flexible else PLAIN_REQUEST_HEADER,
        broken=f"a token of length {length}",
    )


def build_authenticate_with_tags(header_tags: bytes, body_tags: bytes) -> Request:
    """Return a SaslAuthenticate request with a wrong token, in the newest version, with these tag sections."""
    return encode_request(
        _header(SASL_AUTHENTICATE_KEY, NEWEST_AUTHENTICATE),
        write_unsigned_varint(5) + b"\0a\0b" + body_tags,
        header_version=FLEXIBLE_REQUEST_HEADER,
        raw_header={TAG_SECTION: header_tags},
        broken="odd tags in SaslAuthenticate",
    )


def build_token_of_frame(inner: Request, *, with_size: bool = False) -> Request:
    """Return a bare token that is a request of Kafka's protocol, with its size prefix or without it."""
    token = bare_token(inner.data[0 if with_size else SIZE_BYTES :])
    return replace(token, broken="a token that is a request")


def _handshakes() -> st.SearchStrategy[Request]:
    versions = st.sampled_from((0, 1))
    negative = st.just(-1) | st.integers(INT16_MIN, -2)
    too_long = st.integers(len(PLAIN) + 1, INT16_MAX)
    long = st.integers(1, MAX_MECHANISM).map(lambda count: "x" * count)
    return st.one_of(
        st.builds(build_handshake_of_length, versions, negative | too_long),
        st.builds(
            lambda version, body: build_handshake(version, body, broken="half a length"),
            versions,
            st.binary(max_size=1),
        ),
        st.builds(
            lambda version, name: replace(
                handshake_request(version=version, mechanism=name), broken="an unknown mechanism"
            ),
            versions,
            long,
        ),
    )


def _tokens() -> st.SearchStrategy[Request]:
    lengths = st.just(-1) | st.integers(INT32_MIN, -2) | st.integers(5, 200) | st.just(INT32_MAX)
    sections = st.sampled_from((NO_TAGS, TAGS_BEYOND_THE_FRAME)) | st.binary(max_size=6)
    return st.one_of(
        st.builds(build_authenticate_of_length, st.integers(0, NEWEST_AUTHENTICATE), lengths),
        st.builds(build_authenticate_with_tags, sections, sections),
    )


def broken_sasl_steps() -> st.SearchStrategy[Request]:
    """SaslHandshake and SaslAuthenticate requests and bare tokens that no correct client sends."""
    frames = st.integers(0, 4).map(lambda version: build_request(version=version))
    return st.one_of(
        _handshakes(),
        _tokens(),
        st.builds(
            lambda inner, with_size: build_token_of_frame(inner, with_size=with_size),
            frames,
            st.booleans(),
        ),
    )
