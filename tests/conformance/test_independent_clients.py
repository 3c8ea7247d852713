"""A correct client that shares no code with this project violates nothing, judged as any command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reports.records import Verdict
from tests.conformance.suite_runs import SUITE, run_suite

CLIENT = Path(__file__).parent / "independent_clients" / "blocking_client.py"
CALLED = "{bootstrap} {timeout} {again} {options}"
OPTIONS = {
    "tls": "--tls-ca {ca_file}",
    "sasl_plain": "--username {username} --password {password}",
    "without_cluster_check": "--no-check",
}


@pytest.mark.nightly
@pytest.mark.slow
def test_a_blocking_client_conforms(tmp_path: Path) -> None:
    """It sends the ids of KIP-1242 and knows TLS and SASL, so only the proposal is not judged."""
    declared = [f"--client-option={name}={arguments}" for name, arguments in OPTIONS.items()]
    run = run_suite(
        *("--client-cmd", f"{sys.executable} {CLIENT} {CALLED}", "--tier", "smoke", *declared),
        runs=tmp_path,
        suite=[f"{SUITE}clients"],
        every_listener=True,
    )
    assert run.status == 0, run.output
    verdicts = {clause: verdict for (_, clause), verdict in run.verdicts().items()}
    assert set(verdicts.values()) == {Verdict.CONFORMS, Verdict.NOT_APPLICABLE}
    not_judged = {
        clause
        for clause, verdict in verdicts.items()
        if verdict is Verdict.NOT_APPLICABLE and not clause.startswith("KIP-1313.")
    }
    assert not not_judged
