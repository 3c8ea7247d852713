"""Tests of requests of other APIs that only read, in any position.

They are sent in pipelines, on connections without ApiVersions, and after a request without a response.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

MAX_EXAMPLES_SLOW = 10
FIRST_ID = 1000
API_VERSIONS = -1
"""Stands for a request of ApiVersions among indexes into the list of a target's read-only versions."""
SLOW = range(-2, -6, -1)
"""Stand for the newest and the oldest version of Produce and Fetch there, or in a read-only run for those of Fetch
alone."""


def picked(items: tuple[Item, ...], index: int) -> Item:
    """Return one of a target's versions for any index; reject the example if it has none."""
    assume(items)
    return items[index % len(items)]


def pipeline(broker: Broker, indexes: list[int]) -> list[Request]:
    """Return a request of ApiVersions and then requests of the versions with these indexes.

    Each request has a correlation id of its own.
    """
    plain = broker.readable_version
    sent = [build_request(version=plain, correlation_id=FIRST_ID)]
    for number, index in enumerate(indexes, start=FIRST_ID + 1):
        if index == API_VERSIONS:
            sent.append(build_request(version=plain, correlation_id=number))
        elif index in SLOW:
            item = picked(slow_items(broker), SLOW.index(index))
            sent.append(slow_request_of(item, correlation_id=number))
        else:
            item = picked(read_only_items(broker), index)
            sent.append(request_of(item, correlation_id=number))
    return sent


@pytest.mark.needs("read_only_apis")
@pytest.mark.clause("PROTOCOL.answers-in-order")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(places=st.lists(st.integers(SLOW[-1], 7), min_size=1, max_size=5))
@example(places=[0, API_VERSIONS])
@example(places=[SLOW[0], 2])
@example(places=[SLOW[1], 0])
@example(places=[SLOW[2], API_VERSIONS, SLOW[3], API_VERSIONS])
@example(places=[1, 2, API_VERSIONS, 3, API_VERSIONS])
def test_requests_of_several_apis_are_answered_in_order(broker: Broker, places: list[int]) -> None:
    """A broker answers pipelined requests of several APIs in the order in which they were sent."""
    sent = pipeline(broker, places)
    with broker.connect(silence_bound_s=SLOWEST_ANSWER_S) as connection:
        assert_in_order(connection.converse(sent))


@pytest.mark.needs("read_only_apis")
@pytest.mark.clause("KIP-35.never-asked-is-served")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(places=st.lists(st.integers(0, 7), min_size=1, max_size=4))
@example(places=[0])
@example(places=[1, 2, 1])
def test_connection_that_never_asked_is_served(broker: Broker, places: list[int]) -> None:
    """A connection without a request of ApiVersions serves what one with such a request serves."""
    items = [picked(read_only_items(broker), index) for index in places]
    sent = [request_of(item, correlation_id=number) for number, item in enumerate(items, start=FIRST_ID)]
    with broker.connect(silence_bound_s=SLOWEST_ANSWER_S) as connection:
        exchanges = connection.converse_in_turn(sent)
    for item, exchange in zip(items, exchanges, strict=False):
        why = why_unserved(item, exchange)
        if exchange.outcome is not Outcome.ANSWER:
            why = what_it_did(exchange)
        assert not why, (
            f"a version is served only after ApiVersions on the same connection; without it {why.partition(':')[0]}\n"
            f"{names_of([item])}: {why}"
        )


@pytest.mark.needs("other_apis")
@pytest.mark.clause("KIP-35.every-advertised-version-served")
@settings(max_examples=MAX_EXAMPLES_SLOW)
@given(place=st.integers(0, 7), version=st.integers(0, NEWEST_VERSION))
@example(place=1, version=0)
@example(place=3, version=0)
@example(place=0, version=NEWEST_VERSION)
def test_version_of_api_versions_decides_about_no_other_api(broker: Broker, place: int, version: int) -> None:
    """What another API serves on a new connection it serves after ApiVersions in any version as well."""
    item = picked(listed_items(broker), place)
    table_request = build_request(version=min(version, broker.described_version), correlation_id=FIRST_ID)
    sent = request_of(item, correlation_id=FIRST_ID + 1)
    with broker.connect(silence_bound_s=SLOWEST_ANSWER_S) as connection:
        (alone,) = connection.converse([sent])
    # Whether it is served at all, and ApiVersions before it, is judged by others.
    assume(not why_unserved(item, alone))
    with broker.connect(silence_bound_s=SLOWEST_ANSWER_S) as connection:
        first, *after = connection.converse_in_turn([table_request, sent])
    assume(first.outcome is Outcome.ANSWER)
    why, fault = why_unserved(item, after[0]), ResponseFault.UNDECODABLE
    if after[0].payload is None:
        why, fault = what_it_did(after[0]), ResponseFault.NO_ANSWER
    if why:
        raise MalformedAnswer(
            after[0],
            f"a version is not served after ApiVersions on the same connection: {why.partition(':')[0]}\n"
            f"{names_of([item])} after v{table_request.api_version}: {why}",
            fault=fault,
        )


@pytest.mark.needs("more_than_reading", "produce")
@pytest.mark.clause("PROTOCOL.no-response-to-acks-0")
@settings(max_examples=MAX_EXAMPLES_SLOW)
# Few requests: whether a long pipeline is answered, and in which order, is judged by a separate clause. Two of them
# show whether a response too many came, or one with a wrong id.
@given(place=st.integers(0, 1), before=st.integers(1, 2), after=st.integers(2, 3))
@example(place=0, before=1, after=2)
@example(place=1, before=2, after=2)
def test_produce_with_acks_0_gets_no_response(broker: Broker, place: int, before: int, after: int) -> None:
    """A broker sends no response to Produce with acks 0, and the responses to the requests around it."""
    item = picked(produce_items(broker), place)
    ids = range(FIRST_ID, FIRST_ID + before)
    plain = [build_request(version=broker.readable_version, correlation_id=each) for each in ids]
    later = range(FIRST_ID + before, FIRST_ID + before + after)
    answered = [request_of(item, correlation_id=each) for each in later]
    with broker.connect(silence_bound_s=SLOWEST_ANSWER_S) as connection:
        exchanges = connection.converse([*plain, request_without_response(item), *answered])
    assert_all_answered(exchanges)
