"""What decides the exit status of a run or of its session; tests/reports/test_exit_status.py has every combination."""

from __future__ import annotations

from pathlib import Path

import pytest

from clauses.catalogue import Role, catalogue
from reports.records import Verdict
from reports.run.exit_status import ExitStatus
from tests.conformance import leaves_a_socket_open
from tests.conformance.suite_runs import SUITE, SuiteRun, run_suite


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


@pytest.mark.slow
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
