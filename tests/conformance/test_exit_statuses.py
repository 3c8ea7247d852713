"""A run's exit status, for the reference broker with and without defects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clauses.catalogue import Role, catalogue
from reports.records import Verdict
from tests.conformance import declared_violations
from tests.conformance.suite_runs import SuiteRun, run_suite

DEFECT = "reference+tags-descend"
CLAUSE = "KIP-482.tags-ascending-in-answers"
PROPERTY = "test_tags_in_answers_ascend"
FAR_AWAY = "2999-01-01"
LONG_AGO = "2026-02-01"


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


def test_violated_must_ends_with_1(defects_run: SuiteRun) -> None:
    """Targets that violate a MUST end the run with 1."""
    assert defects_run.status == 1


@pytest.mark.parametrize(
    ("options", "status", "outcome"),
    [
        pytest.param([], 0, "1 with findings", marks=pytest.mark.slow, id="recorded"),
        pytest.param(["--strict-should"], 1, "1 with findings", id="strict"),
    ],
)
def test_violated_should_gates_only_where_asked(
    options: list[str], status: int, outcome: str, tmp_path: Path
) -> None:
    """A violated SHOULD is shown and recorded, but fails the run only with --strict-should."""
    run = run_suite(
        *("--broker", "reference+a-default-tag-is-sent", "--tier", "smoke"),
        *("-k", "test_tags_at_their_default_are_not_sent", *options),
        runs=tmp_path / "runs",
    )
    assert run.status == status, run.output
    assert outcome in run.output
    assert list(run.verdicts().values()) == [Verdict.VIOLATES]
    assert "✕ KIP-482.default-tags-omitted on reference+a-default-tag-is-sent" in run.output


@pytest.mark.parametrize(
    ("target", "match", "expires", "status", "verdict", "said"),
    [
        pytest.param(
            DEFECT,
            "assert",
            FAR_AWAY,
            0,
            Verdict.KNOWN_VIOLATION,
            "known because: declared by a test (https://example.org/1)",
            id="known",
        ),
        pytest.param(
            DEFECT,
            "no such thing",
            FAR_AWAY,
            1,
            Verdict.VIOLATES,
            "1 with findings",
            marks=pytest.mark.slow,
            id="other-failure",
        ),
        pytest.param(
            "reference",
            "assert",
            FAR_AWAY,
            1,
            Verdict.UNEXPECTED_PASS,
            "declared as violated, but not violated",
            id="unexpected-pass",
        ),
        pytest.param(
            DEFECT,
            "assert",
            LONG_AGO,
            12,
            Verdict.KNOWN_VIOLATION,
            f"! stale expectation: the declaration of {CLAUSE} on {DEFECT} expired on {LONG_AGO}",
            marks=pytest.mark.slow,
            id="expired",
        ),
    ],
)
def test_declared_violation_decides_the_status(
    target: str,
    match: str,
    expires: str,
    status: int,
    verdict: Verdict,
    said: str,
    tmp_path: Path,
) -> None:
    """A declared violation excuses its failures until it expires; an unexpected pass is reported."""
    entry = {"target": target, "clause": CLAUSE, "match": match, "expires": expires}
    run = run_suite(
        *("--broker", target, "--tier", "smoke", "-k", PROPERTY, "-p", declared_violations.NAME),
        runs=tmp_path / "runs",
        variables={declared_violations.VARIABLE: json.dumps([entry])},
    )
    assert run.status == status, run.output
    assert run.verdicts() == {(target, CLAUSE): verdict}
    assert said in run.output


@pytest.mark.parametrize(
    ("target", "verdict"),
    [("reference", Verdict.CONFORMS), (DEFECT, Verdict.KNOWN_VIOLATION)],
    ids=["not-seen", "seen"],
)
def test_run_that_leaves_things_out_takes_no_violation_for_gone(
    target: str, verdict: Verdict, tmp_path: Path
) -> None:
    """A read-only run excuses a declared violation that it sees; one that it does not may be in what it never sent."""
    entries = [
        {"target": target, "clause": CLAUSE, "match": "assert", "expires": FAR_AWAY},
        # Does not apply in such a run, and is no stale declaration for that.
        {
            "target": target,
            "clause": "PROTOCOL.no-response-to-acks-0",
            "match": "seen",
            "expires": FAR_AWAY,
        },
    ]
    run = run_suite(
        *("--broker", target, "--tier", "smoke", "-p", declared_violations.NAME, "--read-only"),
        *("-k", f"{PROPERTY} or test_produce_with_acks_0"),
        runs=tmp_path / "runs",
        variables={declared_violations.VARIABLE: json.dumps(entries)},
    )
    assert run.status == 0, run.output
    assert run.verdicts()[target, CLAUSE] is verdict
