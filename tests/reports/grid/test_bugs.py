"""Failures are grouped by what most probably is one cause."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from reports.grid.bugs import Evidence, bugs_of, request_of, symptom_of, without_log
from reports.grid.grid_view import TargetColumn
from reports.tables.cell_rows import GridClause
from reports.tables.failure_rows import KeptFailure
from reports.tables.target_rows import GridTarget
from tests.reports.roll_up_tables import clause_row, failure_row, target_row

CLOSED = "the target closed the connection instead of answering"
HANGS = "the operation neither succeeds nor fails: it hangs"


def _clause(id_: str, level: str = "MUST") -> GridClause:
    return GridClause(**clause_row(id_, level=level))


def _column(target: str = "other-1.0") -> TargetColumn:
    entry = GridTarget(**target_row(target, started_at=datetime(2026, 11, 21, tzinfo=UTC)))
    short = target.rpartition("-")[2]
    name = entry.target_name
    return TargetColumn(target=target, name=name, short=short, group="g", listeners=(entry,))


def _failure(message: str, *, key: int = 18, version: int = 3, kind: str = "AssertionError") -> KeptFailure:
    data = f"00000020{key:04x}{version:04x}00000007"
    facts = json.dumps({"sent": [{"connection": 0, "data": data}]})
    row = failure_row("s", "C.a", "other-1.0", message=message, facts=facts, kind=kind)
    return _kept(row)


def _kept(row: dict[str, Any]) -> KeptFailure:
    texts: dict[str, Any] = {name: value or "" for name, value in row.items()}
    return KeptFailure(**texts)


def _evidence(clause: str, message: str, *, level: str = "MUST", **request: int | str) -> Evidence:
    return Evidence(
        clause=_clause(clause, level),
        target=_column(),
        listener="plaintext",
        failure=_failure(message, **request),  # type: ignore[arg-type]
        level_gates=level == "MUST",
    )


def _operation(name: str, message: str, release: str) -> Evidence:
    return Evidence(
        clause=_clause(f"some-lib-2.1.{name}"),
        target=_column(f"apache-kafka-{release}"),
        listener="plaintext",
        is_operation=True,
        is_client=True,
        failure=_failure(message),
    )


def test_same_symptom_on_the_same_request_is_one_bug() -> None:
    """Two rules about one message are broken by one bug; another version, or another symptom, is another one."""
    bugs = bugs_of(
        [
            _evidence("C.a", CLOSED, version=5),
            _evidence("C.b", f"unknown tags in header: {CLOSED}", version=5),
            _evidence("C.c", CLOSED, version=3),
            _evidence("C.d", "the response has the error NONE, and not UNSUPPORTED_VERSION", version=5),
        ]
    )
    assert [[clause.clause for clause in bug.clauses] for bug in bugs] == [
        ["C.b", "C.a"],
        ["C.c"],
        ["C.d"],
    ]
    assert bugs[0].title == f"ApiVersions v5: unknown tags in header: {CLOSED}"


def test_rule_may_be_broken_by_several_bugs() -> None:
    """Lists of requests are not compared; the title begins with what is wrong with them."""
    many = ", ".join(f"Produce v{version}" for version in range(5))
    bugs = bugs_of(
        [
            _evidence("C.a", f"{many}: {CLOSED}", key=0),
            _evidence("C.a", "CreateAcls v0-v3: the response cannot be decoded", key=30),
        ]
    )
    assert [bug.title for bug in bugs] == [
        f"T{CLOSED[1:]}: Produce v0, Produce v1, Produce v2 and 2 more",
        "The response cannot be decoded: CreateAcls v0-v3",
    ]


def test_crashes_come_first_and_should_last() -> None:
    """The order is that of what a reader has to know first."""
    bugs = bugs_of(
        [
            _evidence("C.should", CLOSED, level="SHOULD"),
            _evidence("C.must", CLOSED, version=1),
            _evidence("C.crash", "this request crashes the target: panic", version=9, kind="TargetEnded"),
        ]
    )
    assert [bug.first.clause.clause for bug in bugs] == ["C.crash", "C.must", "C.should"]
    assert [bug.crashes for bug in bugs] == [True, False, False]


def test_operation_that_hangs_is_one_bug_over_all_releases() -> None:
    """What hangs waits for something of its own; an error that each operation gives is one bug."""
    error = "the error does not say what the broker lacks: EOF"
    bugs = bugs_of(
        [
            _operation("share-group", HANGS, "3.9.2"),
            _operation("share-group", HANGS, "2.3.1"),
            _operation("consume-in-group", HANGS, "2.3.1"),
            _operation("produce", error, "4.4.0"),
            _operation("consume", error, "4.4.0"),
        ]
    )
    assert [bug.title for bug in bugs] == [
        "produce, consume: the error does not say what the broker lacks: EOF, with Apache Kafka 4.4.0",
        "share-group hangs, with Apache Kafka 3.9.2, 2.3.1",
        "consume-in-group hangs, with Apache Kafka 2.3.1",
    ]


def test_without_stored_failures_each_rule_is_a_bug() -> None:
    """Nothing is known about the cause then."""
    alone = [
        Evidence(clause=_clause(name), target=_column(), listener=listener)
        for name in ("C.a", "C.b")
        for listener in ("plaintext", "ssl")
    ]
    assert [len(bug.evidence) for bug in bugs_of(alone)] == [2, 2]


@pytest.mark.parametrize("facts", ["", "{}", '{"sent": []}', '{"sent": [{"data": "0000"}]}'])
def test_failure_without_a_request_names_none(facts: str) -> None:
    """A damaged or short record is no error."""
    row = failure_row("s", "C.a", "other-1.0", facts=facts)
    assert request_of(_kept(row)) == ""


def test_numbers_are_no_symptom() -> None:
    sentence = "Metadata v1 on connection {} was sent"
    assert symptom_of(sentence.format(1)) == symptom_of(sentence.format(27))


def test_failure_that_says_little_names_its_rule() -> None:
    """Two such bugs of one client would have one title otherwise."""
    sentence = "the client does not work: its operation fails"
    evidence = [replace(_evidence(name, sentence), is_client=True, clause=_clause(name)) for name in ("C.a", "C.b")]
    assert [bug.title for bug in bugs_of(evidence)] == [
        f"T{sentence[1:]}, where “{name}” is judged" for name in ("C.a", "C.b")
    ]


def test_log_of_a_broker_that_ended_is_no_part_of_a_title() -> None:
    """It has ports and times, and begins with the words in which the suite quotes it."""
    said = "mock-2.16.0 ended while it was judged: broker ended by SIGSEGV; last lines of broker.out:"
    assert without_log(f"this request crashes the target: {said}") == (
        "this request crashes the target: broker ended by SIGSEGV"
    )
    assert without_log(f"BrokerGone: requesting Fetch v1: {said}\n%3|1796107400.867|MOCK") == (
        "BrokerGone: requesting Fetch v1: broker ended by SIGSEGV"
    )
    assert without_log("the target closed the connection") == "the target closed the connection"
