"""Requests whose version, header and body do not belong together: each is what its note says."""

from __future__ import annotations

import re
from uuid import UUID

from hypothesis import given

from strategies.api_versions import build_request
from strategies.mixed_layouts import (
    build_mixed,
    requests_with_any_body,
    requests_with_mixed_layouts,
)
from tests.strategies.search import find_any
from wire.api_versions import ApiVersionsRequest
from wire.codec import decode, decode_prefix
from wire.exchange import Request
from wire.frames import SIZE_BYTES
from wire.headers import InstanceIdHeader, request_header_version

NOTE = re.compile(r"v(\d) with header v(\d) and the body of v(\d)")


def triple_of(sent: Request) -> tuple[int, ...]:
    """Return version, header version and body version as the note has them."""
    found = NOTE.fullmatch(sent.broken)
    assert found is not None
    return tuple(map(int, found.groups()))


@given(sent=requests_with_mixed_layouts())
def test_header_and_body_are_those_of_the_note(sent: Request) -> None:
    """Header and body decode in the versions that the note names, and these are not the request's own."""
    version, header_version, body_version = triple_of(sent)
    payload = sent.data[SIZE_BYTES:]
    header, offset = decode_prefix(InstanceIdHeader, payload, version=header_version)
    decode(ApiVersionsRequest, payload[offset:], version=body_version)
    assert header.request_api_version == version == sent.api_version
    own = build_request(version=version)
    assert header_version != request_header_version(18, version) or payload != own.data[SIZE_BYTES:]


def test_instance_ids_are_drawn() -> None:
    """Header v3 has an id other than zero as well."""

    def has_id(sent: Request) -> bool:
        if triple_of(sent)[1] != 3:
            return False
        header, _ = decode_prefix(InstanceIdHeader, sent.data[SIZE_BYTES:], version=3)
        return header.client_instance_id.int > 1

    assert find_any(requests_with_mixed_layouts(), has_id)


def test_mixed_request_has_its_literal_bytes() -> None:
    """The instance id stands before the tag section, and the body is that of its own version."""
    sent = build_mixed(6, 3, 0, instance_id=UUID(int=1))
    assert sent.data[SIZE_BYTES:] == bytes.fromhex(
        "0012 0006 00000007 0011 6b61666b612d636f6e666f726d616e6365"
        "00000000000000000000000000000001 00"
    )


@given(sent=requests_with_any_body())
def test_any_body_follows_a_sound_header(sent: Request) -> None:
    """The header is that of a plain request in a flexible version; the body is drawn bytes."""
    bare = build_request(version=sent.api_version, correlation_id=sent.correlation_id, body=b"")
    assert sent.data[SIZE_BYTES:].startswith(bare.data[SIZE_BYTES:])
    assert sent.body is None
    assert 3 <= sent.api_version <= 5
