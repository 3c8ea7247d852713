"""What the proxy reads of requests, without sockets."""

from __future__ import annotations

import struct

import pytest

from tests.upgrade.watching.relay import (
    METADATA_KEY,
    PRODUCE,
    SASL_HANDSHAKE,
    request,
)
from upgrade.watching.request_head import RequestHead
from upgrade.watching.request_headers import RequestHeaders
from upgrade.watching.sasl_tokens import MAX_TOKENS
from wire.frames import encode_frame

HANDSHAKE = struct.pack(">hhih", SASL_HANDSHAKE, 0, 7, -1) + b"\0\6GSSAPI"
TOKEN = bytes.fromhex("0003 0001 7f7f7f7f ffff") + b"secret of the user"
"""A token that looks like a Metadata request without a client id, but for its number."""


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_headers_are_read_however_a_stream_is_cut(size: int) -> None:
    """Requests are found one after the other; the tokens after SaslHandshake v0 are none."""
    stream = b"".join(
        (
            request(SASL_HANDSHAKE, 0, b"\0\5PLAIN", number=1),
            b"\0\0\0\x0e\0me\0a password",
            b"\0\0\0\x01x",
            request(PRODUCE, 7, b"records" * 10, number=2),
            request(METADATA_KEY, 1, number=3, client_id=""),
        )
    )
    seen: list[RequestHead] = []
    headers = RequestHeaders(seen.append)
    passed = [bytes(part) for at in range(0, len(stream), size) for part in headers.feed(stream[at : at + size])]
    assert b"".join(passed) == stream
    assert [(each.api_key, each.correlation_id, each.client_id) for each in seen] == [
        (SASL_HANDSHAKE, 1, b"app"),
        (PRODUCE, 2, b"app"),
        (METADATA_KEY, 3, b""),
    ]
    assert not any(b"records" in each.data for each in seen)
    assert headers.is_between_frames


@pytest.mark.parametrize(
    "stream",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff",
        b"\0\0\0\3abc",
        bytes.fromhex("16030102000100 01fc0303"),
    ],
)
def test_what_is_no_request_is_passed(stream: bytes) -> None:
    """Bytes that are no request pass, also those that follow, and the reason is kept."""
    headers = RequestHeaders(lambda head: None)
    assert headers.feed(stream) == [stream]
    assert headers.problem
    assert headers.feed(b"more") == [b"more"]


def test_a_token_may_look_like_a_request() -> None:
    """Where the client id of a header would be, a token may have the bytes of an absent one; its bytes are not kept."""
    heads: list[RequestHead] = []
    headers = RequestHeaders(heads.append)
    after = struct.pack(">hhih", METADATA_KEY, 1, 8, -1)
    stream = b"".join(map(encode_frame, (HANDSHAKE, TOKEN, TOKEN[:3], after)))
    for at in range(len(stream)):
        headers.feed(stream[at : at + 1])
    assert [(head.api_key, head.correlation_id) for head in heads] == [(17, 7), (METADATA_KEY, 8)]
    assert headers.problem == ""


def test_a_client_that_is_not_recognized_after_its_tokens_is_said() -> None:
    """More frames than any mechanism exchanges are no tokens: the rest is passed on unread, and not taken for
    nothing."""
    headers = RequestHeaders(lambda head: None)
    frames = [encode_frame(HANDSHAKE), *[encode_frame(TOKEN)] * (MAX_TOKENS + 1)]
    assert b"".join(bytes(part) for each in frames for part in headers.feed(each)) == b"".join(frames)
    assert "after SaslHandshake" in headers.problem
