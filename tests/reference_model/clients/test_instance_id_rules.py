"""What KIP-1313 asks of clients: each rule finds its own fault, and none in what the model client does."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from reference_model.clients.instance_id_rules import (
    instance_ids_in,
    repeated_client_ids,
    sends_instance_ids,
    wrong_ids,
    wrong_layouts,
    wrong_member_ids,
    wrong_telemetry,
)
from reference_model.clients.recording import Recording, SeenRequest
from tests.reference_model.clients.recordings import recorded
from wire.api_keys import (
    CONSUMER_GROUP_HEARTBEAT_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    METADATA_KEY,
)
from wire.codec import encode
from wire.frames import encode_frame
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader
from wire.instance_id_messages import CLIENT_APIS

ID, OTHER_ID = UUID(int=7), UUID(int=8)
Rule = Callable[[Recording], Iterator[str]]


def sent(
    api_key: int = METADATA_KEY,
    version: int = 14,
    *,
    connection: int = 0,
    instance_id: UUID = ID,
    client_id: str | None = "client",
    more: bytes = b"",
    **fields: Any,
) -> SeenRequest:
    """Return a request of a client."""
    api = CLIENT_APIS[api_key]
    header = InstanceIdHeader(
        request_api_key=api_key,
        request_api_version=version,
        correlation_id=1,
        client_id=client_id,
        client_instance_id=instance_id,
    )
    data = encode(header, version=api.request_header_version(version))
    data += encode(api.request(**fields), version=version) + more
    return SeenRequest(
        connection=connection,
        at_ms=1,
        data=encode_frame(data),
        api_key=api_key,
        api_version=version,
        correlation_id=1,
        client_id=client_id,
    )


def heartbeat(member_id: str, **others: Any) -> SeenRequest:
    """Return the heartbeat of a member."""
    return sent(CONSUMER_GROUP_HEARTBEAT_KEY, 2, member_id=member_id, **others)


def telemetry(version: int, **others: Any) -> SeenRequest:
    """Return a request for telemetry subscriptions."""
    return sent(GET_TELEMETRY_SUBSCRIPTIONS_KEY, version, **others)


BROKEN = sent(more=b"\0")
OLD_BROKEN = telemetry(0, client_instance_id=ID, more=b"\0")
AS_KAFKA = base64.urlsafe_b64encode(ID.bytes).decode().rstrip("=")


@pytest.mark.parametrize(
    ("rule", "requests", "what"),
    [
        pytest.param(wrong_layouts, [BROKEN], "has no header v3 that decodes", id="layout"),
        pytest.param(wrong_ids, [sent(instance_id=NO_INSTANCE_ID)], "has the zero id", id="zero"),
        pytest.param(
            wrong_ids,
            [sent(), sent(connection=1, instance_id=OTHER_ID)],
            "Metadata v14 on connection 1 has another id",
            id="changed",
        ),
        pytest.param(repeated_client_ids, [sent(), sent()], "repeats the client id", id="repeated"),
        pytest.param(repeated_client_ids, [sent(client_id=None)], "has no client id", id="missing"),
        pytest.param(wrong_member_ids, [heartbeat("me")], "has the member id 'me'", id="member"),
        pytest.param(
            wrong_telemetry,
            [telemetry(0)],
            "leaves it to the broker to make an id",
            id="telemetry-zero",
        ),
        pytest.param(
            wrong_telemetry,
            [telemetry(0, client_instance_id=ID), telemetry(0, client_instance_id=OTHER_ID)],
            "another id than the first one",
            id="telemetry-changed",
        ),
        pytest.param(wrong_telemetry, [OLD_BROKEN], "does not decode", id="telemetry-layout"),
    ],
)
def test_fault_is_found(rule: Rule, requests: list[SeenRequest], what: str) -> None:
    """One sentence says which request is wrong."""
    (sentence,) = rule(recorded(*requests))
    assert what in sentence


def test_right_client_has_no_fault() -> None:
    """Also one that writes its member id as Kafka does, or does not decode, which the layout alone is about."""
    right = recorded(
        sent(),
        sent(client_id=None),
        heartbeat(str(ID), client_id=None),
        heartbeat(AS_KAFKA, client_id=None),
        telemetry(1, client_id=None),
        telemetry(0, client_instance_id=ID),
        sent(version=13),
        sent(connection=1),
    )
    for rule in (wrong_layouts, wrong_ids, repeated_client_ids, wrong_member_ids, wrong_telemetry):
        assert list(rule(right)) == []
    assert list(wrong_ids(recorded(BROKEN))) == []
    assert instance_ids_in(right) == {ID}


def test_client_of_today_sends_no_ids() -> None:
    """Its requests have older headers."""
    assert not sends_instance_ids(recorded(sent(version=13)))
    assert sends_instance_ids(recorded(sent()))
