"""A target of another implementation is compared with its own table."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from conformance.assertions.model_agreement import model_of
from conformance.mutation.properties import all_properties, holds
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.rules.reaction import Listing
from reference_model.faults.broker.registry import replace_reaction, replace_response
from strategies.api_versions import build_request
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.in_memory_runs import broker_with
from wire.exchange import Outcome

V3, V99 = (build_request(version=version) for version in (3, 99))
AGREES = "test_target_does_what_the_model_allows"


def narrower(context: RequestContext) -> None:
    """List Metadata up to v5 only."""
    if context.response is not None and context.reaction.listing is Listing.EVERYTHING:
        keys = tuple(
            replace(each, max_version=5) if each.api_key == 3 else each
            for each in context.response.api_keys
        )
        replace_response(context, api_keys=keys)


def close_on_99(context: RequestContext) -> None:
    """Close the connection on v99."""
    if context.header is not None and context.header.api_version == 99:
        replace_reaction(context, outcome=Outcome.CLOSED)


@pytest.fixture(name="foreign")
def _foreign(monkeypatch: pytest.MonkeyPatch) -> InMemoryBroker:
    """A target of another implementation, with a table of its own and one difference from the model."""
    monkeypatch.setattr(InMemoryBroker, "pin_is_binding", False)
    return broker_with(
        Tampering(stage=Stage.RESPONSE, act=narrower),
        Tampering(stage=Stage.REACTION, act=close_on_99),
        patience=Patience(math.inf),
    )


def test_a_foreign_table_is_no_difference_and_hides_none(foreign: InMemoryBroker) -> None:
    """A response with the target's own table agrees, and what else it does is still compared."""
    assert {each.api_key: each.max_version for each in model_of(foreign).api_keys}[3] == 5
    with assumptions_outside_hypothesis():
        assert holds(all_properties()[AGREES], foreign, {"sent": V3})
        assert not holds(all_properties()[AGREES], foreign, {"sent": V99})


def test_a_release_is_compared_with_its_recorded_table() -> None:
    """Apache Kafka's releases and the reference broker keep their profile, and the message names what differs."""
    broker = broker_with(Tampering(stage=Stage.RESPONSE, act=narrower), patience=Patience(math.inf))
    assert model_of(broker) is broker.profile
    broker.begin_example()
    with assumptions_outside_hypothesis(), pytest.raises(AssertionError) as failed:
        all_properties()[AGREES].body(broker=broker, sent=V3)
    first, *details = str(failed.value).splitlines()
    assert first.endswith("; api_keys differ")
    assert details == ["api_keys: 3: v0 to v5, expected v0 to v13"]
