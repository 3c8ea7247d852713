"""Tests of requests of other APIs, with any tag section in a header.

Such a request has a header and some bytes.
"""

from __future__ import annotations

import functools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.api_versions import build_request
from strategies.other_apis import (
    LIST_GROUPS,
    METADATA,
    TaggedHeader,
    bare_requests,
    build_bare_request,
    build_with_key,
    distances,
    keys_like_api_versions,
    tagged_headers,
    whole_requests,
)
from tests.strategies.search import find_any, minimal
from wire.api_keys import API_VERSIONS_KEY, READ_ONLY_KEYS
from wire.codec import decode_prefix
from wire.exchange import Request
from wire.frames import SIZE_BYTES
from wire.header_versions import PLAIN_REQUEST_HEADER
from wire.headers import RequestHeader
from wire.primitives import NO_TAGS

PLAIN = "00000007 0011 6b61666b612d636f6e666f726d616e6365"
"""Correlation id and client id."""


@given(sent=bare_requests())
def test_header_says_what_is_meant(sent: Request) -> None:
    """The bytes hold the plain header with the intended key and version."""
    header, _ = decode_prefix(RequestHeader, sent.data[SIZE_BYTES:], version=PLAIN_REQUEST_HEADER)
    assert header == sent.header
    assert sent.broken


@pytest.mark.parametrize(
    ("sent", "data"),
    [
        pytest.param(METADATA, f"0000001f 0003 0000 {PLAIN} 00000000", id="metadata"),
        pytest.param(LIST_GROUPS, f"0000001b 0010 0000 {PLAIN}", id="list-groups"),
    ],
)
def test_whole_requests_have_their_literal_bytes(sent: Request, data: str) -> None:
    find_any(whole_requests(), lambda drawn: drawn == sent)
    assert sent.data == bytes.fromhex(data)
    assert not sent.broken


@pytest.mark.parametrize("keys", [range(4, 8), range(52, 60), range(-9, 0), range(10000, 32768)])
def test_keys_that_no_broker_listener_has_are_drawn(keys: range) -> None:
    """Removed keys, the controller's, negative ones and those of vendors are drawn."""
    find_any(bare_requests(), lambda sent: sent.api_key in keys)


@given(key=keys_like_api_versions())
def test_keys_like_that_of_api_versions_differ_in_their_high_byte(key: int) -> None:
    """None of them is the key of ApiVersions, and each fits an int16."""
    assert key != API_VERSIONS_KEY
    assert key.to_bytes(2, signed=True)[1] == API_VERSIONS_KEY


@pytest.mark.parametrize("key", [-238, 274, 530])
def test_keys_next_to_that_of_api_versions_are_drawn(key: int) -> None:
    """A high byte of one or two, or all ones, is drawn often."""
    find_any(keys_like_api_versions(), functools.partial(operator.eq, key))


@pytest.mark.parametrize("version", [0, 3, 5])
def test_request_with_another_key_is_otherwise_one_of_api_versions(version: int) -> None:
    """The bytes after the key are those of a plain request."""
    after_key = SIZE_BYTES + 2
    sent, plain = build_with_key(274, version).data, build_request(version=version).data
    assert sent[:after_key] == plain[:SIZE_BYTES] + b"\x01\x12"
    assert sent[after_key:] == plain[after_key:]


@pytest.mark.parametrize("sign", [1, -1])
def test_distances_lie_on_both_sides(sign: int) -> None:
    """Versions just outside a range and far from it are drawn, on both sides."""
    assert minimal(distances(), lambda distance: distance * sign > 0) == sign
    find_any(distances(), lambda distance: distance * sign > 1000)
    assert build_bare_request(3, 1).data.endswith(b"kafka-conformance")


SECTIONS = st.sampled_from((b"\x01\x00\x00", b"\x01\x05\x00"))


@pytest.mark.parametrize("index", range(2 * len(READ_ONLY_KEYS)))
def test_every_version_is_reached(index: int) -> None:
    """The oldest and the newest version of each API that only reads are drawn, with the given sections."""
    found = find_any(tagged_headers(SECTIONS), lambda drawn: drawn.place == index)
    assert found.section != NO_TAGS


def test_plain_request_has_no_tags() -> None:
    """The plain request is the same apart from its tag section."""
    drawn = TaggedHeader(place=2, section=b"\x01\x00\x00")
    assert drawn.plain() == TaggedHeader(place=2)
    assert minimal(tagged_headers(SECTIONS)) == TaggedHeader(section=b"\x01\x00\x00")
