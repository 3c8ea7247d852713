"""Tests of the KIP-1313 messages.

v0 equals Kafka's own schemas, and v1 differs from it as the proposal says.
"""

from __future__ import annotations

from uuid import UUID

import pytest

from proposals.kip_1313.messages import (
    CHANGED_APIS,
    GET_TELEMETRY_SUBSCRIPTIONS,
    OFFSET_DELETE,
    PUSH_TELEMETRY,
    WITH_ID,
)
from proposals.kip_1313.schema_rules import problems_in
from tests.described_apis import described_api
from wire.codec import decode, decode_prefix, encode
from wire.fields import Field
from wire.headers import InstanceIdHeader
from wire.message_schemas import Api

ID = UUID(int=0x0102030405060708090A0B0C0D0E0F10)
EACH_API = pytest.mark.parametrize("api", CHANGED_APIS.values(), ids=lambda api: api.name)


def names_in(fields: tuple[Field, ...], version: int) -> list[tuple[str, object]]:
    """Return the names and types of the fields of a version, at any depth."""
    return [
        (field.name, names_in(field.element.FIELDS, version) if field.element else field.type)
        for field in fields
        if version in field.versions
    ]


@EACH_API
def test_v0_is_that_of_the_newest_release(api: Api) -> None:
    """Fields, flexibility and headers."""
    described = described_api(api.api_key, 0)
    for ours, theirs in ((api.request, described.request), (api.response, described.response)):
        assert names_in(ours.FIELDS, 0) == names_in(theirs.FIELDS, 0)
        assert (0 in ours.FLEXIBLE) == (0 in theirs.FLEXIBLE)
    assert api.request_header_version(0) == described.request_header_version(0)
    assert api.response_header_version(0) == described.response_header_version(0)


@EACH_API
def test_v1_follows_the_proposal(api: Api) -> None:
    assert api.request_header_version(1) == 3
    assert api.response_header_version(1) == 1
    assert problems_in(api.request_schema) == problems_in(api.response_schema) == []


@pytest.mark.parametrize("api", [GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY], ids=lambda a: a.name)
def test_telemetry_has_no_id_in_v1(api: Api) -> None:
    """The header has it."""
    names = [name for message in (api.request, api.response) for name, _ in names_in(message.FIELDS, 1)]
    assert "client_instance_id" not in names


def test_header_3_has_the_id_before_its_tags() -> None:
    """The client id keeps its length of two bytes."""
    header = InstanceIdHeader(
        request_api_key=47,
        request_api_version=1,
        correlation_id=7,
        client_id="ab",
        client_instance_id=ID,
    )
    data = encode(header, version=3)
    assert data == bytes.fromhex("002f 0001 00000007 0002 6162") + ID.bytes + b"\0"
    assert decode_prefix(InstanceIdHeader, data, version=3) == (header, len(data))
    assert encode(header, version=2) == bytes.fromhex("002f 0001 00000007 0002 6162 00")


def test_offset_delete_is_flexible_from_v1_on() -> None:
    """An empty group and no topics."""
    request = OFFSET_DELETE.request()
    assert encode(request, version=0) == bytes(2 + 4)
    assert encode(request, version=1) == b"\x01\x01\x00"
    response = OFFSET_DELETE.response()
    assert decode(OFFSET_DELETE.response, encode(response, version=1), version=1) == response


@pytest.mark.parametrize("api_key", WITH_ID, ids=str)
def test_bodies_of_today_are_those_of_the_newest_release(api_key: int) -> None:
    """Fields, their types and flexibility, in every version below the one with header v3."""
    api = WITH_ID[api_key]
    assert api.valid_versions.last is not None
    for version in range(api.valid_versions.first, api.valid_versions.last):
        described = described_api(api_key, version)
        for ours, theirs in ((api.request, described.request), (api.response, described.response)):
            assert names_in(ours.FIELDS, version) == names_in(theirs.FIELDS, version)
            assert (version in ours.FLEXIBLE) == (version in theirs.FLEXIBLE)
