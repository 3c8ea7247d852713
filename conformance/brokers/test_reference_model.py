"""The whole target against the reference model of its release."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from conformance.judging import summary_of
from conformance.model_agreement import is_answer_of
from fixtures.broker import Broker
from reference_model.state_machine import NotModelled, Reaction, reactions
from strategies.api_versions import INT16_MIN, api_versions_requests, build_request
from strategies.broken_requests import malformed_requests, mutated_requests
from strategies.cluster_ids import requests_with_cluster_ids
from strategies.header_fields import client_ids, correlation_ids, unknown_tagged_fields
from strategies.software_names import (
    edge_punctuation_texts,
    illegal_software_texts,
    legal_software_texts,
    software,
)
from wire.exchange import Exchange, Outcome, Request
from wire.frames import SIZE_BYTES
from wire.primitives import INT16_MAX

ANY_REQUESTS = st.one_of(
    api_versions_requests(
        versions=st.integers(0, 6) | st.integers(INT16_MIN, INT16_MAX),
        correlation_ids=correlation_ids(),
        client_ids=client_ids(max_bytes=300),
        software=software(
            names=legal_software_texts() | edge_punctuation_texts() | illegal_software_texts()
        ),
        header_tags=st.just(()) | unknown_tagged_fields(),
        body_tags=st.just(()) | unknown_tagged_fields(),
    ),
    requests_with_cluster_ids(),
    malformed_requests(),
    mutated_requests(),
)


def follows(exchange: Exchange, reaction: Reaction, broker: Broker) -> bool:
    """Tell whether an exchange went the way of one allowed reaction."""
    if exchange.outcome is not reaction.outcome:
        return False
    if reaction.outcome is not Outcome.ANSWER:
        return True
    return exchange.usable and is_answer_of(reaction, exchange.request.data, exchange, broker)


@pytest.mark.malformed
@pytest.mark.clause("MODEL.agrees-with-reference")
@given(sent=ANY_REQUESTS)
@example(sent=build_request(version=5, cluster_id="nobody", node_id=7))
@example(sent=build_request(version=3, client_id='name:with*marks,="?'))
@example(sent=build_request(version=3, body=b"\x05ab"))
def test_target_does_what_the_model_allows(broker: Broker, sent: Request) -> None:
    """Every request gets one of the answers that the reference model of the release allows."""
    try:
        allowed = reactions(sent.data[SIZE_BYTES:], broker.profile, broker.identity)
    except NotModelled:
        # The model has no word on it, so it is not sent either.
        assume(condition=False)
        raise
    exchange = broker.exchange(sent)
    agrees = any(follows(exchange, reaction, broker) for reaction in allowed)
    assert agrees, f"the model allows {' or '.join(map(str, allowed))}; {summary_of(exchange)}"
