"""What is newer than a run's set of clauses is judged as well, and fails nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from clauses.clause_sets import EVERYTHING, ClauseSet, newest_set
from conformance.engine.baseline_update import update_baseline
from conformance.engine.planning import stale_expectations
from fixtures.registry.baselines import read_baseline
from reports.records import Verdict
from reports.run.exit_status import exit_status_of
from reports.run.terminal_failures import failure_lines
from tests.conformance.judged_properties import (
    MUST,
    Judged,
    JudgedBroker,
    declared,
    end_it,
    hold,
    judged,
    target_with,
    violate,
)

OLD = replace(newest_set(), properties={"test_something": 1})
NEWER_CLAUSE = replace(OLD, clauses={id_: each for id_, each in OLD.clauses.items() if id_ != MUST.id})
NEWER_PROPERTY = replace(OLD, properties={})
WITHDRAWN = replace(OLD, withdrawn={MUST.id: "on 2026-12-01: wrong"})

each_newer = pytest.mark.parametrize(
    ("asked", "why"),
    [
        (NEWER_CLAUSE, "newer than set 0.1"),
        (NEWER_PROPERTY, "test_something is newer than set 0.1"),
        (WITHDRAWN, "withdrawn from set 0.1 on 2026-12-01: wrong"),
    ],
    ids=["clause", "property", "withdrawn"],
)


def case_by(asked: ClauseSet, runs: Path) -> Judged:
    """Return a judge of a MUST in a run by a set."""
    return judged(runs, JudgedBroker(target=target_with()), clause_set=asked)


@each_newer
def test_a_failure_is_a_note_and_drawing_goes_on(asked: ClauseSet, why: str, tmp_path: Path) -> None:
    case = case_by(asked, tmp_path)
    case.run(violate, 7)
    case.run(hold, 8)
    assert case.verdict is Verdict.INFORMATIONAL
    assert case.recorder.cells[case.key].reason == why
    assert exit_status_of(case.recorder, pytest_status=0, strict=True) == 0
    lines = [line.text for line in failure_lines(case.recorder)]
    assert "newer than set 0.1 of clauses, fails nothing:" in lines[1]
    assert f"{MUST.id} on {case.key.target} (plaintext): seen 7" in lines[2]


def test_by_a_set_that_asks_for_it_the_same_failure_is_a_violation(tmp_path: Path) -> None:
    case = case_by(OLD, tmp_path)
    with pytest.raises(AssertionError, match="seen 7"):
        case.run(violate, 7)
    assert case.verdict is Verdict.VIOLATES
    assert exit_status_of(case.recorder, pytest_status=1, strict=False) == 1


def test_a_newer_clause_that_holds_conforms(tmp_path: Path) -> None:
    case = case_by(NEWER_CLAUSE, tmp_path)
    case.run(hold, 1)
    assert case.verdict is Verdict.CONFORMS


def test_a_newer_clause_that_was_not_judged_leaves_the_run_complete(tmp_path: Path) -> None:
    case = case_by(NEWER_CLAUSE, tmp_path)
    assert case.verdict is Verdict.NOT_APPLICABLE
    assert exit_status_of(case.recorder, pytest_status=0, strict=False) == 0
    assert case_by(OLD, tmp_path / "old").verdict is Verdict.NOT_RUN


@pytest.mark.parametrize("asked", [NEWER_CLAUSE, NEWER_PROPERTY], ids=["clause", "property"])
def test_what_could_not_be_judged_is_a_note_too(asked: ClauseSet, tmp_path: Path) -> None:
    case = case_by(asked, tmp_path)
    case.recorder.inconclusive(case.key, "test_something", "no route to it")
    assert case.verdict is Verdict.INFORMATIONAL
    assert exit_status_of(case.recorder, pytest_status=0, strict=False) == 0


def test_a_newer_pinned_example_is_a_note_and_any_other_counts(tmp_path: Path) -> None:
    case = judged(tmp_path, JudgedBroker(target=target_with()), clause_set=OLD, newer=[{"value": 7}])
    case.run(violate, 7)
    assert [case.verdict] == [Verdict.INFORMATIONAL]
    with pytest.raises(AssertionError):
        case.run(violate, 8)
    assert [case.verdict] == [Verdict.VIOLATES]
    assert [each.verdict for each in case.recorder.cells[case.key].failures.values()] == ["violates"]


def test_a_declared_violation_of_a_newer_clause_is_neither_missed_nor_stale() -> None:
    target = target_with(declared())
    assert stale_expectations([target], EVERYTHING)
    asked = replace(OLD, clauses={id_: each for id_, each in OLD.clauses.items() if id_ != declared().clause})
    assert stale_expectations([target], asked) == []


def test_a_baseline_is_of_its_set(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    case = case_by(OLD, tmp_path)
    with suppress(AssertionError):
        case.run(violate, 7)
    update_baseline(path, case.recorder, target_with())
    assert path.read_text("utf-8").splitlines()[0].endswith(", by set 0.1, tier smoke")
    assert len(read_baseline(path, target_with().implementation, OLD).lines) == 1
    newer = case_by(NEWER_CLAUSE, tmp_path / "newer")
    newer.run(violate, 7)
    update_baseline(path, newer.recorder, target_with())
    assert read_baseline(path, target_with().implementation, NEWER_CLAUSE).lines == []


def test_a_crash_that_only_a_newer_property_shows_is_a_note(tmp_path: Path) -> None:
    crash = "PROTOCOL.well-formed-never-closed"
    broker = JudgedBroker(target=target_with(), revivals=9)
    case = judged(tmp_path, broker, also_planned=(crash,), clause_set=NEWER_PROPERTY)
    with suppress(AssertionError):
        case.run(end_it, 1)
    assert exit_status_of(case.recorder, pytest_status=0, strict=False) != 1
