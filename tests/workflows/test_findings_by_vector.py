"""Tests of which vectors show which findings, and of how products are tried."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.assertions.clause_ids import MALFORMED_HURTS_NOBODY
from conformance.commands.errors import UnknownName
from conformance.vectors.broker_check import BrokerCheck, Disagreement
from conformance.vectors.broker_vectors import BrokerVector
from conformance.vectors.vector_score import broker_in_memory
from conformance.vectors.vector_set import load_vectors
from fixtures.errors import ConnectionFailed
from fixtures.registry.clients import RINGS, select_clients
from reference_model.profiles.listeners import PLAINTEXT
from reports.document.markdown_form import markdown
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from tests.conformance.suite_runs import REPOSITORY
from workflows.compatibility.data import DATA_FILE, read_data
from workflows.compatibility.document import FINDINGS
from workflows.findings_by_vector.__main__ import targets_of
from workflows.findings_by_vector.document import ONLY_BY_PROPERTY, document_of
from workflows.findings_by_vector.player import login_arguments
from workflows.findings_by_vector.rows import SWEPT, FindingRow, FindingState, rows_of
from workflows.findings_by_vector.tried import TriedProduct, read_tried, write_tried
from workflows.findings_by_vector.trying_brokers import PlayedVectors, play_until_it_ends
from workflows.findings_by_vector.trying_clients import sum_up

DOCS = REPOSITORY / "docs"
DATA = read_data(DOCS / DATA_FILE)
SET = load_vectors()
TANSU = "tansu-0.6.0"
TAGS, NAMES, LISTED, RANGE = (
    "tansu/KIP-482.unknown-tags-ignored-1",
    "tansu/KIP-511.names-refused-1",
    "tansu/KIP-35.every-advertised-version-served-1",
    "tansu/KIP-35.outside-range-not-served-1",
)
OWN_OF_TAGS = "KIP-482.unknown-tags-ignored-fd865b"


def rows_with(*products: TriedProduct) -> dict[str, FindingRow]:
    """Return the rows of Tansu's findings, by the ids of the findings."""
    data = replace(DATA, findings=tuple(each for each in DATA.findings if each.target == TANSU))
    with assumptions_outside_hypothesis():
        rows = rows_of(data, DOCS / FINDINGS, SET, {each.id: each for each in products})
    return {row.finding.id: row for row in rows}


def tried(**failed: str) -> TriedProduct:
    return TriedProduct(id=TANSU, failed=failed, left_out={})


def test_a_vector_with_the_bytes_of_a_finding_shows_it_whatever_clause_it_breaks() -> None:
    row = rows_with(tried(**{OWN_OF_TAGS: "PROTOCOL.well-formed-never-closed"}))[TAGS]
    assert (row.state, row.vectors) == (FindingState.SHOWN, (OWN_OF_TAGS,))


def test_a_vector_about_a_clause_that_one_finding_alone_breaks_shows_it() -> None:
    vector = next(each["id"] for _, each in SET if each["clauses"][0] == "KIP-511.names-refused")
    rows = rows_with(tried(**{vector: "KIP-511.names-refused"}))
    assert rows[NAMES].vectors == (vector,)
    assert rows[TAGS].state is FindingState.NOT_TRIED


def test_a_difference_from_a_pin_shows_nothing_else() -> None:
    vector = next(each["id"] for _, each in SET if "KIP-511.names-refused" in each["clauses"])
    assert rows_with(tried(**{vector: "KIP-511.null-name-refused"}))[NAMES].state is not FindingState.SHOWN


def test_a_clause_about_whatever_a_broker_lists_is_shown_by_the_same_bytes_alone() -> None:
    vector = next(each["id"] for _, each in SET if each["clauses"][0] == "KIP-35.every-advertised-version-served")
    rows = rows_with(tried(**{vector: "KIP-35.every-advertised-version-served"}))
    for finding, clause in (
        (LISTED, "KIP-35.every-advertised-version-served"),
        (RANGE, "KIP-35.outside-range-not-served"),
    ):
        assert (rows[finding].state, rows[finding].why) == (FindingState.NOT_EXPRESSIBLE, SWEPT[clause])


def test_a_vector_that_passed_or_was_left_out_is_said_so() -> None:
    passed = replace(tried(), passed=(OWN_OF_TAGS,))
    assert rows_with(passed)[TAGS].state is FindingState.PASSED
    left_out = replace(tried(), left_out={OWN_OF_TAGS: "need a listener with SASL (--sasl)"})
    assert rows_with(left_out)[TAGS].why == "need a listener with SASL (--sasl)"


def test_a_product_that_was_not_tried_has_rows_that_say_so() -> None:
    assert rows_with()[TAGS].state is FindingState.NOT_TRIED


def test_a_finding_on_a_listener_with_sasl_is_not_given_up_before_its_product_was_tried() -> None:
    finding = "apache-kafka/KIP-1242.on-every-listener-1"
    data = replace(DATA, findings=tuple(each for each in DATA.findings if each.id == finding))
    target = data.findings[0].target
    for products, state in (
        ({}, FindingState.NOT_TRIED),
        ({target: TriedProduct(id=target, failed={}, left_out={})}, FindingState.NOT_EXPRESSIBLE),
    ):
        (row,) = rows_of(data, DOCS / FINDINGS, SET, products)
        assert row.state is state


def test_the_document_names_who_sees_a_play_and_counts_the_states() -> None:
    row = rows_with(replace(tried(**{OWN_OF_TAGS: "KIP-482.unknown-tags-ignored"}), by_property=(OWN_OF_TAGS,)))[TAGS]
    text = markdown(document_of([row]))
    assert "1 findings: 1 shown." in text
    assert f"`{OWN_OF_TAGS}`<br>{ONLY_BY_PROPERTY}" in text


def test_what_was_tried_is_read_as_it_was_written(tmp_path: Path) -> None:
    product = replace(tried(a="b"), passed=("c",), by_property=("a",), ended_by=("a",), left_out={"d": "why"})
    write_tried(tmp_path, [product])
    assert read_tried(tmp_path) == {TANSU: product}
    assert read_tried(tmp_path / "empty") == {}


def test_every_client_with_findings_can_be_played_to() -> None:
    """One of them has no option for SASL."""
    clients = [
        each for each in select_clients(["*"], RINGS) if each.id in {finding.target for finding in DATA.findings}
    ]
    logins = {each.id: login_arguments(each) for each in clients}
    assert [id_ for id_, login in logins.items() if not login] == ["sarama-1.61.1-version-0.10.2.0"]
    assert "conformance" in logins["aiokafka-0.14.0"]


def test_the_property_decides_about_a_play_and_the_player_may_not_see_it() -> None:
    both, alone, slow = (
        "KIP-35.client-uses-overlap-66e215",
        "KIP-35.client-uses-overlap-cc33bc",
        "KIP-97.mixed-cluster-1",
    )
    found = sum_up("c", {both: "fail", alone: "pass", slow: "fail"}, {both: "fail", alone: "fail", slow: "too slow"})
    assert found.failed == dict.fromkeys((both, alone), "KIP-35.client-uses-overlap")
    assert (found.by_property, found.passed, found.left_out) == ((alone,), (), {})


def test_a_vector_that_left_the_set_shows_nothing() -> None:
    rows = rows_with(tried(**{f"{OWN_OF_TAGS[:-6]}000000": "KIP-482.unknown-tags-ignored"}))
    assert rows[TAGS].state is FindingState.NOT_TRIED


def test_an_unknown_product_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"no finding is about nothing-\*: findings are about .*tansu"):
        targets_of(DATA, ["nothing-*"])
    assert targets_of(DATA, ["tansu-*"]) == [TANSU]
    assert targets_of(DATA, []) == []


class EndingCheck(BrokerCheck):
    """A broker that serves no connection any more after its second vector."""

    def __init__(self) -> None:
        super().__init__(broker_in_memory(""))
        self.checked = 0

    def check(self, vector: BrokerVector) -> Disagreement | None:
        self.checked += 1
        if self.checked > 2:
            raise ConnectionFailed("refused")
        return super().check(vector)


def test_the_vector_before_a_broker_ended_counts_as_failed() -> None:
    vectors = [each for each in SET.of_brokers() if each.listeners == (PLAINTEXT,)][:4]
    results = PlayedVectors()
    left = play_until_it_ends(EndingCheck(), lambda vector: (vector, ""), vectors, results)
    assert [each.id for each in left] == [each.id for each in vectors[2:]]
    assert results.ended_by == [vectors[1].id]
    assert results.failed == {vectors[1].id: MALFORMED_HURTS_NOBODY}


def test_a_broker_that_serves_no_connection_at_all_is_not_tried() -> None:
    check = EndingCheck()
    check.checked = 2
    with pytest.raises(ConnectionFailed):
        play_until_it_ends(check, lambda vector: (vector, ""), SET.of_brokers(), PlayedVectors())


def test_a_vector_that_cannot_be_judged_is_left_out_with_the_reason() -> None:
    results = PlayedVectors()
    assert not play_until_it_ends(EndingCheck(), lambda _: (None, "why"), SET.of_brokers()[:1], results)
    assert results.left_out == {SET.of_brokers()[0].id: "why"}
