"""Properties of KIP-1313: listed versions, and responses in changed versions.

KIP-1313 is a proposal.
"""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proposals.kip_1313.properties.brokers.vocabulary import *

FIRST = InstanceIdRequest()
MAX_VERSIONS_BEYOND = 20
MAX_EXAMPLES_FEW = 20
"""Each one that begins without an id leaves another in the memory of a broker."""


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


@pytest.mark.needs("more_than_reading", "instance_ids", "login_with_id", "offset_delete_ids")
@pytest.mark.clause("KIP-1313.offset-delete-v1")
@given(drawn=plain_instance_id_requests(), instance_id=instance_ids())
@example(drawn=FIRST, instance_id=AN_ID)
def test_offset_delete_is_served_in_both_versions(broker: Broker, drawn: InstanceIdRequest, instance_id: UUID) -> None:
    """OffsetDelete v1 is served in its flexible layout, and v0 as before."""
    exchange = ask_with_id(broker, drawn, instance_id, api_key=OFFSET_DELETE_KEY)
    message_in(exchange)
    assert_served([exchange])
    assert_served(broker.converse([in_v0(OFFSET_DELETE_KEY, drawn)]))


@pytest.mark.needs("more_than_reading", "instance_ids", "login_with_id", "telemetry_ids")
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
    exchange = ask_with_id(broker, drawn, instance_id, api_key=api_key)
    message_in(exchange)
    assert_served([exchange])


@pytest.mark.needs("more_than_reading", "old_telemetry")
@pytest.mark.clause("KIP-1313.telemetry-old-and-new")
@settings(max_examples=MAX_EXAMPLES_FEW)
@given(instance_id=instance_ids())
@example(instance_id=AN_ID)
@example(instance_id=UUID(int=2))
def test_broker_makes_ids_for_old_clients_alone(broker: Broker, instance_id: UUID) -> None:
    """The broker makes an id only for a client that sends the zero id in v0, and PushTelemetry v0 takes it."""
    with noted_of_others(broker):
        made = id_made(*broker.converse([telemetry_v0(NO_INSTANCE_ID)]))
        given_ids = (made, instance_id, unseen_id(made, instance_id))
        later = broker.converse_in_turn([telemetry_v0(each) for each in given_ids])
        returned = [*map(is_returned, later, given_ids)]
    if claims_instance_ids(broker):
        pushed = broker.converse_in_turn([telemetry_v0(each, PUSH_TELEMETRY) for each in given_ids])
        for exchange in pushed:
            message_in(exchange)
        assert_served(pushed)
    if any(returned):
        raise Unjudged(
            "the broker returns the id of a client that has one: the text of the proposal says zero, also of brokers of "
            "today, but Apache Kafka 3.7 to 4.4 return it"
        )


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
