"""The target's overall behaviour, checked against the reference model of its release."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given

from conformance.assertions.judging import summary_of
from conformance.assertions.model_agreement import is_answer_of
from fixtures.under_test.broker import Broker
from reference_model.state_machine import NotModelled, Reaction, reactions
from strategies.any_requests import any_requests
from strategies.api_versions import build_request
from wire.exchange import Exchange, Outcome, Request
from wire.frames import SIZE_BYTES


def follows(exchange: Exchange, reaction: Reaction, broker: Broker) -> bool:
    """Return whether an exchange matches an allowed reaction."""
    if exchange.outcome is not reaction.outcome:
        return False
    if reaction.outcome is not Outcome.ANSWER:
        return True
    return exchange.usable and is_answer_of(reaction, exchange.request.data, exchange, broker)


@pytest.mark.malformed
@pytest.mark.clause("MODEL.agrees-with-reference")
@given(sent=any_requests())
@example(sent=build_request(version=5, cluster_id="nobody", node_id=7))
@example(sent=build_request(version=3, client_id='name:with*marks,="?'))
@example(sent=build_request(version=3, body=b"\x05ab"))
def test_target_does_what_the_model_allows(broker: Broker, sent: Request) -> None:
    """Every request gets one of the responses that the reference model of the release allows."""
    try:
        allowed = reactions(sent.data[SIZE_BYTES:], broker.profile, broker.identity)
    except NotModelled:
        # The model does not cover the request, so it is not sent.
        assume(condition=False)
        raise
    # In these releases, an ignored request may cost another example the response that is sent at the same time.
    assume(all(reaction.outcome is not Outcome.IGNORED for reaction in allowed))
    exchange = broker.exchange(sent)
    agrees = any(follows(exchange, reaction, broker) for reaction in allowed)
    assert agrees, f"the model allows {' or '.join(map(str, allowed))}; {summary_of(exchange)}"
