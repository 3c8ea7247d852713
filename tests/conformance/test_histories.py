"""Tests of requests after others on their connection.

They check what is sent, and what happens to a target that closes for an earlier request.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from conformance.assertions.asserting import assert_error
from conformance.assertions.blame import judged_elsewhere
from conformance.assertions.clause_ids import WELL_FORMED_NEVER_CLOSED
from conformance.assertions.decoding import payload_of
from conformance.assertions.errors import MalformedAnswer
from conformance.assertions.histories import exchange_after, what_came_before
from conformance.assertions.violated_musts import ViolatesAnother
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.profiles.listeners import SASL_PLAINTEXT
from strategies.api_versions import build_request
from strategies.histories import ALONE, Earlier, after, in_one_write_with
from tests.conformance.in_memory_runs import broker_with
from wire.api_keys import API_VERSIONS_KEY
from wire.error_codes import ErrorCode
from wire.exchange import Exchange, Outcome

V3 = build_request(version=3)


def faulty(act: Callable[[RequestContext], None] = lambda _: None, stage: Stage = Stage.REACTION) -> InMemoryBroker:
    """Return the reference broker with a fault, its table read, in a new example."""
    broker = broker_with(Tampering(stage=stage, act=act), patience=Patience(math.inf))
    broker.ask_for_table()
    broker.begin_example()
    return broker


def requests_sent(broker: InMemoryBroker) -> list[list[int]]:
    """Return the versions of the requests of each step, without steps of SASL and closes."""
    return [
        [each.request.api_version for each in step.exchanges]
        for step in broker.journal
        if step.exchanges and step.exchanges[0].request.api_key == API_VERSIONS_KEY
    ]


def test_earlier_requests_come_one_by_one_or_in_one_write() -> None:
    """Each has an id of its own, and the judged request keeps its own."""
    broker = faulty()
    exchange_after(broker, after(Earlier.V0, Earlier.UNSERVED), V3)
    assert requests_sent(broker) == [[0], [6], [3]]
    broker.begin_example()
    exchange = exchange_after(broker, in_one_write_with(Earlier.V0, Earlier.WRONG_NODE), V3)
    assert requests_sent(broker) == [[0, 5, 3]]
    (step,) = (each for each in broker.journal if each.exchanges)
    assert len({each.request.correlation_id for each in step.exchanges}) == 3
    assert exchange.request == V3


def test_a_request_without_history_is_sent_as_ever() -> None:
    broker = faulty().sibling(SASL_PLAINTEXT)
    broker.ask_for_table()
    broker.begin_example()
    exchange_after(broker, ALONE, V3)
    assert [step.sentinel for step in broker.journal if step.exchanges] == [True]
    broker.begin_example()
    exchange_after(broker, after(Earlier.V0), V3)
    assert requests_sent(broker) == [[0], [3]]
    assert len([step for step in broker.journal if step.exchanges]) > 2


def test_what_a_target_cannot_get_is_left_out() -> None:
    """A target without v3 gets no name and no ids, so that nothing is left of such a history."""
    broker = faulty()
    broker.__dict__["_versions"] = broker._versions._replace(highest=2)
    exchange_after(broker, after(Earlier.EMPTY_NAME, Earlier.RIGHT_IDS), build_request(version=0))
    assert requests_sent(broker) == [[0]]


def test_closing_after_a_refusal_is_not_the_fault_of_the_judged_request() -> None:
    def close_later(context: RequestContext) -> None:
        if context.has_seen("a request", now=True):
            context.replace_reaction(outcome=Outcome.CLOSED)

    broker = faulty(close_later)
    broker.__dict__["_versions"] = broker._versions
    assert exchange_after(broker, after(Earlier.EMPTY_NAME), V3).outcome is Outcome.ANSWER
    assert exchange_after(broker, after(Earlier.V0), V3).outcome is Outcome.CLOSED


def test_a_request_is_sent_alone_if_responses_come_in_another_order() -> None:
    """In one write, an earlier request that gets the id of another one says nothing about the judged request."""

    def reverse(answers: list[bytes]) -> None:
        answers.reverse()

    broker = broker_with(Tampering(stage=Stage.READ, act=reverse), patience=Patience(math.inf))
    exchange_after(broker, in_one_write_with(Earlier.NEWEST), V3)
    assert requests_sent(broker)[-1] == [3]


def refuse_after_ids(context: RequestContext) -> None:
    """Refuse every request after one with wrong ids."""
    is_wrong = context.reaction.error_code is ErrorCode.REBOOTSTRAP_REQUIRED
    if context.has_seen("wrong ids", now=is_wrong) and context.succeeds:
        context.refuse_name_in(context.version)


@pytest.mark.parametrize("version", [0, 5])
def test_a_plain_request_after_the_same_ones_is_a_control(version: int) -> None:
    """If it gets the same wrong error, one clause is red, and not each whose property has earlier requests."""
    clause = "KIP-511.older-versions-unchanged"
    broker = faulty(refuse_after_ids)
    sent = build_request(version=version)
    exchange = exchange_after(broker, after(Earlier.WRONG_NODE), sent)
    with pytest.raises(MalformedAnswer) as failed:
        assert_error(exchange, ErrorCode.NONE)
    reason = judged_elsewhere(broker, failed.value, ("KIP-35.keys-unique",))
    assert clause in str(reason)
    assert judged_elsewhere(broker, failed.value, (clause,)) is None


def test_what_came_before_an_exchange_is_read_from_the_journal() -> None:
    """Only earlier requests on the same connection count, and a malformed one cannot be sent again."""
    broker = faulty()
    broker.exchange(V3)
    exchange = exchange_after(broker, after(Earlier.NEWEST), build_request(version=1))
    before = what_came_before(broker, exchange)
    assert before is not None
    ((earlier,),) = before.writes
    assert (earlier.api_version, before.in_its_write) == (5, ())
    assert what_came_before(broker, Exchange(request=build_request(version=4), outcome=Outcome.SILENT)) is None
    broker.begin_example()
    broken = build_request(version=3, body=b"", broken="no body")
    answered = broker.converse([build_request(version=0), broken, build_request(version=1)])
    assert what_came_before(broker, answered[-1]) is None


def close_after_right_ids(context: RequestContext) -> None:
    """Close the connection instead of answering what follows a request with the right ids."""
    gave_ids = context.body is not None and context.body.node_id >= 0
    if context.has_seen("right ids", now=gave_ids):
        context.replace_reaction(outcome=Outcome.CLOSED)


def test_what_earlier_requests_explain_is_a_violation_of_its_clause() -> None:
    """The properties of that clause may never send the same requests, so the clause is named together with what
    violates it."""
    broker = faulty(close_after_right_ids)
    with pytest.raises(MalformedAnswer) as caught:
        payload_of(exchange_after(broker, after(Earlier.RIGHT_IDS), V3))
    reason = judged_elsewhere(broker, caught.value, ("KIP-511.names-accepted",))
    assert isinstance(reason, ViolatesAnother)
    assert (reason.clause, reason.steps) == (WELL_FORMED_NEVER_CLOSED, ())
    assert f"(judged by {WELL_FORMED_NEVER_CLOSED})" in str(reason)
