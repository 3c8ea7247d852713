"""Throttle times: which versions carry them, and that a throttled client is answered before the pause."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.assertions.judging import assume_served, bytes_after_body, decode_answer
from fixtures.under_test.broker import Broker
from strategies.api_versions import api_versions_requests, build_request
from strategies.header_fields import plain_client_ids
from wire.api_versions import FIRST_VERSION_WITH_THROTTLE_TIME, NEWEST_VERSION
from wire.exchange import Request

QUOTA_PERCENT = 0.0001
"""Percentage of one request thread; a single request takes more, so every request exceeds the quota."""
LIMITED_CLIENT_IDS = st.integers(0, 9).map(lambda number: f"throttled-{number}")
UNUSED = itertools.count()
"""Makes client ids that had no quota before.

If ZooKeeper passes quotas to the broker, a removed quota may stay in force for a while. It may then end just after the
next one was seen to be in force.
"""
THROTTLE_TIME_BYTES = 4
LONGEST_PAUSE_S = 3.0
"""Before 2.0 the response comes after the pause, which takes up to a second, and longer if the broker is busy."""
HELD_BACK = 2
"""Number of examples under a quota; each waits for the broker's pause, up to a second per request."""


@pytest.mark.clause("KIP-35.throttle-time")
@given(sent=api_versions_requests(client_ids=plain_client_ids()))
@example(sent=build_request(version=0))
@example(sent=build_request(version=1))
@example(sent=build_request(version=2))
@example(sent=build_request(version=3))
def test_answer_carries_a_throttle_time_from_v1(broker: Broker, sent: Request) -> None:
    """From v1 a response carries a throttle time that is not negative; v0 has none."""
    assume_served(broker, sent)
    exchange = broker.exchange(sent)
    answer = decode_answer(exchange, api_version=sent.api_version)
    if sent.api_version >= FIRST_VERSION_WITH_THROTTLE_TIME:
        assert answer.throttle_time_ms >= 0, "the throttle time is negative"
    else:
        rest = bytes_after_body(exchange, api_version=sent.api_version)
        assert len(rest) != THROTTLE_TIME_BYTES, "the v0 response has a throttle time"


@pytest.mark.needs("quota")
@pytest.mark.listeners("plaintext")
@pytest.mark.clause("KIP-35.throttle-time")
@settings(max_examples=HELD_BACK)
@given(client_id=LIMITED_CLIENT_IDS, version=st.integers(1, NEWEST_VERSION))
@example(client_id="throttled-0", version=1)
@example(client_id="throttled-0", version=3)
def test_limited_client_is_told_before_it_is_held_back(
    broker: Broker, client_id: str, version: int
) -> None:
    """Under a request quota a response says how long the pause is, and from 2.0 on it comes before the pause."""
    version = min(version, broker.max_version)
    throttle_time_ms, latency_ms = answered_under_quota(broker, client_id, version)
    assert throttle_time_ms > 0, "the response to a throttled client has no throttle time"
    if broker.profile.traits.answer_precedes_pause and latency_ms >= throttle_time_ms:
        # A pause of this machine is not the target's fault, but is unlikely to happen twice.
        throttle_time_ms, latency_ms = answered_under_quota(broker, client_id, version)
        assert latency_ms < throttle_time_ms, "the response came only after the pause"


def answered_under_quota(broker: Broker, client_id: str, version: int) -> tuple[int, float]:
    """Return the throttle time in a throttled client's response, and the latency, both in milliseconds."""
    administration = broker.running.administration
    assert administration is not None
    client_id = f"{client_id}-{next(UNUSED)}"
    sent = build_request(version=version, client_id=client_id)
    with (
        administration.limit_requests(client_id, percentage=QUOTA_PERCENT),
        broker.connect(silence_bound_s=LONGEST_PAUSE_S) as connection,
    ):
        (exchange,) = connection.converse([sent])
    answer = decode_answer(exchange, api_version=version)
    return answer.throttle_time_ms, (exchange.latency_us or 0) / 1000
