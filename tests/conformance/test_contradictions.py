"""Tests of which MUST a deviation from the model contradicts.

Some freedoms of a broker contradict none.
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import cast

import pytest

from clauses.catalogue import catalogue
from conformance.assertions.contradictions import Deviation, contradicted_must
from conformance.assertions.model_agreement import ConversationRunner
from conformance.mutation.properties import all_properties, holds
from conformance.mutation.subjects import broker_with as broker_with_defect
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.rules.reaction import Listing
from reports.records import Verdict
from strategies.api_versions import build_request
from strategies.conversations import Conversation, Message, Say
from strategies.field_values import Software
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.in_memory_runs import broker_with
from tests.conformance.judged_properties import JudgedBroker, judged
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.primitives import TaggedField

SEQUENCE = "test_sequences_go_as_the_model_allows"
V0, V3, V99 = (build_request(version=version) for version in (0, 3, 99))
OTHER_NAME = build_request(version=3, software=Software("other", "2"))
BAD_NAME = build_request(version=3, software=Software("a_b", "1"))
EDGE_NAME = build_request(version=3, software=Software("-a", "1"))
WRONG_NODE = build_request(version=5, cluster_id="nobody", node_id=7)
TAGGED = build_request(version=3, body_tags=(TaggedField(100, b"\x01"),))
LONG_ID = build_request(version=1, client_id="a" * 50)


def in_turn(*messages: Message) -> Conversation:
    """Return a conversation that sends messages one by one."""
    return tuple(Say(messages=(message,)) for message in messages)


def contradicted(broker: InMemoryBroker, *messages: Message) -> str | None:
    """Play a conversation from which the target deviates; return the clause that it contradicts, if it contradicts
    one."""
    broker.ask_for_table()
    broker.begin_example()
    with pytest.raises(AssertionError) as failed, ConversationRunner(broker) as player:
        player.play(in_turn(*messages))
    steps = list(broker.journal)
    found = contradicted_must(broker, failed.value)
    assert broker.journal == steps
    return None if found is None else found.clause


@pytest.mark.parametrize(
    ("defect", "messages", "clause"),
    [
        ("a-second-software-name-is-refused", (V3, OTHER_NAME), "KIP-511.names-accepted"),
        ("names-are-checked-once", (V3, BAD_NAME), "KIP-511.names-refused"),
        ("ids-are-checked-in-the-first-request", (V0, WRONG_NODE), "KIP-1242.wrong-cluster"),
        (
            "a-refused-name-empties-later-refusals",
            (BAD_NAME, V99),
            "KIP-511.unsupported-version-names-range",
        ),
        (
            "a-refused-name-shortens-the-table",
            (BAD_NAME, V3),
            "KIP-35.same-table-at-every-version",
        ),
        ("tags-are-understood-in-the-first-request", (V0, TAGGED), "KIP-482.unknown-tags-ignored"),
        ("a-long-client-id-after-others-is-refused", (V0, LONG_ID), "PROTOCOL.client-id-free"),
    ],
)
def test_a_deviation_after_other_requests_contradicts_a_must(
    defect: str, messages: tuple[Message, ...], clause: str
) -> None:
    """The MUST is that of the request, or of the part of it that a plain request lacks."""
    assert contradicted(broker_with_defect(defect), *messages) == clause


@pytest.mark.parametrize(
    ("defect", "messages"),
    [
        # Layouts of refusals and punctuation at an edge are pinned for Apache Kafka alone.
        ("refused-names-are-answered-in-v0", (BAD_NAME,)),
        ("names-may-begin-with-a-hyphen", (V0, EDGE_NAME)),
        # A plain request alone shows this, so the property of its clause finds it.
        ("v0-as-first-request-gets-an-error", (V0,)),
    ],
)
def test_a_freedom_or_a_plain_fault_contradicts_no_must(defect: str, messages: tuple[Message, ...]) -> None:
    assert contradicted(broker_with_defect(defect), *messages) is None


def closing_after(code: ErrorCode) -> InMemoryBroker:
    """Return a broker that closes a connection at the request after one with an error code."""

    def act(context: RequestContext) -> None:
        had_code = context.has_seen("the code", now=context.reaction.error_code is code)
        if had_code:
            context.replace_reaction(outcome=Outcome.CLOSED)

    return broker_with(Tampering(stage=Stage.REACTION, act=act), patience=Patience(math.inf))


def test_closing_after_a_refusal_is_no_violation() -> None:
    """No source says that a refused name keeps the connection; a version that is not served has to."""
    assert contradicted(closing_after(ErrorCode.INVALID_REQUEST), BAD_NAME, V3) is None
    reverts = "KIP-35.revert-to-v0-on-same-connection"
    assert contradicted(closing_after(ErrorCode.UNSUPPORTED_VERSION), V99, V3) == reverts
    kept = "PROTOCOL.well-formed-never-closed"
    assert contradicted(closing_after(ErrorCode.NONE), V0, V3) == kept


def test_a_deviation_that_does_not_recur_contradicts_no_must() -> None:
    """What other connections cause, or chance, is not shown by the same requests on a new connection."""
    answered: list[int] = []

    def act(context: RequestContext) -> None:
        if context.version == 3 and not answered:
            answered.append(context.version)
            context.replace_reaction(error_code=ErrorCode.INVALID_REQUEST, listing=Listing.NOTHING)

    once = broker_with(Tampering(stage=Stage.REACTION, act=act), patience=Patience(math.inf))
    assert contradicted(once, V0, V3) is None


@pytest.fixture(name="foreign")
def _foreign(monkeypatch: pytest.MonkeyPatch) -> InMemoryBroker:
    """A broker of another implementation that checks names once."""
    broker = broker_with_defect("names-are-checked-once")
    monkeypatch.setattr(InMemoryBroker, "pin_is_binding", False)
    return broker


def test_a_contradicted_must_is_violated_where_the_model_binds_nobody(foreign: InMemoryBroker, tmp_path: Path) -> None:
    """The deviation is informational, the cell of the MUST is violated, and Hypothesis has to know of the failure."""
    refused = "KIP-511.names-refused"
    broker = cast(JudgedBroker, foreign)
    case = judged(tmp_path, broker, catalogue()["MODEL.sequence-agrees"], also_planned=(refused,))
    body = all_properties()[SEQUENCE].body
    values = {"broker": foreign, "conversation": in_turn(V3, BAD_NAME)}
    with contextlib.suppress(Deviation), assumptions_outside_hypothesis():
        case.judge.judge(body, values)
    assert case.recorder.cells[case.key].verdict is Verdict.INFORMATIONAL
    cell = case.recorder.cells[case.key._replace(clause=refused)]
    assert cell.verdict is Verdict.VIOLATES
    (failure,) = cell.failures.values()
    assert failure.first_line.startswith("after earlier requests on its connection, the response")
    assert case.judge.failed_elsewhere == {refused}
    with pytest.raises(AssertionError, match="INVALID_REQUEST"):
        case.judge.raise_first()


def test_the_mutation_score_knows_what_is_contradicted() -> None:
    """A property about the model adds the MUST to what it found."""
    found: set[str] = set()
    broker = broker_with_defect("names-are-checked-once")
    values = {"conversation": in_turn(V3, BAD_NAME)}
    assert not holds(all_properties()[SEQUENCE], broker, values, contradicted=found)
    assert found == {"KIP-511.names-refused"}
