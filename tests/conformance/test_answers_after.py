"""Tests of which responses after others count for a property's clause.

Examples that separate clauses judge are rejected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.answers_after import (
    answer_after,
    illegal_like,
    plain_like,
    success_after,
    unless_explained_by_earlier,
)
from conformance.assertions.errors import MalformedAnswer
from conformance.assertions.histories import exchange_after
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.faults.broker import DEFECTS
from reference_model.faults.broker.histories import names_are_checked_once
from strategies.api_versions import build_request
from strategies.histories import ALONE, Earlier, after
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.in_memory_runs import broker_with
from wire.error_codes import ErrorCode

V3 = build_request(version=3)
AFTER_V0 = after(Earlier.V0)


@pytest.fixture(autouse=True)
def _examples_are_rejected() -> Iterator[None]:
    with assumptions_outside_hypothesis():
        yield


def broker_of(*tamperings: Tampering) -> InMemoryBroker:
    """Return the reference broker with faults, in a new example."""
    broker = broker_with(*tamperings, patience=Patience(math.inf))
    broker.ask_for_table()
    broker.begin_example()
    return broker


def refusing_later(context: RequestContext) -> None:
    """Refuse every request but the first one of a connection."""
    if context.has_seen("a request", now=True) and context.succeeds:
        context.refuse_name_in(context.version)


def test_a_later_request_that_is_refused_for_no_reason_of_its_own_is_rejected() -> None:
    """A request that comes alone is judged whatever it gets."""
    broker = broker_of(Tampering(stage=Stage.REACTION, act=refusing_later))
    with pytest.raises(UnsatisfiedAssumption):
        answer_after(broker, AFTER_V0, V3, ErrorCode.NONE)
    answer_after(broker, ALONE, V3, ErrorCode.INVALID_REQUEST)


@pytest.mark.parametrize(
    ("defect", "earlier", "version"),
    [
        ("v0-ends-flexible-bodies", Earlier.V0, 3),
        ("v0-after-another-api-has-no-table", Earlier.OTHER_API, 0),
    ],
)
def test_a_later_success_has_a_table_that_can_be_read(defect: str, earlier: Earlier, version: int) -> None:
    """Without one the example says nothing about what the table contains."""
    broker = broker_of(DEFECTS[defect].tampering)
    with pytest.raises(UnsatisfiedAssumption):
        success_after(broker, after(earlier), build_request(version=version))


def in_v0(context: RequestContext) -> None:
    """Answer v3 in the layout of v0."""
    if context.version == V3.api_version:
        context.answer = context.encode_answer(layout=0)


def test_a_request_alone_has_to_be_answered_as_required() -> None:
    """A response to it that does not decode is a violation; a table after others is returned."""
    _, answer = success_after(broker_of(), AFTER_V0, V3)
    assert answer.api_keys
    with pytest.raises(MalformedAnswer):
        success_after(broker_of(Tampering(stage=Stage.ANSWER, act=in_v0)), ALONE, V3)


def test_a_control_after_the_same_requests_takes_the_blame() -> None:
    """If it fails too, the example is rejected; a control that passes, or a request alone, leaves the violation."""
    broker = broker_of(Tampering(stage=Stage.REACTION, act=names_are_checked_once))
    for history, control, due, error in [
        (after(Earlier.NEWEST), illegal_like(V3), ErrorCode.INVALID_REQUEST, UnsatisfiedAssumption),
        (after(Earlier.NEWEST), plain_like(V3), ErrorCode.NONE, AssertionError),
        (ALONE, illegal_like(V3), ErrorCode.INVALID_REQUEST, AssertionError),
    ]:
        broker.begin_example()
        exchange = exchange_after(broker, history, V3)
        with pytest.raises(error), unless_explained_by_earlier(broker, exchange, control, due):
            raise AssertionError
