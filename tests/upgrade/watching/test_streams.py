"""What the proxy reads of requests and responses, without sockets."""

from __future__ import annotations

import struct

import pytest

from tests.upgrade.watching.relay import (
    FETCH,
    METADATA_KEY,
    PRODUCE,
    SASL_HANDSHAKE,
    metadata,
    request,
    response,
)
from upgrade.watching.request_stream import MAX_TOKENS, Pending, RequestHead, RequestHeaders
from upgrade.watching.responses import (
    MAX_HELD_BYTES,
    MAX_TABLE_BYTES,
    UNKNOWN_TAG,
    EndpointHider,
    HeldResponse,
    Responses,
    names_endpoints,
)
from wire.api_keys import API_VERSIONS_KEY
from wire.frames import encode_frame

ENDPOINTS = bytes.fromhex("02 00000007 02 68 00002384 00 00")
"""NodeEndpoints with one broker: node id 7, host "h", port 9092, no rack."""
FETCH_17 = (
    bytes.fromhex("000000000000000000000002")
    + bytes(16)
    + bytes.fromhex("02000000000006000000000000000000000000000000000000000000000000")
    + bytes.fromhex("020000000000000001000000000000000200ffffffff040102030000")
)
"""A Fetch response v17 after its correlation id, up to the tags: one topic, one partition, one aborted transaction,
three bytes of records."""
PRODUCE_10 = (
    bytes.fromhex("00 02 02 74 02 00000000 0006") + bytes(24) + bytes.fromhex("02 00000001 00 00 00 00 00 00000000")
)
"""A Produce response v10 after its correlation id, up to the tags: one topic "t", one partition, one record error."""
CASES = {"fetch": (1, 17, FETCH_17), "produce": (PRODUCE, 10, PRODUCE_10)}


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("case", CASES)
def test_brokers_after_the_records_are_hidden(case: str, size: int) -> None:
    """The tag of the brokers gets another number, however the response is cut; every other byte stays."""
    api_key, version, start = CASES[case]
    body = start + b"\x01\x00" + bytes([len(ENDPOINTS)]) + ENDPOINTS
    hider = EndpointHider(api_key, version)
    passed = b"".join(bytes(hider.feed(body[at : at + size])) for at in range(0, len(body), size))
    expected = bytearray(body)
    expected[len(start) + 1] = UNKNOWN_TAG
    assert passed == expected


@pytest.mark.parametrize("case", CASES)
def test_a_response_without_brokers_is_passed_as_it_is(case: str) -> None:
    """Without the tag nothing changes, also not in what follows."""
    api_key, version, start = CASES[case]
    hider = EndpointHider(api_key, version)
    assert hider.feed(start + b"\x00") == start + b"\x00"
    assert hider.feed(b"\x00\x01\x00") == b"\x00\x01\x00"


def test_only_newer_versions_name_brokers() -> None:
    """Produce names brokers since v10, Fetch since v16, and no other API after its records."""
    named = {(key, version) for key in (0, 1, 3) for version in range(30) if names_endpoints(key, version)}
    assert named == {(0, 10), (0, 11), (0, 12), (0, 13), (1, 16), (1, 17), (1, 18)}


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


def _asked(*heads: tuple[int, int, int]) -> Pending:
    pending = Pending()
    for key, version, number in heads:
        pending.add(RequestHead(key, version, number, b"app", b""))
    return pending


def _responses(*heads: tuple[int, int, int], unread: list[tuple[int, int]] | None = None) -> Responses:
    """Return the responses to requests; of each that is not read the API key and the size are added to a list."""

    def on_unread(head: RequestHead, size: int) -> None:
        assert unread is not None
        unread.append((head.api_key, size))

    return Responses(_asked(*heads), lambda head, start: None, on_unread)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_only_what_names_brokers_is_held(size: int) -> None:
    """A Metadata response comes complete, those before and after it in pieces; a write with acks=0 is left out."""
    before, named, after = (
        response(b"one" * 9, number=1),
        metadata("h", 1, number=3),
        response(b"", number=4),
    )
    responses = _responses((PRODUCE, 7, 1), (PRODUCE, 7, 2), (METADATA_KEY, 1, 3), (PRODUCE, 7, 4))
    stream = before + named + after
    parts = [part for at in range(0, len(stream), size) for part in responses.feed(stream[at : at + size])]
    held = [part for part in parts if isinstance(part, HeldResponse)]
    assert [part.payload for part in held] == [named[4:]]
    assert b"".join(b"" if isinstance(part, HeldResponse) else bytes(part) for part in parts) == before + after
    assert responses.is_between_frames


@pytest.mark.parametrize(("api_key", "most"), [(API_VERSIONS_KEY, MAX_TABLE_BYTES), (METADATA_KEY, MAX_HELD_BYTES)])
def test_a_huge_response_is_passed_unread(api_key: int, most: int) -> None:
    """Tables are kept with the client's requests, and decoding metadata takes seconds for each MiB; what is not read
    is said."""
    unread: list[tuple[int, int]] = []
    responses = _responses((api_key, 0, 1), (api_key, 0, 2), unread=unread)
    (read,) = responses.feed(response(bytes(most - 4), number=1))
    assert isinstance(read, HeldResponse)
    huge = response(bytes(most - 3), number=2)
    parts = [part for part in responses.feed(huge) if not isinstance(part, HeldResponse)]
    assert b"".join(parts) == huge
    assert unread == [(api_key, most + 1)]


def test_an_incomplete_response_is_passed_at_the_end() -> None:
    """What is held when the stream ends is what the client would have got."""
    responses = _responses((METADATA_KEY, 1, 1))
    piece = metadata("h", 1)[:15]
    assert responses.feed(piece) == []
    assert responses.held == piece


def test_a_correlation_id_may_be_used_again() -> None:
    """A write with acks=0 gives way to a later request with its correlation id, until a write is answered."""
    pending = _asked((PRODUCE, 7, 1), (METADATA_KEY, 1, 1), (FETCH, 4, 2))
    found = pending.answer(1)
    assert found is not None
    assert (found.api_key, len(pending), pending.has_held) == (METADATA_KEY, 1, False)
    assert pending.answer(1) is None
    pending = _asked((PRODUCE, 7, 1), (PRODUCE, 7, 2), (METADATA_KEY, 1, 2))
    assert pending.first is None
    assert pending.may_all_stay_unanswered is False
    for key in (PRODUCE, PRODUCE, METADATA_KEY):
        found = pending.answer(1 if len(pending) == 3 else 2)
        assert found is not None
        assert found.api_key == key
    assert pending.writes_are_answered


def test_metadata_is_held_although_a_write_has_its_correlation_id() -> None:
    """A client that always sends the same correlation id gets the addresses of the proxy all the same."""
    responses = _responses((PRODUCE, 7, 0), (METADATA_KEY, 1, 0))
    named = metadata("h", 1, number=0)
    (held,) = responses.feed(named)
    assert isinstance(held, HeldResponse)
    assert held.request.api_key == METADATA_KEY


HANDSHAKE = struct.pack(">hhih", SASL_HANDSHAKE, 0, 7, -1) + b"\0\6GSSAPI"
TOKEN = bytes.fromhex("0003 0001 7f7f7f7f ffff") + b"secret of the user"
"""A token that looks like a Metadata request without a client id, but for its number."""


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
