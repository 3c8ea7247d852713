"""What decides the exit status of a run or of its session; tests/reports/test_exit_status.py has every combination."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clauses.catalogue import Role, catalogue
from reports.records import Verdict
from reports.run.exit_status import ExitStatus
from tests.conformance import declared_violations, leaves_a_socket_open
from tests.conformance.suite_runs import SUITE, SuiteRun, run_suite
from tests.reports.recorders import example_of, finished_session, key_of, recorder_for

DEFECT = "reference+tags-descend"
CLAUSE = "KIP-482.tags-ascending-in-answers"
PROPERTY = "test_tags_in_answers_ascend"
SHOULD_DEFECT = "reference+a-default-tag-is-sent"
SHOULD = "KIP-482.default-tags-omitted"
ACKS_0 = "PROTOCOL.no-response-to-acks-0"
FAR_AWAY = "2999-01-01"
LONG_AGO = "2026-02-01"


def declared(target: str, clause: str = CLAUSE, *, expires: str = FAR_AWAY) -> dict[str, str]:
    """Return a declared violation of a target."""
    return {"target": target, "clause": clause, "match": "assert", "expires": expires}


def run_with(known: list[dict[str, str]], runs: Path, *options: str) -> SuiteRun:
    """Run some properties in the smoke tier, with declared violations."""
    return run_suite(
        *("--tier", "smoke", "-p", declared_violations.NAME, *options),
        runs=runs,
        suite=[f"{SUITE}brokers/test_tagged_fields.py", f"{SUITE}brokers/test_read_only_apis.py"],
        variables={declared_violations.VARIABLE: json.dumps(known)},
    )


def test_healthy_target_ends_with_0(healthy_run: SuiteRun) -> None:
    """A target that keeps every clause ends the run with 0: every cell conforms, but those about proxies and a proposal do not apply."""
    assert healthy_run.status == 0, healthy_run.output
    verdicts = healthy_run.verdicts()
    assert set(verdicts.values()) == {Verdict.CONFORMS, Verdict.NOT_APPLICABLE}
    absent = {clause for (_, clause), found in verdicts.items() if found is Verdict.NOT_APPLICABLE}
    assert absent == {
        clause.id
        for clause in catalogue()
        if not clause.not_tested
        and (
            clause.source == "PROXY"
            or (clause.source == "KIP-1313" and Role.BROKER in clause.roles)
        )
    }


@pytest.mark.parametrize(("interrupt", "status"), [("", ExitStatus.HARNESS_ERROR), ("1", 2)])
def test_what_is_left_open_is_no_violation(interrupt: str, status: int, tmp_path: Path) -> None:
    """For a socket that nothing closed, pytest ends with 1; it is a bug in this suite, or what an interrupt may leave."""
    run = run_suite(
        *("--broker", "reference", "--tier", "smoke", "-p", leaves_a_socket_open.__name__),
        runs=tmp_path,
        suite=[f"{SUITE}brokers/test_read_only_apis.py"],
        variables={leaves_a_socket_open.INTERRUPT: interrupt},
    )
    assert run.status == status
    assert ("a bug in this suite" in run.output) is not bool(interrupt), run.output


def test_violated_must_ends_with_1(defects_run: SuiteRun) -> None:
    """Targets that violate a MUST end the run with 1."""
    assert defects_run.status == 1


@pytest.mark.slow
def test_declarations_and_a_violated_should_are_shown(tmp_path: Path) -> None:
    """A declared violation excuses what it matches until it expires, one that is gone fails the run, and a SHOULD is recorded."""
    run = run_with(
        [declared(DEFECT, expires=LONG_AGO), declared("reference")],
        tmp_path,
        *("--broker", DEFECT, "--broker", "reference", "--broker", SHOULD_DEFECT),
        *("-k", f"{PROPERTY} or test_tags_at_their_default_are_not_sent"),
    )
    assert run.status == 1, run.output
    verdicts = run.verdicts()
    assert verdicts[DEFECT, CLAUSE] is Verdict.KNOWN_VIOLATION
    assert verdicts["reference", CLAUSE] is Verdict.UNEXPECTED_PASS
    assert verdicts[SHOULD_DEFECT, SHOULD] is Verdict.VIOLATES
    for said in (
        "known because: declared by a test (https://example.org/1)",
        f"! stale expectation: the declaration of {CLAUSE} on {DEFECT} expired on {LONG_AGO}",
        "declared as violated, but not violated",
        f"✕ {SHOULD} on {SHOULD_DEFECT}",
    ):
        assert said in run.output


def test_strict_should_decides_the_status(tmp_path: Path) -> None:
    """A violated SHOULD fails the run only with --strict-should."""
    for number, options in enumerate([(), ("--strict-should",)]):
        recorder = recorder_for(tmp_path, {key_of(): "SHOULD"})
        recorder.judged(example_of(Verdict.VIOLATES, message="seen"))
        assert finished_session(recorder, 0, *options).exitstatus == number


@pytest.mark.slow
def test_run_that_leaves_things_out_takes_no_violation_for_gone(tmp_path: Path) -> None:
    """A read-only run excuses a declared violation that it sees; one that it does not may be in what it never sent."""
    targets = (DEFECT, "reference")
    # The second clause does not apply in such a run, and its declaration is not stale for that.
    known = [declared(target, clause) for target in targets for clause in (CLAUSE, ACKS_0)]
    run = run_with(
        known,
        tmp_path,
        *("--broker", DEFECT, "--broker", "reference", "--read-only"),
        *("-k", f"{PROPERTY} or test_produce_with_acks_0"),
    )
    assert run.status == 0, run.output
    assert run.verdicts()[DEFECT, CLAUSE] is Verdict.KNOWN_VIOLATION
    assert run.verdicts()["reference", CLAUSE] is Verdict.CONFORMS
