"""KIP-1313, a proposal: the client instance id in header v3. Judged on targets that list OffsetDelete v1, the first request with it."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from conformance.assertions.client_software import SLOWEST_LOG_S, fresh_name
from conformance.assertions.judging import Unjudged, assert_error, decode_answer
from fixtures.polling import poll_until
from fixtures.under_test.broker import Broker
from proposals.kip_1313.assertions import (
    OLD_VERSIONS,
    apis_without_instance_id,
    assert_refused,
    assert_served,
    assume_served,
    error_in,
    id_in,
    in_allowed_order,
    message_in,
    newest_api_versions,
    token_request,
    with_id,
    without_id,
)
from proposals.kip_1313.messages import (
    OFFSET_DELETE_KEY,
    PUSH_TELEMETRY,
    PUSH_TELEMETRY_KEY,
    TELEMETRY_KEYS,
)
from proposals.kip_1313.requests import (
    AN_ID,
    ANOTHER_ID,
    InstanceIdRequest,
    instance_id_requests,
    instance_ids,
    plain_instance_id_requests,
    requests_of_any_header,
    sasl_handshake,
    telemetry_v0,
)
from reference_model.profiles.listeners import SASL_LISTENERS
from strategies.api_versions import build_request
from wire.api_keys import API_VERSIONS_KEY, GET_TELEMETRY_SUBSCRIPTIONS_KEY
from wire.api_versions import NEWEST_VERSION
from wire.error_codes import ErrorCode
from wire.headers import NO_INSTANCE_ID
from wire.primitives import INT16_MAX, TaggedField

FIRST, SECOND = InstanceIdRequest(), InstanceIdRequest(api=1)
NULL = FIRST.named(None)
OLD = InstanceIdRequest(has_id=False)
MAX_VERSIONS_BEYOND = 20
MAX_EXAMPLES_OF_SASL = 10
MAX_EXAMPLES_OF_LOG = 8
"""More than of other properties that read the log: the headers and client ids of several requests vary together."""
LOG_DELAY_S = 0.1
"""How much later than the entry of a later request that of an earlier one may be written."""
OFFSET_DELETE_V0_INDEX = len(OLD_VERSIONS)
"""The number by which `without_id` chooses OffsetDelete v0."""


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("more_than_reading", "instance_ids")
@pytest.mark.clause("KIP-1313.header-v3-layout")
@given(drawn=instance_id_requests(), instance_id=instance_ids())
@example(drawn=FIRST, instance_id=AN_ID)
@example(drawn=InstanceIdRequest(client_id=None), instance_id=AN_ID)
@example(drawn=InstanceIdRequest(client_id=""), instance_id=AN_ID)
@example(drawn=InstanceIdRequest(client_id="a" * 200, api=1), instance_id=UUID(int=2))
@example(drawn=InstanceIdRequest(tags=(TaggedField(100, b"tag"),)), instance_id=UUID(int=1 << 127))
def test_header_with_an_id_is_read(
    broker: Broker, drawn: InstanceIdRequest, instance_id: UUID
) -> None:
    """A request with header v3 is served, whatever client id, client instance id and unknown tags its header has."""
    assert_served([broker.exchange(with_id(broker, drawn, instance_id))])


@pytest.mark.listeners("plaintext")
@pytest.mark.malformed
@pytest.mark.needs("instance_ids")
@pytest.mark.clause("KIP-1313.first-id-not-zero")
@given(drawn=plain_instance_id_requests())
@example(drawn=FIRST)
@example(drawn=SECOND)
def test_connection_does_not_begin_with_zero(broker: Broker, drawn: InstanceIdRequest) -> None:
    """The zero id in the first request of a connection gets INVALID_REQUEST."""
    exchange = broker.exchange(with_id(broker, drawn, NO_INSTANCE_ID))
    assert_refused(exchange, "begins a connection with the zero id")


@pytest.mark.listeners("plaintext")
@pytest.mark.malformed
@pytest.mark.needs("instance_ids")
@pytest.mark.clause("KIP-1313.id-constant-on-connection")
@given(
    first=plain_instance_id_requests(),
    between=st.lists(plain_instance_id_requests(), max_size=3),
    later=plain_instance_id_requests(),
    other=instance_ids() | st.just(NO_INSTANCE_ID),
)
@example(first=FIRST, between=[], later=FIRST, other=ANOTHER_ID)
@example(first=FIRST, between=[SECOND, FIRST], later=SECOND, other=NO_INSTANCE_ID)
def test_later_request_has_the_same_id(
    broker: Broker,
    first: InstanceIdRequest,
    between: list[InstanceIdRequest],
    later: InstanceIdRequest,
    other: UUID,
) -> None:
    """A request with the connection's id is served, one with another id gets INVALID_REQUEST."""
    assume(other != AN_ID)
    same = [with_id(broker, each, AN_ID) for each in (first, *between)]
    *served, refused = broker.converse_in_turn([*same, with_id(broker, later, other)])
    assert_served(served)
    assert_refused(refused, "has another id than the connection")


@pytest.mark.listeners("plaintext")
@pytest.mark.malformed
@pytest.mark.needs("instance_ids")
@pytest.mark.clause("KIP-1313.id-constant-on-connection")
@given(first=plain_instance_id_requests(), later=plain_instance_id_requests())
@example(first=FIRST, later=InstanceIdRequest(api=0))
@example(first=FIRST, later=InstanceIdRequest(api=6))
def test_later_request_has_no_older_header(
    broker: Broker, first: InstanceIdRequest, later: InstanceIdRequest
) -> None:
    """A request with an older header gets INVALID_REQUEST on a connection that has an id; only SaslHandshake does not."""
    has_id = with_id(broker, first, AN_ID)
    *served, exempt = broker.converse_in_turn([has_id, sasl_handshake()])
    assert_served(served)
    assert error_in(exempt) is not ErrorCode.INVALID_REQUEST, "SaslHandshake gets INVALID_REQUEST"
    *served, refused = broker.converse_in_turn([has_id, without_id(later)])
    assert_served(served)
    assert_refused(refused, "has no id, but the connection has one")


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("more_than_reading", "instance_ids")
@pytest.mark.clause("KIP-1313.old-headers-still-served")
@given(drawn=st.lists(plain_instance_id_requests(), min_size=1, max_size=4))
@example(drawn=[InstanceIdRequest(api=each) for each in range(4)])
@example(drawn=[InstanceIdRequest(api=each) for each in range(4, 8)])
def test_connection_without_ids_is_served(broker: Broker, drawn: list[InstanceIdRequest]) -> None:
    """Requests with older headers are served on a connection that never used header v3."""
    assert_served(broker.converse_in_turn([without_id(each) for each in drawn]))


@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.malformed
@pytest.mark.needs("instance_ids", "sasl_ids")
@pytest.mark.clause("KIP-1313.id-constant-on-connection")
@settings(max_examples=MAX_EXAMPLES_OF_SASL)
@given(
    drawn=plain_instance_id_requests(), other=st.none() | instance_ids() | st.just(NO_INSTANCE_ID)
)
@example(drawn=FIRST, other=ANOTHER_ID)
@example(drawn=FIRST, other=NO_INSTANCE_ID)
@example(drawn=SECOND, other=None)
def test_authentication_keeps_the_id(
    broker: Broker, drawn: InstanceIdRequest, other: UUID | None
) -> None:
    """Authentication that begins with header v3 needs the same id in each request but SaslHandshake, and after it as well."""
    assume(other != AN_ID)
    begin = [with_id(broker, FIRST, AN_ID, api_key=API_VERSIONS_KEY), sasl_handshake()]
    later = [token_request(broker, AN_ID), with_id(broker, drawn, AN_ID)]
    with broker.connect(authenticate=False) as connection:
        served = connection.converse_in_turn([*begin, *later])
    assert_served(served)
    accepted = error_in(served[len(begin)])
    assert accepted is ErrorCode.NONE, f"SaslAuthenticate with the right password gets {accepted!r}"
    with broker.connect(authenticate=False) as connection:
        *served_before, refused = connection.converse_in_turn(
            [*begin, token_request(broker, other)]
        )
    assert_served(served_before)
    assert_refused(refused, "has another id than the connection, or none")


@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.needs("more_than_reading", "instance_ids", "sasl_ids")
@pytest.mark.clause("KIP-1313.old-headers-still-served")
@settings(max_examples=MAX_EXAMPLES_OF_SASL)
@given(version=st.sampled_from(OLD_VERSIONS), drawn=plain_instance_id_requests())
@example(version=0, drawn=FIRST)
@example(version=NEWEST_VERSION, drawn=SECOND)
def test_authentication_without_ids_is_served(
    broker: Broker, version: int, drawn: InstanceIdRequest
) -> None:
    """A client that never uses header v3 authenticates, and is served."""
    steps = [
        build_request(version=version),
        sasl_handshake(),
        token_request(broker, None),
        without_id(drawn),
    ]
    with broker.connect(authenticate=False) as connection:
        exchanges = connection.converse_in_turn(steps)
    assert_served(exchanges)
    accepted = error_in(exchanges[2])
    assert accepted is ErrorCode.NONE, f"SaslAuthenticate with the right password gets {accepted!r}"


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("more_than_reading", "instance_ids", "request_log")
@pytest.mark.clause("KIP-1313.client-id-from-first-request")
@settings(max_examples=MAX_EXAMPLES_OF_LOG)
@given(
    first=requests_of_any_header(),
    later=st.lists(requests_of_any_header(), min_size=2, max_size=4),
)
@example(first=FIRST, later=[NULL])
@example(first=FIRST, later=[FIRST, SECOND])
@example(first=OLD, later=[NULL, FIRST])
@example(first=OLD, later=[OLD.named(None), OLD, FIRST])
@example(first=InstanceIdRequest(api=5, has_id=False), later=[FIRST, NULL])
@example(first=NULL, later=[FIRST, NULL])
@example(first=OLD.named(None), later=[FIRST, NULL])
def test_first_client_id_counts(
    broker: Broker, first: InstanceIdRequest, later: list[InstanceIdRequest]
) -> None:
    """The request log has the client id of the connection's first request for each of them, and no later one, whatever their headers."""
    in_order = [first, *in_allowed_order(first, later)]
    own, other = fresh_name(), fresh_name()
    named = [
        each.named(each.client_id and (other if index else own))
        for index, each in enumerate(in_order)
    ]
    mine, others = (
        sum(each.client_id == own for each in named),
        sum(each.client_id == other for each in named),
    )
    assume(mine or others)
    requests = [with_id(broker, each, AN_ID) if each.has_id else without_id(each) for each in named]
    of_first = len(requests) if mine else 0
    path, administration = broker.running.request_log, broker.running.administration
    assert path is not None
    assert administration is not None
    with administration.log_requests():
        assume_served(named, broker.converse_in_turn(requests))
        # Requests are logged in about their order, so these are there soon after a later one.
        last = fresh_name()
        broker.converse([build_request(version=0, client_id=last)])
        poll_until(lambda: _count(path, last), 1, limit_s=SLOWEST_LOG_S)
        found = poll_until(
            lambda: (_count(path, own), _count(path, other)), (of_first, 0), limit_s=LOG_DELAY_S
        )
    if found == (mine, others) != (of_first, 0):
        raise Unjudged("each request's own client id counts: the other reading of the proposal")
    assert found == (of_first, 0), (
        f"of {len(requests)} requests the log has {found[0]} under the first client id, which counts for {of_first}, "
        f"and {found[1]} under a later one"
    )


def _count(path: Path, client_id: str) -> int:
    text = path.read_text("utf-8", "replace") if path.exists() else ""
    return sum(client_id in line for line in text.splitlines())


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("instance_ids")
@pytest.mark.clause("KIP-1313.every-api-but-sasl-handshake")
@given(version=st.integers(0, NEWEST_VERSION))
@example(version=0)
@example(version=NEWEST_VERSION)
def test_every_api_has_a_version_with_an_id(broker: Broker, version: int) -> None:
    """Every listed API has a version newer than those of today, and SaslHandshake has none."""
    answer = decode_answer(broker.exchange(build_request(version=version)), api_version=version)
    missing = apis_without_instance_id(answer)
    assert not missing, f"other versions than with header v3 are listed of {', '.join(missing)}"


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("more_than_reading", "instance_ids")
@pytest.mark.clause("KIP-1313.offset-delete-v1")
@given(drawn=plain_instance_id_requests(), instance_id=instance_ids())
@example(drawn=FIRST, instance_id=AN_ID)
def test_offset_delete_is_served_in_both_versions(
    broker: Broker, drawn: InstanceIdRequest, instance_id: UUID
) -> None:
    """OffsetDelete v1 is served in its flexible layout, and v0 as before."""
    exchange = broker.exchange(with_id(broker, drawn, instance_id, api_key=OFFSET_DELETE_KEY))
    message_in(exchange)
    assert_served([exchange])
    assert_served([broker.exchange(without_id(InstanceIdRequest(api=OFFSET_DELETE_V0_INDEX)))])


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("more_than_reading", "instance_ids", "telemetry_ids")
@pytest.mark.clause("KIP-1313.telemetry-v1")
@given(
    drawn=plain_instance_id_requests(),
    instance_id=instance_ids(),
    api_key=st.sampled_from(TELEMETRY_KEYS),
)
@example(drawn=FIRST, instance_id=AN_ID, api_key=GET_TELEMETRY_SUBSCRIPTIONS_KEY)
@example(drawn=FIRST, instance_id=AN_ID, api_key=PUSH_TELEMETRY_KEY)
def test_telemetry_has_its_id_in_the_header(
    broker: Broker, drawn: InstanceIdRequest, instance_id: UUID, api_key: int
) -> None:
    """GetTelemetrySubscriptions v1 and PushTelemetry v1 are served without an id in their bodies."""
    exchange = broker.exchange(with_id(broker, drawn, instance_id, api_key=api_key))
    message_in(exchange)
    assert_served([exchange])


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("more_than_reading", "instance_ids", "telemetry_ids")
@pytest.mark.clause("KIP-1313.telemetry-old-and-new")
@given(instance_id=instance_ids())
@example(instance_id=AN_ID)
@example(instance_id=UUID(int=2))
def test_broker_makes_ids_for_old_clients_alone(broker: Broker, instance_id: UUID) -> None:
    """The broker makes an id for a client that sends the zero id in v0, and for no other one; PushTelemetry v0 takes it."""
    (first,) = broker.converse([telemetry_v0(NO_INSTANCE_ID)])
    made = id_in(first)
    assert made != NO_INSTANCE_ID, "the broker makes no id for a client that has none"
    for given_id in (made, instance_id):
        later, pushed = broker.converse_in_turn(
            [telemetry_v0(given_id), telemetry_v0(given_id, PUSH_TELEMETRY)]
        )
        assert id_in(later) == NO_INSTANCE_ID, (
            f"the broker makes the id {id_in(later)} for a client that has one"
        )
        message_in(pushed)
        assert_served([pushed])
    (new,) = broker.converse(
        [with_id(broker, FIRST, instance_id, api_key=GET_TELEMETRY_SUBSCRIPTIONS_KEY)]
    )
    assert_served([new])


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("instance_ids")
@pytest.mark.clause("KIP-1313.discovery-survives")
@given(
    beyond=st.integers(1, MAX_VERSIONS_BEYOND) | st.integers(1, INT16_MAX),
    instance_id=instance_ids(),
)
@example(beyond=1, instance_id=AN_ID)
@example(beyond=INT16_MAX, instance_id=AN_ID)
def test_unknown_api_versions_is_answered(broker: Broker, beyond: int, instance_id: UUID) -> None:
    """A version of ApiVersions above the newest one, with header v3 as that has, gets UNSUPPORTED_VERSION."""
    version = min(newest_api_versions(broker) + beyond, INT16_MAX)
    sent = with_id(broker, FIRST, instance_id, api_key=API_VERSIONS_KEY, api_version=version)
    exchange = broker.exchange(sent)
    decode_answer(exchange, api_version=0)
    assert_error(exchange, ErrorCode.UNSUPPORTED_VERSION)
