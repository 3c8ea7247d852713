"""Properties of KIP-1313: the client instance id in header v3 on one connection.

KIP-1313 is a proposal. They judge targets that claim it.
"""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from proposals.kip_1313.properties.brokers.vocabulary import *

FIRST, SECOND = InstanceIdRequest(), InstanceIdRequest(api=1)
WITHOUT_SASL = tuple(name for name in LISTENERS if name not in SASL_LISTENERS)
MAX_EXAMPLES_OF_SASL = 10


@pytest.mark.needs("more_than_reading", "instance_ids")
@pytest.mark.clause("KIP-1313.header-v3-layout")
@given(drawn=instance_id_requests(), instance_id=instance_ids())
@example(drawn=FIRST, instance_id=AN_ID)
@example(drawn=InstanceIdRequest(client_id=None), instance_id=AN_ID)
@example(drawn=InstanceIdRequest(client_id=""), instance_id=AN_ID)
@example(drawn=InstanceIdRequest(client_id="a" * 200, api=1), instance_id=UUID(int=2))
@example(drawn=InstanceIdRequest(tags=(TaggedField(100, b"tag"),)), instance_id=UUID(int=1 << 127))
def test_header_with_an_id_is_read(broker: Broker, drawn: InstanceIdRequest, instance_id: UUID) -> None:
    """A request with header v3 is served, whatever client id, client instance id and unknown tags its header has."""
    sent = with_id(broker, drawn, instance_id, api_key=api_of_first(broker))
    assert_served([broker.exchange(sent)])


@pytest.mark.malformed
@pytest.mark.needs("instance_ids")
@pytest.mark.clause("KIP-1313.first-id-not-zero")
@given(drawn=plain_instance_id_requests())
@example(drawn=FIRST)
@example(drawn=SECOND)
def test_connection_does_not_begin_with_zero(broker: Broker, drawn: InstanceIdRequest) -> None:
    """The zero id in the first request of a connection gets INVALID_REQUEST."""
    sent = with_id(broker, drawn, NO_INSTANCE_ID, api_key=api_of_first(broker))
    assert_refused(broker.exchange(sent), "begins a connection with the zero id")


@pytest.mark.listeners(*WITHOUT_SASL)
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


@pytest.mark.listeners(*WITHOUT_SASL)
@pytest.mark.malformed
@pytest.mark.needs("instance_ids")
@pytest.mark.clause("KIP-1313.id-constant-on-connection")
@given(first=plain_instance_id_requests(), later=plain_instance_id_requests())
@example(first=FIRST, later=InstanceIdRequest(api=0))
@example(first=FIRST, later=InstanceIdRequest(api=6))
def test_later_request_has_no_older_header(broker: Broker, first: InstanceIdRequest, later: InstanceIdRequest) -> None:
    """A request with an older header gets INVALID_REQUEST on a connection with an id, except SaslHandshake."""
    has_id = with_id(broker, first, AN_ID)
    if lists(broker, SASL_HANDSHAKE_KEY):
        *served, exempt = broker.converse_in_turn([has_id, sasl_handshake()])
        assert_served(served)
        error = error_in(exempt)
        assert error is not ErrorCode.INVALID_REQUEST, "SaslHandshake gets INVALID_REQUEST"
    *served, refused = broker.converse_in_turn([has_id, without_id(broker, later)])
    assert_served(served)
    assert_refused(refused, "has no id, but the connection has one")


@pytest.mark.needs("more_than_reading", "instance_ids")
@pytest.mark.clause("KIP-1313.old-headers-still-served")
@given(drawn=st.lists(plain_instance_id_requests(), min_size=1, max_size=4))
@example(drawn=[InstanceIdRequest(api=each) for each in range(4)])
@example(drawn=[InstanceIdRequest(api=each) for each in range(4, 8)])
def test_connection_without_ids_is_served(broker: Broker, drawn: list[InstanceIdRequest]) -> None:
    """Requests with older headers are served on a connection that never used header v3."""
    assert_served(broker.converse_in_turn([without_id(broker, each) for each in drawn]))


@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.malformed
@pytest.mark.needs("instance_ids", "login_with_id")
@pytest.mark.clause("KIP-1313.id-constant-on-connection")
@settings(max_examples=MAX_EXAMPLES_OF_SASL)
@given(
    drawn=plain_instance_id_requests(),
    other=st.none() | instance_ids() | st.just(NO_INSTANCE_ID),
    with_token=st.booleans(),
)
@example(drawn=FIRST, other=ANOTHER_ID, with_token=True)
@example(drawn=FIRST, other=NO_INSTANCE_ID, with_token=True)
@example(drawn=SECOND, other=None, with_token=True)
@example(drawn=SECOND, other=ANOTHER_ID, with_token=False)
@example(drawn=FIRST, other=None, with_token=False)
def test_authentication_keeps_the_id(
    broker: Broker, drawn: InstanceIdRequest, other: UUID | None, with_token: bool
) -> None:
    """Authentication that begins with header v3 needs the same id in all requests but SaslHandshake.

    The same id is also needed after authentication.
    """
    assume(other != AN_ID)
    *begin, token = login(broker, AN_ID)
    with broker.connect(authenticate=False) as connection:
        served = connection.converse_in_turn([*begin, token, with_id(broker, drawn, AN_ID)])
    assert_served(served)
    accepted = error_in(served[len(begin)])
    assert accepted is ErrorCode.NONE, f"SaslAuthenticate with the right password gets {accepted!r}"
    if with_token:
        last = [token_request(broker, other)]
    else:
        changed = without_id(broker, drawn) if other is None else with_id(broker, drawn, other)
        last = [token, changed]
    with broker.connect(authenticate=False) as connection:
        *served_before, refused = connection.converse_in_turn([*begin, *last])
    assert_served(served_before)
    assert_refused(refused, "has another id than the connection, or none")


@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.needs("more_than_reading", "instance_ids", "login_with_id")
@pytest.mark.clause("KIP-1313.old-headers-still-served")
@settings(max_examples=MAX_EXAMPLES_OF_SASL)
@given(version=st.sampled_from(OLD_VERSIONS), drawn=plain_instance_id_requests())
@example(version=0, drawn=FIRST)
@example(version=NEWEST_VERSION, drawn=SECOND)
def test_authentication_without_ids_is_served(broker: Broker, version: int, drawn: InstanceIdRequest) -> None:
    """A client that never uses header v3 authenticates, and is served."""
    steps = [
        build_request(version=version),
        sasl_handshake(),
        token_request(broker, None),
        without_id(broker, drawn),
    ]
    with broker.connect(authenticate=False) as connection:
        exchanges = connection.converse_in_turn(steps)
    assert_served(exchanges)
    accepted = error_in(exchanges[2])
    assert accepted is ErrorCode.NONE, f"SaslAuthenticate with the right password gets {accepted!r}"
