"""Tests of throttle times: the versions that carry them, and the pause.

A throttled client of any version is answered before the pause.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

QUOTA_PERCENT = 0.0001
"""Percentage of one request thread; a single request takes more, so every request exceeds the quota."""
LIMITED = "throttled"
LIMITED_CLIENT_IDS = st.integers(0, 9).map(lambda number: f"{LIMITED}-{number}")
UNUSED = itertools.count()
"""Makes client ids that had no quota before.

If ZooKeeper passes quotas to the broker, a removed quota may stay in force for a while. It may then end just after the
next one was seen to be in force.
"""
MAX_PAUSE_S = 3.0
"""Before 2.0 the response comes after the pause, which takes up to a second, and longer if the broker is busy."""
MIN_SHARE_OF_PAUSE = 0.5
"""After which share of the pause a second request may be answered: the pause that v0 leaves unsaid may be shorter
than the next one."""
REFUSED = ("version", "name", "ids")
"""What a refusal is for."""
CONTROLLER_LEARNS_S = 5.0
"""A controller reads quotas from the metadata log on its own account. Measured: it throttles as soon as the broker
does."""
HELD_BACK = 2
"""Number of examples under a quota; each pipelined one waits for the broker's pause of a second, and before 2.0 for
two."""


@pytest.mark.clause("KIP-35.throttle-time")
@given(
    sent=api_versions_requests(client_ids=named_client_ids()) | refused_requests(),
    history=histories(),
)
@example(sent=build_request(version=0), history=ALONE)
@example(sent=build_request(version=1), history=ALONE)
@example(sent=build_request(version=2), history=ALONE)
@example(sent=build_request(version=3), history=ALONE)
@example(sent=ILLEGAL_NAME, history=ALONE)
@example(sent=WRONG_IDS, history=ALONE)
@example(sent=HALF_AN_IDENTITY, history=ALONE)
@example(sent=build_request(version=1), history=after(Earlier.UNSERVED))
def test_answer_carries_a_throttle_time_from_v1(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """From v1 a response carries a throttle time that is not negative, and v0 has none.

    A refusal does not make up a throttle time.
    """
    assume_served(broker, sent)
    exchange = exchange_after(broker, history, sent)
    answer = decode_success_or_refusal(exchange, api_version=sent.api_version)
    if has_throttle_time(sent.api_version):
        assert answer.throttle_time_ms >= 0, "the throttle time is negative"
        if answer.throttle_time_ms and answer.error_code is not ErrorCode.NONE:
            # A client that is near its quota may be throttled in one response and not in the next.
            plain = build_request(version=sent.api_version, client_id=sent.header.client_id)
            exchanges = (exchange_after(broker, history, each) for each in (plain, sent, plain))
            first, again, last = (
                decode_success_or_refusal(each, api_version=sent.api_version).throttle_time_ms for each in exchanges
            )
            assert first or last or not again, "a refusal has a throttle time, although the client is not throttled"
    else:
        rest = bytes_after_body(exchange, api_version=sent.api_version)
        assert len(rest) != THROTTLE_TIME_BYTES, "the v0 response has a throttle time"


@pytest.mark.needs("more_than_reading", "quota")
@pytest.mark.listeners("plaintext")
@pytest.mark.clause("KIP-35.throttle-time")
@settings(max_examples=HELD_BACK)
@given(
    client_id=LIMITED_CLIENT_IDS,
    version=st.integers(0, NEWEST_VERSION),
    pipelined=st.booleans(),
)
@example(client_id="throttled-0", version=0, pipelined=True)
@example(client_id="throttled-0", version=1, pipelined=False)
@example(client_id="throttled-0", version=3, pipelined=False)
def test_limited_client_is_told_before_it_is_held_back(
    broker: Broker, client_id: str, version: int, pipelined: bool
) -> None:
    """Under a request quota a response says how long the pause is, and a second request waits.

    From 2.0 on the response precedes the pause.
    """
    sent = build_request(version=min(version, broker.max_version))
    assert_told_and_held_back(broker, client_id, sent, pipelined=pipelined)


@pytest.mark.needs("more_than_reading", "quota")
@pytest.mark.listeners("plaintext")
@pytest.mark.clause("KIP-35.throttle-time")
@settings(max_examples=1)
@given(client_id=LIMITED_CLIENT_IDS, refused=st.sampled_from(REFUSED))
@example(client_id="throttled-0", refused="version")
@example(client_id="throttled-0", refused="name")
@example(client_id="throttled-0", refused="ids")
def test_limited_client_is_held_back_after_a_refusal(broker: Broker, client_id: str, refused: str) -> None:
    """Under a request quota a refusal says how long the pause is, and a second request waits.

    A refusal with the layout of v0 does not say it.
    """
    if refused == "version":
        sent = request_above(broker, UnservedRequest())
    else:
        sent = ILLEGAL_NAME if refused == "name" else WRONG_IDS
        assume_served(broker, sent)
    assert_told_and_held_back(broker, client_id, sent)


def assert_told_and_held_back(broker: Broker, client_id: str, sent: Request, *, pipelined: bool = False) -> None:
    """Fail unless a request under a quota is answered with its pause, before it, and another one after it waits.

    Args:
        broker: the target.
        client_id: the beginning of the client id that the quota is set for.
        sent: the request, but for its client id.
        pipelined: whether another request follows although the response says how long the pause is.
    """
    requests = [sent]
    if pipelined or not has_throttle_time(layout_of(broker, sent)):
        # A response in v0 has no throttle time: only a second request shows the pause.
        requests.append(build_request(version=FIRST_VERSION_WITH_THROTTLE_TIME))
    assert_held_back(broker, client_id, requests)


@pytest.mark.needs("more_than_reading", "quota", "quota_on_listener")
@pytest.mark.listeners(*(each for each in LISTENERS if each != PLAINTEXT))
@pytest.mark.clause("KIP-35.throttle-time")
@settings(max_examples=1)
@given(version=st.integers(0, NEWEST_VERSION))
@example(version=0)
def test_limited_client_is_held_back_on_every_listener(broker: Broker, version: int) -> None:
    """A request quota holds on each listener as on the plaintext one.

    A response states the pause, and the next response waits.
    """
    # One pause on each listener is enough: the broker's code differs only before it knows the client.
    versions = [min(version, broker.max_version), FIRST_VERSION_WITH_THROTTLE_TIME]
    assert_held_back(broker, LIMITED, [build_request(version=each) for each in versions])


def assert_held_back(broker: Broker, client_id: str, requests: Sequence[Request]) -> None:
    """Fail unless throttled responses state the pause, and the second one waits for it.

    The requests are sent together.
    """
    first, *second = answered_under_quota(broker, client_id, requests)
    pauses_ms = [each.throttle_time_ms for each in (first, *second) if each.throttle_time_ms is not None]
    assert min(pauses_ms) > 0, "the response to a throttled client has no throttle time"
    for each in second:
        assert each.latency_ms >= pauses_ms[0] * MIN_SHARE_OF_PAUSE, "a second request was answered during the pause"
    if broker.profile.traits.answer_precedes_pause and first.latency_ms >= pauses_ms[0]:
        # A pause of this machine is not the target's fault, but is unlikely to happen twice.
        first, *_ = answered_under_quota(broker, client_id, requests)
        assert first.latency_ms < pauses_ms[0], "the response came only after the pause"


class ThrottledAnswer(NamedTuple):
    """A response to a throttled client: its throttle time, None in v0, and its latency."""

    throttle_time_ms: int | None
    latency_ms: float


def has_throttle_time(version: int) -> bool:
    """Return whether the responses of a version carry a throttle time."""
    return version >= FIRST_VERSION_WITH_THROTTLE_TIME


def layout_of(broker: Broker, sent: Request) -> int:
    """Return the version in whose layout a request is answered: that of a refusal if its version is not served."""
    return sent.api_version if sent.api_version <= broker.max_version else 0


def answered_under_quota(broker: Broker, client_id: str, requests: Sequence[Request]) -> list[ThrottledAnswer]:
    """Send requests together, under a client id that is throttled, and return the responses."""
    administration = broker.running.administration
    assert administration is not None
    client_id = f"{client_id}-{next(UNUSED)}"
    limited = [under_client_id(each, client_id, correlation_id=number) for number, each in enumerate(requests)]

    def is_throttled() -> bool:
        with connection_of(broker, client_id) as connection:
            (exchange,) = connection.converse([build_request(version=1, client_id=client_id)])
        return bool(throttled_answer(exchange, 1).throttle_time_ms)

    is_controller = broker.listener in CONTROLLER_LISTENERS
    if is_controller:
        # As `limit_requests` does it on the broker: a client id that is new to it may race with the quota.
        is_throttled()
    with administration.limit_requests(client_id, percentage=QUOTA_PERCENT):
        if is_controller:
            # `limit_requests` waits for the broker; whether the controller throttles is judged below.
            poll_until(is_throttled, True, limit_s=CONTROLLER_LEARNS_S)
        with connection_of(broker, client_id) as connection:
            exchanges = connection.converse(limited)
    return [throttled_answer(each, layout_of(broker, each.request)) for each in exchanges]


def under_client_id(sent: Request, client_id: str, *, correlation_id: int) -> Request:
    """Return the same request with other ids in its header."""
    assert sent.body is not None
    header = replace(sent.header, client_id=client_id, correlation_id=correlation_id)
    return encode_request(header, sent.body)


@contextmanager
def connection_of(broker: Broker, client_id: str) -> Iterator[Connection]:
    """Open a connection that has a client id from its first request on, which is the one that counts in a proposal."""
    is_secured = broker.asks_for_authentication
    with broker.connect(authenticate=not is_secured, silence_bound_s=MAX_PAUSE_S) as connection:
        if is_secured:
            access = broker.running.credentials_for()
            connection.converse([build_request(version=0, client_id=client_id)])
            connection.authenticate(access)
        yield connection


def throttled_answer(exchange: Exchange, layout: int) -> ThrottledAnswer:
    """Decode the response to a throttled client."""
    answer = decode_success_or_refusal(exchange, api_version=layout)
    pause_ms = answer.throttle_time_ms if has_throttle_time(layout) else None
    return ThrottledAnswer(pause_ms, (exchange.latency_us or 0) / 1000)
