"""Tests of requests of other APIs: slow requests, and the order of responses.

They check which requests are sent as slow, and which clause an order belongs to.
"""

from __future__ import annotations

import dataclasses

import pytest

from conformance.assertions.read_only_apis import read_only_items, short_items, slow_items, slow_request_of
from conformance.assertions.response_order import assert_all_answered, assert_in_order
from conformance.mutation.subjects import SUBJECTS
from conformance.mutation.tried_faults import caught_by_pinned
from fixtures.client.patience import Patience
from fixtures.client.response_matching import ReceivedFrames, judge_by_position
from fixtures.launchers.built_in import reference_targets
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from reference_model.profiles.listeners import CONTROLLER, PLAINTEXT
from reference_model.profiles.profile import REFERENCE
from wire.read_only import ReadOnlyGate

LATE_RESPONSES = [
    "produce-is-acknowledged-after-the-next-request",
    "fetches-wait-while-others-are-answered",
    "api-versions-overtakes-metadata",
]


def reference(listener: str = PLAINTEXT, *, is_read_only: bool = False) -> InMemoryBroker:
    """Return a listener of the reference broker, in a run that may be read-only."""
    target = next(each for each in reference_targets() if each.id == REFERENCE)
    served = in_memory_target(dataclasses.replace(target, is_read_only=is_read_only))
    return InMemoryBroker(served, listener, patience=Patience())


@pytest.mark.parametrize(
    ("is_read_only", "versions"),
    [
        (False, [("Produce", 13), ("Produce", 0), ("Fetch", 18), ("Fetch", 4)]),
        (True, [("Fetch", 18), ("Fetch", 4)]),
    ],
)
def test_slow_requests_of_a_read_only_run_are_on_its_list(is_read_only: bool, versions: list[tuple[str, int]]) -> None:
    """A read-only run sends Fetch alone, which asks to wait for records; any other run sends Produce as well."""
    items = slow_items(reference(is_read_only=is_read_only))
    assert [(each.name, each.api_version) for each in items] == versions
    fetches = [slow_request_of(each, correlation_id=1) for each in items if each.name == "Fetch"]
    gate = ReadOnlyGate()
    for each in fetches:
        gate.check(each.data)
    assert len(fetches) == 2


def test_topics_of_a_cluster_are_not_listed_again_and_again() -> None:
    """Properties that send every version leave Metadata v0 out, whose response may be long."""
    served, short = read_only_items(reference()), short_items(reference())
    assert {(each.name, each.api_version) for each in {*served} - {*short}} == {("Metadata", 0)}


def test_controller_without_produce_has_fewer_slow_requests() -> None:
    """Only what a listener lists and serves is sent."""
    assert {each.name for each in slow_items(reference(CONTROLLER))} <= {"Fetch"}


@pytest.mark.parametrize("defect", LATE_RESPONSES)
def test_order_alone_violates_the_clause_about_order(defect: str) -> None:
    """A response that comes a few milliseconds after the next one is no response to Produce with acks 0."""
    broker = SUBJECTS[REFERENCE]
    order = "test_requests_of_several_apis_are_answered_in_order"
    assert caught_by_pinned(broker, order, [defect]) == {defect}
    assert not caught_by_pinned(broker, "test_produce_with_acks_0_gets_no_response", [defect])


def test_responses_in_another_order_are_all_there() -> None:
    """Whether each request gets its response is one question, and in which order another."""
    items = slow_items(reference())
    sent = [slow_request_of(each, correlation_id=number) for number, each in enumerate(items[:2])]
    received = ReceivedFrames(payloads=[(bytes([0, 0, 0, each]), 0) for each in (1, 0)])
    exchanges = judge_by_position(sent, received, sent_at=0)
    assert_all_answered(exchanges)
    with pytest.raises(AssertionError, match="in another order"):
        assert_in_order(exchanges)
