"""SASL requests: the bytes of handshakes and tokens."""

from __future__ import annotations

import pytest

from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.errors import DecodeError
from wire.sasl import (
    BARE_TOKEN,
    authenticate_request,
    bare_token,
    handshake_request,
    plain_token,
    read_authenticate,
)

CLIENT_ID = b"\x00\x11kafka-conformance"


def test_handshake_names_the_mechanism() -> None:
    """The handshake has key 17, the version, a v1 header, and the mechanism with an int16 length."""
    sent = handshake_request(version=1, mechanism="PLAIN", correlation_id=7)
    payload = b"\x00\x11\x00\x01\x00\x00\x00\x07" + CLIENT_ID + b"\x00\x05PLAIN"
    assert sent.data == len(payload).to_bytes(4) + payload
    assert (sent.api_key, sent.api_version) == (SASL_HANDSHAKE_KEY, 1)


def test_token_is_wrapped_with_an_int32_length() -> None:
    """SaslAuthenticate v0 carries the token as bytes with an int32 length."""
    sent = authenticate_request(b"\x00a\x00b", correlation_id=8)
    payload = b"\x00\x24\x00\x00\x00\x00\x00\x08" + CLIENT_ID + b"\x00\x00\x00\x04\x00a\x00b"
    assert sent.data == len(payload).to_bytes(4) + payload


def test_newer_versions_carry_the_same_token() -> None:
    """SaslAuthenticate v1 has the layout of v0; v2 has a compact length, and tags in header and body."""
    first = authenticate_request(b"ab", version=1, correlation_id=8).data
    assert first == authenticate_request(b"ab", correlation_id=8).data.replace(b"\x00\x24\x00\x00", b"\x00\x24\x00\x01")
    tags = b"\x01\x05\x01x"
    flexible = authenticate_request(b"ab", version=2, tags=tags, correlation_id=8)
    payload = b"\x00\x24\x00\x02\x00\x00\x00\x08" + CLIENT_ID + tags + b"\x03ab" + tags
    assert flexible.data == len(payload).to_bytes(4) + payload


def test_bare_token_is_a_frame_and_nothing_more() -> None:
    """After SaslHandshake v0, a token is sent without a request header."""
    sent = bare_token(plain_token("me", "secret"))
    assert sent.data == b"\x00\x00\x00\x0a\x00me\x00secret"
    assert (sent.api_key, sent.api_version) == (SASL_AUTHENTICATE_KEY, BARE_TOKEN)


@pytest.mark.parametrize(
    ("version", "rest", "token"),
    [
        pytest.param(0, "ffff 00000002 6162", b"ab", id="no-message"),
        pytest.param(0, "0001 78 00000002 6162", b"ab", id="message"),
        pytest.param(0, "ffff ffffffff", b"", id="null"),
        pytest.param(1, "ffff 00000002 6162 0000000000000000", b"ab", id="v1"),
        pytest.param(2, "00 03 6162 0000000000000000 00", b"ab", id="v2"),
        pytest.param(2, "02 78 03 6162 0000000000000000 00", b"ab", id="v2-with-a-message"),
        pytest.param(2, "00 00 0000000000000000 00", b"", id="v2-null"),
    ],
)
def test_token_of_a_response_follows_its_message(version: int, rest: str, token: bytes) -> None:
    """The token comes after the error message, in v2 after the header's tags as well; a null token counts as empty."""
    tags = "01 05 01 78" if version == 2 else ""
    payload = bytes.fromhex(f"00000007 {tags} 003a {rest}")
    assert read_authenticate(payload, version) == (58, token)


@pytest.mark.parametrize(
    ("version", "payload"),
    [
        pytest.param(0, "00000024 0000 ffff 00000003 6869", id="v0"),
        pytest.param(2, "00000024 00 0000 00 04 6869", id="v2"),
        pytest.param(0, "00000024 00", id="no-error-code"),
    ],
)
def test_response_that_ends_inside_its_token_is_refused(version: int, payload: str) -> None:
    """A length beyond the end is an error."""
    with pytest.raises(DecodeError):
        read_authenticate(bytes.fromhex(payload), version)
