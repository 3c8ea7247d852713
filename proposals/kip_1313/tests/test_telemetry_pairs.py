"""Telemetry between clients and brokers of both ages (KIP-1313): who makes the client's id, and where it stands."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

import pytest

from fixtures.model_processes.server import broker_for_listener
from proposals.kip_1313.broker import (
    GIVEN_ID,
    InstanceIdBroker,
    InstanceIdConnection,
    with_more_served,
)
from proposals.kip_1313.messages import GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY
from reference_model.broker.model.state_machine import BrokerConnection
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import NEWEST_RELEASE
from wire.codec import decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.frames import FrameReader, encode_frame
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader, ResponseHeader
from wire.message_schemas import Api

OWN_ID = UUID(int=0x1313)


class Said(NamedTuple):
    """One request with its response: the id in the header, the ids in both bodies, and the error."""

    header_id: UUID
    sent_id: UUID
    got_id: UUID
    error: ErrorCode


def ask(
    connection: BrokerConnection | InstanceIdConnection, api: Api, version: int, own: UUID
) -> Said:
    """Send a request about telemetry, with the id where its version has it."""
    header = InstanceIdHeader(
        request_api_key=api.api_key,
        request_api_version=version,
        correlation_id=1,
        client_instance_id=own if version else NO_INSTANCE_ID,
    )
    message: Any = api.request() if version else api.request(client_instance_id=own)
    header_bytes = encode(header, version=api.request_header_version(version))
    connection.receive_data(encode_frame(header_bytes + encode(message, version=version)))
    reader = FrameReader()
    reader.receive_data(connection.data_to_send())
    payload = reader.next_payload()
    assert payload is not None
    _, body_at = decode_prefix(ResponseHeader, payload, version=1)
    response, _ = decode_prefix(api.response, payload, version=version, offset=body_at)
    return Said(
        header.client_instance_id,
        message.client_instance_id,
        getattr(response, "client_instance_id", NO_INSTANCE_ID),
        response.error_code,
    )


def broker(*, is_new: bool) -> BrokerConnection | InstanceIdConnection:
    """Return a connection to a broker that takes telemetry; a new one follows the proposal."""
    reference = broker_for_listener(PLAINTEXT, release=NEWEST_RELEASE)
    if is_new:
        return InstanceIdBroker(reference).connect()
    reference.profile = with_more_served(reference.profile)
    return reference.connect()


@pytest.mark.parametrize("broker_is_new", [False, True])
def test_old_client_gets_its_id_from_the_broker(broker_is_new: bool) -> None:
    """It sends zeros in v0 and pushes with what it got, to a broker of either age."""
    connection = broker(is_new=broker_is_new)
    first = ask(connection, GET_TELEMETRY_SUBSCRIPTIONS, 0, NO_INSTANCE_ID)
    assert first.error is ErrorCode.NONE
    # The reference broker of today answers with defaults; a real one makes an id, as the new one does here.
    assert first.got_id == (GIVEN_ID if broker_is_new else NO_INSTANCE_ID)
    pushed = ask(connection, PUSH_TELEMETRY, 0, first.got_id)
    assert (pushed.header_id, pushed.error) == (NO_INSTANCE_ID, ErrorCode.NONE)


def test_new_client_gives_an_old_broker_its_own_id() -> None:
    """It has to use v0; the id stands in the body, and the broker makes none."""
    connection = broker(is_new=False)
    for api in (GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY):
        said = ask(connection, api, 0, OWN_ID)
        assert said == Said(NO_INSTANCE_ID, OWN_ID, NO_INSTANCE_ID, ErrorCode.NONE)


def test_new_client_and_new_broker_have_the_id_in_the_header() -> None:
    """The bodies of v1 have none."""
    connection = broker(is_new=True)
    for api in (GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY):
        said = ask(connection, api, 1, OWN_ID)
        assert said == Said(OWN_ID, NO_INSTANCE_ID, NO_INSTANCE_ID, ErrorCode.NONE)
