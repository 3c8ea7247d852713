"""The broker that follows KIP-1313: what it checks, and what it passes on."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from fixtures.model_processes.server import broker_for_listener
from proposals.kip_1313.broker import GIVEN_ID, InstanceIdBroker, InstanceIdConnection
from proposals.kip_1313.faults import FAULTS
from proposals.kip_1313.messages import (
    CHANGED_APIS,
    GET_TELEMETRY_SUBSCRIPTIONS,
    OFFSET_DELETE_KEY,
    SASL_AUTHENTICATE_WITH_ID,
)
from reference_model.broker.model.state_machine import THROTTLED_CLIENT_IDS
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.broker.rules.sasl import CREDENTIALS
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT
from reference_model.profiles.profile import NEWEST_RELEASE
from wire.api_keys import (
    API_VERSIONS_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    LIST_GROUPS_KEY,
    METADATA_KEY,
    SASL_HANDSHAKE_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.frames import FrameReader, encode_frame
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader, ResponseHeader, read_error_code
from wire.sasl import handshake_request, plain_token

ID, OTHER_ID = UUID(int=1), UUID(int=2)
OWN_VERSION = NEWEST_VERSION + 1
LISTING = encode(
    ApiVersionsRequest(client_software_name="a-test", client_software_version="1"),
    version=NEWEST_VERSION,
)


def frame(
    api_key: int,
    version: int,
    body: bytes = b"",
    *,
    header_version: int = 3,
    instance_id: UUID = ID,
    client_id: str | None = "a-test",
) -> bytes:
    """Return a request."""
    header = InstanceIdHeader(
        request_api_key=api_key,
        request_api_version=version,
        correlation_id=7,
        client_id=client_id,
        client_instance_id=instance_id,
    )
    return encode_frame(encode(header, version=header_version) + body)


def own_versions(**others: Any) -> bytes:
    """Return a request for the table, with header v3 unless others are given."""
    return frame(API_VERSIONS_KEY, OWN_VERSION, LISTING, **others)


def offset_delete(version: int = 1, **others: Any) -> bytes:
    """Return OffsetDelete of nothing."""
    body = encode(CHANGED_APIS[OFFSET_DELETE_KEY].request(), version=version)
    header_version = 3 if version else 1
    return frame(OFFSET_DELETE_KEY, version, body, header_version=header_version, **others)


def connected(listener: str = PLAINTEXT, fault: str = "", log: list[Any] | None = None) -> InstanceIdConnection:
    """Return a connection to a new broker, which adds to a request log."""
    entries: list[Any] = [] if log is None else log
    broker = FAULTS.model(fault, InstanceIdBroker)(
        broker_for_listener(listener, release=NEWEST_RELEASE, log=entries.append)
    )
    return broker.connect()


def ask(connection: InstanceIdConnection, *frames: bytes) -> list[bytes]:
    """Send frames, and return the payloads of the responses."""
    for each in frames:
        connection.receive_data(each)
    reader = FrameReader()
    reader.receive_data(connection.data_to_send())
    return list(iter(reader.next_payload, None))


def error_after(payload: bytes, at: int) -> ErrorCode:
    """Return the error code at an offset of a response."""
    return ErrorCode(int.from_bytes(payload[at : at + 2]))


def test_table_lists_a_version_more_of_each_api() -> None:
    """Except of SaslHandshake; telemetry is listed as well."""
    (payload,) = ask(connected(), own_versions())
    table, _ = decode_prefix(ApiVersionsResponse, payload[4:], version=NEWEST_VERSION)
    listed = {each.api_key: each.max_version for each in table.api_keys}
    assert listed[API_VERSIONS_KEY] == OWN_VERSION
    assert listed[OFFSET_DELETE_KEY] == listed[GET_TELEMETRY_SUBSCRIPTIONS_KEY] == 1
    assert listed[SASL_HANDSHAKE_KEY] == 1
    assert (listed[METADATA_KEY], listed[LIST_GROUPS_KEY]) == (14, 6)


def test_zero_and_changed_ids_are_refused() -> None:
    """In the layout of each request; the connection goes on."""
    connection = connected()
    (refused,) = ask(connection, own_versions(instance_id=NO_INSTANCE_ID))
    assert read_error_code(refused) == ErrorCode.INVALID_REQUEST
    served, changed, old, groups, new_groups = ask(
        connection,
        own_versions(),
        offset_delete(instance_id=OTHER_ID),
        frame(API_VERSIONS_KEY, 0, header_version=1),
        frame(LIST_GROUPS_KEY, 0, header_version=1),
        frame(LIST_GROUPS_KEY, 6, b"\1\1\0", instance_id=OTHER_ID),
    )
    assert read_error_code(served) == ErrorCode.NONE
    assert error_after(changed, 5) is ErrorCode.INVALID_REQUEST
    assert read_error_code(old) == ErrorCode.INVALID_REQUEST
    assert error_after(groups, 4) is ErrorCode.INVALID_REQUEST
    assert error_after(new_groups, 9) is ErrorCode.INVALID_REQUEST
    assert connection.state is ConnectionState.OPEN


def test_old_requests_are_served_without_ids() -> None:
    """Every one of them, by the reference broker; a version that it does not know is refused."""
    connection = connected()
    old, deleted = ask(connection, frame(API_VERSIONS_KEY, 0, header_version=1), offset_delete(version=0))
    assert read_error_code(old) == ErrorCode.NONE
    assert deleted == b"\0\0\0\7" + bytes(2 + 4 + 4)
    negative = frame(API_VERSIONS_KEY, -1, header_version=1)
    for refused in ask(connection, frame(API_VERSIONS_KEY, OWN_VERSION + 1, LISTING), negative):
        table, _ = decode_prefix(ApiVersionsResponse, refused[4:], version=0)
        assert table.error_code is ErrorCode.UNSUPPORTED_VERSION
        assert table.api_keys[0].max_version == OWN_VERSION


@pytest.mark.parametrize("version", [OWN_VERSION, OWN_VERSION + 1], ids=["served", "refused"])
def test_client_is_held_back_under_a_quota(version: int) -> None:
    connection = connected()
    sent = frame(API_VERSIONS_KEY, version, LISTING, client_id=THROTTLED_CLIENT_IDS)
    assert len(ask(connection, sent)) == 1
    assert connection.pause is not None
    assert ask(connection, own_versions()) == []
    connection.resume()
    assert connection.data_to_send() != b""


def test_handshake_needs_no_id() -> None:
    connection = connected(SASL_PLAINTEXT)
    listed, shaken = ask(connection, own_versions(), handshake_request(version=0).data)
    assert read_error_code(listed) == read_error_code(shaken) == ErrorCode.NONE
    token = f"\0{CREDENTIALS.username}\0{CREDENTIALS.password}".encode()
    assert ask(connection, encode_frame(token)) == [b""]
    assert connection.state is ConnectionState.AUTHENTICATED


def test_ids_of_telemetry() -> None:
    """The broker makes one for a client that sends zeros in v0, and for no other one."""
    api = GET_TELEMETRY_SUBSCRIPTIONS
    for given, expected in ((NO_INSTANCE_ID, GIVEN_ID), (ID, NO_INSTANCE_ID)):
        body = encode(api.request(client_instance_id=given), version=0)
        (payload,) = ask(connected(), frame(api.api_key, 0, body, header_version=2))
        _, body_at = decode_prefix(ResponseHeader, payload, version=1)
        message, _ = decode_prefix(api.response, payload, version=0, offset=body_at)
        assert message.client_instance_id == expected


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(frame(OFFSET_DELETE_KEY, 1, header_version=1), id="header-cut-off"),
        pytest.param(frame(OFFSET_DELETE_KEY, 1, b"\1\1\0x"), id="bytes-after-the-body"),
        pytest.param(b"\xff\xff\xff\xff", id="size"),
        pytest.param(encode_frame(b"\0\x2f\0\0\0"), id="short"),
        pytest.param(frame(99, 0, header_version=1), id="unknown-api"),
    ],
)
def test_unreadable_requests_close(data: bytes) -> None:
    """As they do today."""
    connection = connected()
    assert ask(connection, data) == []
    assert connection.state is ConnectionState.CLOSED


def test_old_header_that_is_cut_off_closes() -> None:
    """The reference broker says so."""
    connection = connected()
    ask(connection, encode_frame(b"\0\x47\0\0\0\0\0\7\0\5ab"))
    assert connection.state is ConnectionState.CLOSED


def test_end_of_stream_and_pause_are_those_of_the_reference_broker() -> None:
    """A throttled client waits; at the end of its stream the connection closes."""
    connection = connected()
    connection.receive_data(own_versions(client_id="throttled"))
    assert connection.pause is not None
    connection.resume()
    assert connection.pause is None
    connection.receive_data(b"\0\0")
    connection.receive_eof()
    assert connection.state is ConnectionState.CLOSED


@pytest.mark.parametrize("first_counts", [True, False])
def test_both_readings_of_the_client_id(first_counts: bool) -> None:
    """Either that of the first request counts, or each one's own."""
    broker = InstanceIdBroker(
        broker_for_listener(PLAINTEXT, release=NEWEST_RELEASE), first_client_id_counts=first_counts
    )
    connection = broker.connect()
    connection.receive_data(own_versions())
    connection.receive_data(own_versions(client_id="throttled"))
    assert (connection.pause is None) is first_counts


def named(*client_ids: str | None, versions: tuple[int, ...]) -> list[str | None]:
    """Return the client ids that the log has for ApiVersions requests in these versions, on one connection."""
    log: list[Any] = []
    connection = connected(log=log)
    for client_id, version in zip(client_ids, versions, strict=True):
        header_version = 3 if version == OWN_VERSION else 1 + (version >= 3)
        body = LISTING if version == OWN_VERSION else b"\2a\2b\0" if version >= 3 else b""
        ask(
            connection,
            frame(API_VERSIONS_KEY, version, body, header_version=header_version, client_id=client_id),
        )
    return [entry["requestHeader"]["clientId"] for entry in log]


@pytest.mark.parametrize(
    ("client_ids", "versions", "counting"),
    [
        pytest.param(("a", None), (0, OWN_VERSION), ["a", "a"], id="older-header-first"),
        pytest.param(("a", "b", None), (3, 0, OWN_VERSION), ["a", "a", "a"], id="older-in-between"),
        pytest.param((None, "b"), (OWN_VERSION, OWN_VERSION), [None, None], id="null-first"),
        pytest.param((None, "b"), (0, OWN_VERSION), [None, None], id="null-in-an-older-header"),
    ],
)
def test_client_id_of_the_first_request_counts(
    client_ids: tuple[str | None, ...], versions: tuple[int, ...], counting: list[str | None]
) -> None:
    """Whatever its header version; also if it is null."""
    assert named(*client_ids, versions=versions) == counting


def test_fault_that_closes_sends_nothing() -> None:
    """An empty response stands for the end of the connection."""
    connection = connected(fault="closes-on-the-version-after-the-newest")
    assert ask(connection, frame(API_VERSIONS_KEY, OWN_VERSION + 1, LISTING)) == []
    assert connection.state is ConnectionState.CLOSED


def token(version: int, **others: Any) -> bytes:
    """Return SaslAuthenticate with the right password."""
    api = SASL_AUTHENTICATE_WITH_ID
    password = plain_token(CREDENTIALS.username, CREDENTIALS.password)
    body = encode(api.request(auth_bytes=password), version=version)
    header_version = api.request_header_version(version)
    return frame(api.api_key, version, body, header_version=header_version, **others)


HANDSHAKE = handshake_request(version=1).data


@pytest.mark.parametrize(
    ("frames", "errors"),
    [
        ([own_versions(), HANDSHAKE, token(3), offset_delete()], [ErrorCode.NONE] * 4),
        (
            [own_versions(), HANDSHAKE, token(3, instance_id=OTHER_ID)],
            [ErrorCode.NONE] * 2 + [ErrorCode.INVALID_REQUEST],
        ),
        ([own_versions(), HANDSHAKE, token(2)], [ErrorCode.NONE] * 2 + [ErrorCode.INVALID_REQUEST]),
        ([frame(API_VERSIONS_KEY, 0, header_version=1), HANDSHAKE, token(2)], [ErrorCode.NONE] * 3),
    ],
    ids=["same-id", "another-id", "no-id", "never-an-id"],
)
def test_authentication_needs_the_id_of_the_connection(frames: list[bytes], errors: list[ErrorCode]) -> None:
    got = ask(connected(SASL_PLAINTEXT), *frames)
    flexible = [len(frames) > 2 and index >= 2 for index in range(len(got))]
    assert [
        error_after(each, 5 if is_flexible else 4) for each, is_flexible in zip(got, flexible, strict=True)
    ] == errors
