"""Tests that no request of another API is served before authentication."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

V0 = build_request(version=0)
HANDSHAKE_V0, HANDSHAKE_V1 = (handshake_request(version=version) for version in (0, 1))
HANDSHAKE_KEYS = (API_VERSIONS_KEY, SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY)
MAX_KEY = 99
"""Kafka's keys lie below."""

NOT_REFUSED = "answered with more than the error ILLEGAL_SASL_STATE"
STAYS_OPEN = "the connection stays open"

requests_before = st.lists(st.sampled_from((V0, HANDSHAKE_V0, HANDSHAKE_V1)), max_size=2, unique=True)


def what_is_wrong(broker: Broker, sent: Request, before: list[Request]) -> str:
    """Send a request after some others, without authentication; returns how it was served, empty if it was not."""
    if HANDSHAKE_V1 in before:
        assume(broker.profile.traits.sasl_handshake_max > 0)
    with broker.connect(authenticate=False) as connection:
        answers = connection.converse_in_turn(before) if before else ()
        # A handshake in the wrong place closes the connection.
        assume(all(each.outcome is Outcome.ANSWER for each in answers))
        (exchange,) = connection.converse([sent])
        if exchange.outcome is Outcome.CLOSED:
            return ""
        if exchange.outcome is not Outcome.ANSWER:
            return summary_of(exchange)
        if not refuses(exchange, ErrorCode.ILLEGAL_SASL_STATE, find_api):
            return NOT_REFUSED
        (after,) = connection.converse([V0])
    return "" if after.outcome is Outcome.CLOSED else STAYS_OPEN


@pytest.mark.malformed
@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.clause("PROTOCOL.nothing-served-before-authentication")
@given(
    sent=whole_requests() | st.sampled_from((VOTE, ENVELOPE, BROKER_HEARTBEAT)),
    before=requests_before,
)
@example(sent=METADATA, before=[])
@example(sent=LIST_GROUPS, before=[V0])
@example(sent=METADATA, before=[HANDSHAKE_V0])
@example(sent=LIST_GROUPS, before=[HANDSHAKE_V1])
@example(sent=METADATA, before=[HANDSHAKE_V1])
@example(sent=LIST_GROUPS, before=[V0, HANDSHAKE_V1])
@example(sent=VOTE, before=[HANDSHAKE_V1])
@example(sent=ENVELOPE, before=[HANDSHAKE_V1])
@example(sent=BROKER_HEARTBEAT, before=[HANDSHAKE_V1])
def test_other_apis_are_not_served_before_authentication(broker: Broker, sent: Request, before: list[Request]) -> None:
    """Before authentication a broker closes on a request of another API or refuses it, and then closes."""
    wrong = what_is_wrong(broker, sent, before)
    assert not wrong, wrong


@pytest.mark.malformed
@pytest.mark.listeners(*SASL_LISTENERS)
@pytest.mark.clause("PROTOCOL.nothing-served-before-authentication")
@given(api_key=st.integers(0, MAX_KEY), newest=st.booleans(), before=requests_before)
@example(api_key=19, newest=True, before=[])
@example(api_key=10, newest=False, before=[V0])
# Answered without an error by a release or two.
@example(api_key=4, newest=False, before=[HANDSHAKE_V1])
@example(api_key=4, newest=True, before=[HANDSHAKE_V1])
@example(api_key=5, newest=False, before=[HANDSHAKE_V1])
@example(api_key=57, newest=False, before=[HANDSHAKE_V1])
def test_advertised_apis_are_not_served_before_authentication(
    broker: Broker, api_key: int, newest: bool, before: list[Request]
) -> None:
    """Before authentication a broker serves no API of its table, in its oldest version or its newest."""
    assume(api_key not in HANDSHAKE_KEYS)
    items = [item for item in advertised_items(broker) if item.api_key == api_key]
    assume_seen(is_requested(broker, api_key))
    assume(items)
    item = items[-1 if newest else 0]
    request = request_to(broker, api_for(broker, item), item.api_version)
    wrong = what_is_wrong(broker, request, before)
    assert not wrong, f"{item.name} v{item.api_version}: {wrong}"
