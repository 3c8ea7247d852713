"""Tests of what binds a proxy in addition to a broker's clauses.

A proxy keeps to its upstream, and changes nothing in passing.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

V0 = build_request(version=0)
V0_BYTES = len(V0.data) - SIZE_BYTES
FLEXIBLE = build_request(version=3, correlation_id=9)
LAST = build_request(version=0, correlation_id=77)
OWN_KEYS = {API_VERSIONS_KEY, SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY}
"""What a proxy may answer itself, and so list more of than its upstream does."""


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("upstream")
@pytest.mark.clause("PROXY.table-within-upstream")
@given(sent=api_versions_requests())
@example(sent=build_request(version=0))
@example(sent=build_request(version=3))
def test_table_is_within_that_of_the_upstream(broker: Broker, sent: Request) -> None:
    """A proxy lists no API and no version that its upstream does not list."""
    assume_served(broker, sent)
    answer = decode_answer(broker.exchange(sent), api_version=sent.api_version)
    upstream = upstream_table(broker)
    wider = [
        f"{key}: v{low} to v{high}, the upstream v{upstream[key][0]} to v{upstream[key][1]}"
        if key in upstream
        else f"{key}: v{low} to v{high}, the upstream none"
        for key, (low, high) in key_ranges(answer).items()
        if key not in OWN_KEYS and (key not in upstream or low < upstream[key][0] or high > upstream[key][1])
    ]
    assert not wider, f"the table lists more than that of the upstream: {'; '.join(wider)}"


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("upstream")
@pytest.mark.clause("PROXY.newer-api-versions-answered")
@given(sent=api_versions_requests(versions=unknown_versions()))
@example(sent=build_request(version=NEWEST_VERSION))
@example(sent=build_request(version=NEWEST_VERSION + 1))
def test_unknown_version_is_answered(broker: Broker, sent: Request) -> None:
    """A proxy answers a version of ApiVersions that it does not know, and keeps the connection."""
    assume_unserved(broker, sent)
    exchange = broker.exchange(sent)
    decode_answer(exchange, api_version=0)
    assert_error(exchange, ErrorCode.UNSUPPORTED_VERSION)


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("upstream", "upstream_link", "upstream_answers")
@pytest.mark.clause("PROXY.requests-unchanged")
@given(passed=passed_requests())
@example(passed=PassedRequest(api_key=PASSED_KEYS[0]))
@example(passed=PassedRequest(api_key=PASSED_KEYS[0], client_id="a" * 200))
def test_request_arrives_unchanged(broker: Broker, passed: PassedRequest) -> None:
    """A request that names no address reaches the upstream as it was sent, except for the correlation id."""
    sent = assume_passed(broker, passed)
    payload_of(broker.exchange(sent))
    problem = arrived_unchanged(broker, sent)
    assert not problem, problem


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("upstream", "upstream_answers")
@pytest.mark.clause("PROXY.responses-unchanged")
@given(passed=passed_requests())
@example(passed=PassedRequest(api_key=PASSED_KEYS[0]))
@example(passed=PassedRequest(api_key=PASSED_KEYS[1], below_newest=1))
@example(passed=PassedRequest(api_key=PASSED_KEYS[0], client_id="a" * 100))
def test_response_arrives_unchanged(broker: Broker, passed: PassedRequest) -> None:
    """The response to such a request is the one that the upstream gives."""
    sent = assume_passed(broker, passed)
    upstream = broker.sibling(UPSTREAM)
    before = upstream.exchange(sent).payload
    # What the upstream does not answer is judged there.
    assume_seen(before is not None)
    assert before is not None
    proxied = payload_of(broker.exchange(sent))
    # What changes from one response to the next without a proxy says nothing about the proxy.
    assume_seen(before == upstream.exchange(sent).payload)
    assert proxied == before, f"the response is {proxied.hex()}, that of the upstream {before.hex()}"


@pytest.mark.malformed
@pytest.mark.listeners("plaintext")
@pytest.mark.needs("upstream")
@pytest.mark.clause("PROXY.frames-as-upstream")
@given(sent=frames_with_small_size())
@example(sent=build_with_frame_inside(V0))
@example(sent=build_cut_short(V0, V0_BYTES, b"\xff\xff\xff\xff"))
@example(sent=build_cut_short(FLEXIBLE, len(FLEXIBLE.data) - SIZE_BYTES - 4, V0.data))
def test_frames_are_those_of_the_upstream(broker: Broker, sent: Request) -> None:
    """If size prefixes are wrong, a proxy answers no request that its upstream does not find in the same bytes."""
    frames = as_read([sent, LAST])
    assume(not is_unfinished(frames[-1]))
    before_refused = 0
    if any(has_refused_size(each.data) for each in frames):
        # Some releases lose their responses to what comes before such a size.
        before_refused = len(frames) - 1
    upstream = broker.sibling(UPSTREAM)
    answers = len(answered_ids(upstream, frames))
    # One that is silent finds nothing in any bytes.
    assume_seen(answers > 0 or upstream.exchange(LAST).payload is not None)
    answered = answered_ids(broker, frames)
    assert len(answered) <= max(answers, before_refused), (
        f"the proxy answers {len(answered)} requests, its upstream {answers} in the same bytes"
    )


def answered_ids(broker: Broker, frames: Sequence[Request]) -> list[int | None]:
    """Return the correlation ids of the responses to some frames in one write."""
    return [read_correlation_id(each.payload) for each in broker.converse(frames) if each.payload is not None]


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("upstream", "upstream_link")
@pytest.mark.clause("PROXY.software-name-arrives")
@given(sent=api_versions_requests(min_version=FIRST_FLEXIBLE_VERSION, software=legal_software()))
@example(sent=build_request(version=FIRST_FLEXIBLE_VERSION))
@example(sent=build_request(version=FIRST_FLEXIBLE_VERSION, software=Software("another-client", "1.2.3-SNAPSHOT")))
def test_software_name_arrives(broker: Broker, sent: Request) -> None:
    """Name and version of the client's software reach the upstream as the client sent them."""
    assume_served(broker, sent)
    assert_error(broker.exchange(sent), ErrorCode.NONE)
    assert sent.body is not None
    announced = (sent.body.client_software_name, sent.body.client_software_version)
    arrived = names_that_arrived(broker)
    assert announced in arrived, (
        f"the upstream gets no {announced[0]!r} {announced[1]!r}; "
        f"the latest that it got: {arrived[-1] if arrived else 'none'}"
    )


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("upstream", "cluster_id")
@pytest.mark.clause("PROXY.cluster-ids-arrive")
@given(given_ids=st.sampled_from(Given))
@example(given_ids=Given.BOTH)
@example(given_ids=Given.WRONG_CLUSTER)
@example(given_ids=Given.WRONG_NODE)
def test_cluster_ids_are_judged_by_the_upstream(broker: Broker, given_ids: Given) -> None:
    """A proxy responds to a client's cluster id and node id with the error that its upstream gives."""
    sent = build_request_with(ids_given(given_ids, right_ids(broker)))
    direct = broker.sibling(UPSTREAM).exchange(sent)
    # What the upstream does not answer is judged there.
    assume_seen(direct.payload is not None)
    upstream = error_code_of(direct)
    proxied = error_code_of(broker.exchange(sent))
    assert proxied == upstream, f"the response has the error {proxied!r}, and not {upstream!r}"


@pytest.mark.listeners("plaintext")
@pytest.mark.needs("upstream", "upstream_features")
@pytest.mark.clause("PROXY.features-arrive")
@given(version=st.integers(FIRST_FLEXIBLE_VERSION, NEWEST_VERSION))
@example(version=3)
@example(version=5)
def test_features_of_the_upstream_arrive(broker: Broker, version: int) -> None:
    """A proxy lists supported and finalized features if its upstream does."""
    assert_features_as_on(broker, UPSTREAM, version)


@pytest.mark.in_order
@pytest.mark.listeners("plaintext")
@pytest.mark.needs("upstream", "upstream_link")
@pytest.mark.clause("PROXY.broken-upstream-closes")
@given(sent=api_versions_requests(max_version=0), is_new=st.booleans())
@example(sent=build_request(version=0), is_new=True)
@example(sent=build_request(version=0), is_new=False)
def test_broken_upstream_is_no_silence(broker: Broker, sent: Request, is_new: bool) -> None:
    """If its upstream breaks, a proxy ends or answers: a new connection, and one that was used before."""
    assert_ends_soon(broker, sent, is_new=is_new)
