"""Tests of request headers: returned fields, ignored fields, required version.

They check which fields come back, which must not matter, and which header version is required.
"""

from __future__ import annotations

import functools
import json
import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from conformance.brokers.vocabulary import *

LONG_CLIENT_ID = 1000
MAX_EXAMPLES_FEW = 4
"""Drawn sequences of correlation ids: which relations matter is pinned."""
MAX_EXAMPLES_OF_OTHER_APIS = 10
"""Number of examples for properties that send a request of every version of several APIs; lists of groups may be
long."""


@pytest.mark.clause("PROTOCOL.correlation-id-echoed")
@given(
    sent=api_versions_requests(correlation_ids=correlation_ids())
    | api_versions_requests(
        min_version=FIRST_FLEXIBLE_VERSION,
        correlation_ids=correlation_ids(),
        software=software_with_one(illegal_software_texts()),
    ),
    history=histories(),
)
@example(sent=build_request(version=0, correlation_id=-1), history=ALONE)
@example(sent=build_request(version=0, correlation_id=-(2**31)), history=ALONE)
@example(sent=build_request(version=0, correlation_id=2**31 - 2), history=ALONE)
@example(sent=build_request(version=0, correlation_id=2**31 - 1), history=ALONE)
@example(sent=build_request(version=3, correlation_id=-2, software=Software("a_b", "1")), history=ALONE)
@example(sent=build_request(version=3, correlation_id=-2), history=in_one_write_with(Earlier.V0))
def test_correlation_id_comes_back(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker returns any correlation id in the first four bytes of its response, also when it refuses a name."""
    exchange = exchange_after(broker, history, sent)
    if exchange.payload is None:
        assume(is_answered_with_another_id(broker, sent))
    echoed = read_correlation_id(payload_of(exchange))
    assert echoed == sent.correlation_id, f"the response has the correlation id {echoed}"


@pytest.mark.clause("PROTOCOL.correlation-id-echoed")
@settings(max_examples=MAX_EXAMPLES_FEW)
@given(ids=st.lists(correlation_ids(), min_size=2, max_size=3))
@example(ids=[1, 9])
@example(ids=[9, 9])
@example(ids=[9, 1])
def test_correlation_ids_follow_each_other_freely(broker: Broker, ids: list[int]) -> None:
    """A connection serves requests whatever correlation ids follow each other, because they are the client's own."""
    version = broker.readable_version
    sent = [build_request(version=version, correlation_id=each) for each in ids]
    exchanges = broker.converse_in_turn(sent)
    if exchanges[-1].payload is None:
        # Whether a connection serves more than one request at all is judged by a separate clause.
        restricted = restricted_ids(broker)
        assume(restricted is not None)
        assert restricted is None, str(restricted)
    assert_own_ids(exchanges)


def is_answered_with_another_id(broker: Broker, sent: Request) -> bool:
    """Return whether the correlation id may be why a request gets no response.

    It may be if the request has a legal software name, or if the target answers the request with a plain id.

    Separate clauses judge whether a request with an illegal name is answered at all.
    """
    body = sent.body
    assert body is not None
    software = Software(body.client_software_name, body.client_software_version)
    if all(map(is_valid_name, software)):
        return True
    plain = build_request(version=sent.api_version, software=software)
    return broker.exchange(plain).payload is not None


@pytest.mark.clause("PROTOCOL.client-id-free")
@given(version=st.integers(0, NEWEST_VERSION), client_id=client_ids(), history=histories())
@example(version=0, client_id=None, history=ALONE)
@example(version=0, client_id="", history=ALONE)
@example(version=0, client_id="é", history=ALONE)
@example(version=0, client_id="a" * 32767, history=ALONE)
@example(version=0, client_id='name:with*marks,="?', history=ALONE)
@example(version=1, client_id="a" * 40, history=after(Earlier.V0))
def test_client_id_does_not_change_the_answer(
    broker: Broker, version: int, client_id: str | None, history: ConnectionHistory
) -> None:
    """A broker answers a request with any client id as it answers one with a plain id."""
    # 0.11 fails on some ids when it sees them for the first time, so there each listener gets its own ids.
    is_choosy = bool(broker.profile.traits.unanswered_client_ids)
    if is_choosy and client_id and len(client_id) < LONG_CLIENT_ID:
        client_id += broker.listener
    sent = build_request(version=version, client_id=client_id)
    assume_served(broker, sent)
    plain = decode_answer(exchange_after(broker, history, build_request(version=version)), api_version=version)
    with violation_context("an unusual client id", json.dumps(client_id)):
        answer = decode_answer(exchange_after(broker, history, sent), api_version=version)
        assert stable_part(answer) == stable_part(plain), "the response differs from that to a plain client id"


@pytest.mark.needs("read_only_apis")
@pytest.mark.clause("PROTOCOL.correlation-id-echoed")
@settings(max_examples=MAX_EXAMPLES_OF_OTHER_APIS)
@given(correlation_id=correlation_ids())
@example(correlation_id=2**16)
@example(correlation_id=-2)
@example(correlation_id=2**30 + 1)
def test_correlation_id_comes_back_from_other_apis(broker: Broker, correlation_id: int) -> None:
    """The response of another API that only reads has the correlation id of its request, whatever that is."""
    items = short_items(broker)
    sent = [request_of(item, correlation_id=correlation_id) for item in items]
    for item, exchange in zip(items, exchange_in_turn(broker, sent), strict=False):
        with violation_context("a request of another API", names_of([item])):
            echoed = read_correlation_id(payload_of(exchange))
            assert echoed == correlation_id, f"the response has the correlation id {echoed}"


@pytest.mark.needs("read_only_apis")
@pytest.mark.clause("PROTOCOL.client-id-free")
@settings(max_examples=MAX_EXAMPLES_OF_OTHER_APIS)
@given(other_client_id=client_ids())
@example(other_client_id=None)
@example(other_client_id="")
@example(other_client_id="é" * 200)
def test_client_id_does_not_change_what_other_apis_answer(broker: Broker, other_client_id: str | None) -> None:
    """The client id of a read-only request of another API does not change its error codes.

    The error codes are those of the request with a plain client id.
    """
    unanswered = broker.profile.traits.unanswered_client_ids
    # What 0.11 never answers is judged by the requests of ApiVersions.
    assume(not (unanswered and re.search(unanswered, other_client_id or "")))
    with violation_context("an unusual client id of another API", json.dumps(other_client_id)):
        assert_served_as_plain(
            broker,
            short_items(broker),
            functools.partial(request_of, client_id=other_client_id),
        )


@pytest.mark.malformed
@pytest.mark.clause("PROTOCOL.client-id-old-encoding")
@given(sent=requests_with_compact_client_id(), history=histories())
@example(sent=build_with_compact_client_id(3), history=ALONE)
@example(sent=build_with_compact_client_id(3), history=after(Earlier.NEWEST))
def test_compact_client_id_is_not_understood(broker: Broker, sent: Request, history: ConnectionHistory) -> None:
    """A broker does not serve a flexible request whose client id has a compact length."""
    assume_served(broker, sent)
    exchange = exchange_after(broker, history, sent)
    with unless_explained_by_earlier(broker, exchange, plain_like(sent)):
        assert_refused(exchange, served="the target read a client id with a compact length")


@pytest.mark.malformed
@pytest.mark.clause("KIP-482.header-version-from-request-version")
@given(sent=flexible_requests_with_old_header(), history=histories())
@example(sent=build_with_old_header(3), history=ALONE)
@example(sent=build_with_old_header(3), history=after(Earlier.V0))
def test_old_header_on_a_flexible_version_is_not_accepted(
    broker: Broker, sent: Request, history: ConnectionHistory
) -> None:
    """A broker does not serve a flexible version that comes with the header of the older versions."""
    assume_served(broker, sent)
    exchange = exchange_after(broker, history, sent)
    with unless_explained_by_earlier(broker, exchange, plain_like(sent)):
        assert_refused(exchange, served="the target accepted header v1 for a flexible version")
