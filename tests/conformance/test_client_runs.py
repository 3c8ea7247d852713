"""Runs of the suite that judge clients: records, evidence and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports.records import Verdict
from tests.conformance.suite_runs import SUITE, SuiteRun, run_suite

FAULT = "invalid-request-is-asked-again-without-end"
FAULTY = f"model+{FAULT}"
CLAUSE = "KIP-511.client-errors-on-42"
WITHOUT_CARGO = "krafka-0.28.1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """A run of two properties on a correct client, one with a fault, and one that cannot be installed."""
    empty = tmp_path_factory.mktemp("empty")
    return run_suite(
        *("--client", "model", "--client", FAULTY, "--client", WITHOUT_CARGO, "--tier", "smoke"),
        runs=tmp_path_factory.mktemp("runs"),
        suite=[
            f"{SUITE}clients/test_robustness.py::test_refused_name_is_an_error",
            f"{SUITE}clients/test_robustness.py::test_broker_before_api_versions_is_survived",
        ],
        variables={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(empty)},
        every_listener=True,
    )


def test_a_planted_fault_violates_its_clause(run: SuiteRun) -> None:
    """The correct client conforms, and a client without its toolchain is not run."""
    verdicts = {key: verdict for key, verdict in run.verdicts().items() if key[1] == CLAUSE}
    assert verdicts == {
        ("model", CLAUSE): Verdict.CONFORMS,
        (FAULTY, CLAUSE): Verdict.VIOLATES,
        (WITHOUT_CARGO, CLAUSE): Verdict.NOT_RUN,
    }


def test_the_reason_of_a_client_that_is_not_run_says_what_to_install(run: SuiteRun) -> None:
    """It is in the records, and on the terminal."""
    reasons = {
        cell["reason"] for cell in run.header["planned_cells"] if cell["target"] == WITHOUT_CARGO
    }
    assert len(reasons) == 1
    assert "cargo" in next(iter(reasons)).lower()


def test_a_failure_has_evidence_of_both_sides(run: SuiteRun) -> None:
    """Bytes, packets, and a script that plays the broker."""
    (folder,) = run.failures().values()
    assert {path.name for path in folder.iterdir()} >= {
        "exchange.txt",
        "exchange.pcap",
        "failure.json",
        "reproducer.py",
    }
    facts = json.loads((folder / "failure.json").read_text())
    assert facts["role"] == "client"
    assert facts["repeats"]["class"] == "deterministic"
    assert "INVALID_REQUEST" in (folder / "exchange.txt").read_text()


def test_rows_name_the_client(run: SuiteRun) -> None:
    """Readers of the records tell clients from brokers by this column."""
    assert {row["client"] for row in run.rows()} == {"model", FAULTY}


def test_command_that_fails_with_a_healthy_broker_is_not_judged(tmp_path: Path) -> None:
    """Its cells are inconclusive, and show what it printed."""
    run = run_suite(
        *("--client-cmd", "sh -c 'echo no route to {bootstrap}; exit 3'", "--tier", "smoke"),
        runs=tmp_path,
        suite=[f"{SUITE}clients/test_robustness.py::test_refused_name_is_an_error"],
        every_listener=True,
    )
    assert set(run.verdicts().values()) == {Verdict.INCONCLUSIVE}
    assert "no route to 127.0.0.1" in run.output
