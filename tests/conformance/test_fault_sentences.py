"""The sentence of a failure says what was seen.

A table has planted defects, properties and first lines.
"""

from __future__ import annotations

import math

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.errors import JudgedElsewhere
from conformance.engine.judge_interface import Judge
from conformance.engine.property_judge import JUDGE
from conformance.mutation.properties import all_properties
from fixtures.client.patience import Patience
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.in_memory_runs import broker_with

OWN = "own: "
ELSEWHERE = "elsewhere: "
PIPELINE = "test_pipelined_requests_are_answered_in_order"
SIZES = "test_frame_holds_exactly_the_answer"
ACKS_0 = "test_produce_with_acks_0_gets_no_response"
SAME_TABLE = "test_table_is_the_same_at_every_version"

ROWS = [
    (
        "second-of-many-answers-has-a-wrong-id",
        PIPELINE,
        OWN + "the response has the correlation id 99, and its request 1001",
    ),
    (
        "first-of-many-answers-comes-twice",
        PIPELINE,
        OWN + "the response with the correlation id 1000 came twice",
    ),
    (
        "each-table-comes-twice",
        PIPELINE,
        OWN + "several responses came twice, the first with the correlation id 1000",
    ),
    (
        "many-answers-share-an-id",
        PIPELINE,
        OWN + "the responses have the correlation ids 1000, 1000, 1000, 1000 and 4 more, and the requests "
        "1000, 1001, 1002, 1003 and 4 more",
    ),
    (
        "third-pipelined-answer-overtakes",
        PIPELINE,
        OWN + "the responses are not in the order of the requests",
    ),
    (
        "a-byte-follows-each-frame",
        SIZES,
        OWN + "then bytes came that belong to no response: 1",
    ),
    (
        "a-large-number-follows-each-table",
        "test_well_formed_request_keeps_the_connection",
        ELSEWHERE + "a plain request of ApiVersions v0 fails in the same way: then bytes came that belong to no "
        "response: 5 (judged by PROTOCOL.size-prefix-exact)",
    ),
    (
        "an-id-without-a-response-is-used-up-later",
        ACKS_0,
        OWN + "the response has the correlation id 7, and its request 1001",
    ),
    (
        "acks-0-gets-a-response",
        ACKS_0,
        OWN + "a request with acks 0 got a response: one has its correlation id",
    ),
    (
        "entries-of-v2-end-with-a-tag-section",
        SAME_TABLE,
        ELSEWHERE
        + "a plain request of ApiVersions v2 fails in the same way: not decodable as ApiVersions v2: 77 bytes are "
        "left (bytes 476 to 553) (judged by PROTOCOL.size-prefix-exact)",
    ),
    (
        "versions-above-the-newest-are-served-in-v0",
        "test_refusal_lists_nothing_else",
        ELSEWHERE + "a plain request of ApiVersions v6 fails in the same way: the response has the error NONE, and not "
        "UNSUPPORTED_VERSION (judged by KIP-35.unknown-version-gives-35)",
    ),
    (
        "unsupported-versions-get-the-whole-table",
        "test_refusal_lists_nothing_else",
        OWN + "the refusal also lists 76 other API keys",
    ),
]


BEFORE_LOGIN = [
    ("test_v0_is_served", "the response has the error UNSUPPORTED_VERSION, and not NONE"),
    (
        "test_body_is_flexible_from_v3",
        "a refusal (UNSUPPORTED_VERSION) in the layout of v0, and not decodable as",
    ),
    (
        "test_rules_before_authentication_are_those_after_it",
        "the response has the error UNSUPPORTED_VERSION",
    ),
    (
        "test_ids_are_checked_before_authentication",
        "the response has the error UNSUPPORTED_VERSION",
    ),
]


@pytest.mark.parametrize(("judged", "words"), BEFORE_LOGIN)
def test_refusal_before_authentication_is_judged_by_one_clause(judged: str, words: str) -> None:
    sentence = first_sentence("api-versions-is-unsupported-before-authentication", judged, SASL_PLAINTEXT)
    assert sentence.startswith(ELSEWHERE + "a plain request of ApiVersions v")
    assert words in sentence
    assert sentence.endswith("(judged by KIP-35.table-before-authentication)")


@pytest.mark.parametrize(("defect", "judged", "sentence"), ROWS, ids=[row[0] for row in ROWS])
def test_failure_says_what_was_seen(defect: str, judged: str, sentence: str) -> None:
    """The first pinned example that fails has the sentence of its fault, or names the clause that judges it."""
    assert first_sentence(defect, judged) == sentence


def first_sentence(defect: str, judged: str, listener: str = PLAINTEXT) -> str:
    """Return how the first pinned example fails on a listener; empty if none does."""
    broker = broker_with(DEFECTS[defect].tampering, patience=Patience(math.inf)).sibling(listener)
    found = all_properties()[judged]
    for values in found.pinned:
        broker.begin_example()
        judge = Judge(broker, found.clauses)
        JUDGE.set(judge)
        try:
            with assumptions_outside_hypothesis():
                found.body(broker=broker, **values)
        except UnsatisfiedAssumption:
            continue
        except JudgedElsewhere as reason:
            return ELSEWHERE + str(reason)
        except AssertionError as error:
            elsewhere = judge.elsewhere(error)
            first_line = str(error if elsewhere is None else elsewhere).partition("\n")[0]
            return (OWN if elsewhere is None else ELSEWHERE) + first_line
    return ""
