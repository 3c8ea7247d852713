"""Tests of the KIP-1313 client rules.

Each rule finds its own fault, and none in the model client.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from fixtures.under_test.in_memory_client import in_memory_client
from proposals.kip_1313.client_rules import (
    has_client_id,
    has_client_id_everywhere,
    instance_ids_in,
    missing_ids,
    sends_instance_ids,
    stands_for,
    wrong_client_ids,
    wrong_ids,
    wrong_layouts,
    wrong_member_ids,
    wrong_reported_ids,
    wrong_telemetry,
)
from proposals.kip_1313.messages import (
    CLIENT_APIS,
    CONSUMER_GROUP_HEARTBEAT_KEY,
    PUSH_TELEMETRY_KEY,
    SHARE_GROUP_HEARTBEAT_KEY,
)
from proposals.kip_1313.scripts import claiming_cluster, downgraded_cluster
from reference_model.clients.scripts.reading import read_request
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.script import Answer, Script, Table, one_node
from tests.reference_model.clients.recordings import asked, recorded
from wire.api_keys import (
    API_VERSIONS_KEY,
    GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    METADATA_KEY,
    SASL_AUTHENTICATE_KEY,
)
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest
from wire.codec import encode
from wire.frames import encode_frame
from wire.headers import NO_INSTANCE_ID, InstanceIdHeader
from wire.sasl import BARE_TOKEN

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
    payload = encode(header, version=api.request_header_version(version))
    payload += encode(api.request(**fields), version=version) + more
    return read_request(payload, connection=connection, at_ms=1)


def heartbeat(member_id: str, **others: Any) -> SeenRequest:
    """Return the heartbeat of a member."""
    return sent(CONSUMER_GROUP_HEARTBEAT_KEY, 2, member_id=member_id, **others)


def telemetry(version: int, **others: Any) -> SeenRequest:
    """Return a request for telemetry subscriptions."""
    return sent(GET_TELEMETRY_SUBSCRIPTIONS_KEY, version, **others)


def versions_with_id(*, connection: int = 0, client_id: str | None = "client") -> SeenRequest:
    """Return ApiVersions in the version that has header v3."""
    header = InstanceIdHeader(
        request_api_key=API_VERSIONS_KEY,
        request_api_version=NEWEST_VERSION + 1,
        correlation_id=1,
        client_id=client_id,
        client_instance_id=ID,
    )
    body = encode(ApiVersionsRequest(client_software_name="a"), version=NEWEST_VERSION)
    return read_request(encode(header, version=3) + body, connection=connection, at_ms=1)


def token(connection: int = 0) -> SeenRequest:
    """Return a token without a header, as it follows SaslHandshake v0."""
    return SeenRequest(
        connection=connection,
        at_ms=1,
        data=encode_frame(b"token"),
        api_key=SASL_AUTHENTICATE_KEY,
        api_version=BARE_TOKEN,
        correlation_id=0,
    )


BOTH = Table(changed=((GET_TELEMETRY_SUBSCRIPTIONS_KEY, 0, 1),))
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
        pytest.param(wrong_client_ids, [sent(), sent()], "repeats the client id", id="repeated"),
        pytest.param(
            wrong_client_ids,
            [sent(version=13), sent()],
            "Metadata v14 on connection 0 repeats the client id",
            id="repeated-after-an-older-header",
        ),
        pytest.param(
            wrong_client_ids,
            [sent(client_id=None)],
            "has no client id, but is the first request of its connection",
            id="missing",
        ),
        pytest.param(
            wrong_client_ids,
            [sent(version=13, client_id=None)],
            "has no client id, but is the first request of its connection",
            id="missing-in-an-older-header",
        ),
        pytest.param(
            wrong_client_ids,
            [sent(), sent(version=13, client_id=None)],
            "Metadata v13 on connection 0 has no client id, but an older header than v3",
            id="missing-later",
        ),
        pytest.param(
            wrong_member_ids,
            [sent(SHARE_GROUP_HEARTBEAT_KEY, 2, member_id=str(OTHER_ID))],
            "ShareGroupHeartbeat v2 on connection 0 has the member id",
            id="member-of-a-share-group",
        ),
        pytest.param(
            wrong_telemetry,
            [sent(), telemetry(0, client_instance_id=OTHER_ID)],
            "has another id than the client's other requests",
            id="telemetry-differs-from-the-header",
        ),
        pytest.param(
            wrong_telemetry,
            [sent(), sent(PUSH_TELEMETRY_KEY, 0)],
            "PushTelemetry v0 on connection 0 leaves it to the broker to make an id",
            id="push-without-an-id",
        ),
        pytest.param(
            wrong_telemetry,
            [asked(5, Answer(table=BOTH)), telemetry(0, client_instance_id=ID)],
            "is sent to a broker that lists v1",
            id="telemetry-v0-with-a-new-broker",
        ),
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
            "another id than the client's other requests",
            id="telemetry-changed",
        ),
        pytest.param(wrong_telemetry, [OLD_BROKEN], "does not decode", id="telemetry-layout"),
    ],
)
def test_fault_is_found(rule: Rule, requests: list[SeenRequest], what: str) -> None:
    (sentence,) = rule(recorded(*requests))
    assert what in sentence


def test_right_client_has_no_fault() -> None:
    right = recorded(
        sent(version=13),
        sent(client_id=None),
        heartbeat(str(ID), client_id=None),
        heartbeat(AS_KAFKA, client_id=None),
        telemetry(1, client_id=None),
        telemetry(0, client_instance_id=ID),
        sent(PUSH_TELEMETRY_KEY, 0, client_instance_id=ID),
        sent(version=13),
        sent(connection=1),
        versions_with_id(connection=2),
        versions_with_id(connection=2, client_id=None),
        token(connection=2),
    )
    for rule in (wrong_layouts, wrong_ids, wrong_client_ids, wrong_member_ids, wrong_telemetry):
        assert list(rule(right)) == []
    assert list(wrong_ids(recorded(BROKEN))) == []
    assert instance_ids_in(right) == {ID}


@pytest.mark.parametrize(("client_ids", "everywhere"), [(("c", "c"), True), (("c", None), False), ((None, "c"), False)])
def test_other_reading_of_the_client_id_has_it_in_every_request(
    client_ids: tuple[str | None, ...], everywhere: bool
) -> None:
    """A client that leaves it out of any request follows neither reading, or the right one."""
    recording = recorded(*(sent(client_id=each) for each in client_ids), token())
    assert has_client_id_everywhere(recording) is everywhere


@pytest.mark.parametrize(("client_ids", "has_one"), [((None, None), False), ((None, "c"), True), (("c", None), True)])
def test_client_without_a_client_id_has_none_in_any_request(client_ids: tuple[str | None, ...], has_one: bool) -> None:
    assert has_client_id(recorded(*(sent(client_id=each) for each in client_ids))) is has_one


def test_telemetry_is_not_compared_with_headers_that_differ() -> None:
    changing = recorded(sent(), sent(instance_id=OTHER_ID), telemetry(0, client_instance_id=ID))
    assert list(wrong_telemetry(changing)) == []


SOME_ID = UUID(int=0xFBEF_BEFB_EFBE_F0AB_CDEF_0123_4567_89AB)


@pytest.mark.parametrize(
    "text",
    [
        str(SOME_ID),
        str(SOME_ID).upper(),
        SOME_ID.hex,
        SOME_ID.hex.upper(),
        f"{{{SOME_ID}}}",
        SOME_ID.urn,
        base64.b64encode(SOME_ID.bytes).decode(),
        base64.b64encode(SOME_ID.bytes).decode().rstrip("="),
        base64.urlsafe_b64encode(SOME_ID.bytes).decode(),
        base64.urlsafe_b64encode(SOME_ID.bytes).decode().rstrip("="),
        base64.b32encode(SOME_ID.bytes).decode(),
        base64.b32encode(SOME_ID.bytes).decode().rstrip("=").lower(),
    ],
)
def test_every_usual_form_of_an_id_stands_for_it(text: str) -> None:
    assert stands_for(text, SOME_ID)
    assert not stands_for(text, ID)


@pytest.mark.parametrize("text", ["", "consumer-1", SOME_ID.hex[:-1], f"x{SOME_ID}", "é"])
def test_other_texts_stand_for_no_id(text: str) -> None:
    assert not stands_for(text, SOME_ID)


def test_client_of_today_sends_no_ids() -> None:
    assert not sends_instance_ids(recorded(sent(version=13), versions_with_id()))
    assert sends_instance_ids(recorded(sent()))


@pytest.mark.parametrize(
    ("requests", "reported", "wrong"),
    [
        pytest.param([sent()], [str(ID), ID.hex], [], id="same"),
        pytest.param([], [str(OTHER_ID)], [], id="no-headers"),
        pytest.param([sent(), sent(instance_id=OTHER_ID)], [str(ID)], [], id="headers-differ"),
        pytest.param([sent(instance_id=NO_INSTANCE_ID)], [str(ID)], [], id="headers-zero"),
        pytest.param([], [str(NO_INSTANCE_ID)], ["the application gets the zero id"], id="zero"),
        pytest.param(
            [sent()],
            [str(ID), str(OTHER_ID)],
            [f"the application gets the id {OTHER_ID}, and the headers have {ID}"],
            id="another",
        ),
    ],
)
def test_ids_of_the_application_are_compared(
    requests: list[SeenRequest], reported: list[str], wrong: list[str]
) -> None:
    """With that of the headers, if these agree."""
    assert list(wrong_reported_ids(recorded(*requests), reported)) == wrong


SEVERAL_CONNECTIONS = claiming_cluster(nodes=3, closes_after=5)


@pytest.mark.parametrize(
    ("fault", "script", "is_wrong"),
    [
        ("metadata-has-no-id", SEVERAL_CONNECTIONS, True),
        ("", SEVERAL_CONNECTIONS, False),
        # Its later requests of ApiVersions are older ones, which a client falls back to.
        ("flexible-table-is-asked-for-again", SEVERAL_CONNECTIONS, False),
        ("", downgraded_cluster(), False),
    ],
)
def test_request_without_id_on_a_connection_with_one_is_found(fault: str, script: Script, is_wrong: bool) -> None:
    """If the connection began with an id that was not refused, and the broker lists a version with it."""
    found = list(missing_ids(in_memory_client(fault).play(script).recording))
    assert bool(found) is is_wrong
    assert all("Metadata v13" in each and "has no id" in each for each in found)


def test_api_in_newer_versions_alone_is_not_needed() -> None:
    """The client sends neither heartbeats nor metrics to a broker that dropped its versions of these, and works."""
    newer = tuple((key, 60, 70) for key in (68, 71, 72, 76, 88))
    play = in_memory_client().play(one_node(Answer(table=Table(changed=newer)), timeout_ms=8000))
    assert play.result.outcome == "ok"
    assert not {each.api_key for each in play.recording.requests} & {key for key, _, _ in newer}
