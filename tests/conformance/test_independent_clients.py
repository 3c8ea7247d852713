"""Two correct clients that share no code with this project violate nothing, judged as any command."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reports.records import Verdict
from tests.conformance.suite_runs import SUITE, run_suite

FOLDER = Path(__file__).parent / "independent_clients"
CALLED = "{bootstrap} {timeout} {again} {options}"
OPTIONS = {
    "tls": "--tls-ca {ca_file}",
    "sasl_plain": "--username {username} --password {password}",
    "without_cluster_check": "--no-check",
}


def judge(command: str, runs: Path, *options: str) -> dict[str, Verdict]:
    """Judge a command by the pinned examples of everything, and return its verdicts by clause."""
    run = run_suite(
        *("--client-cmd", command, "--tier", "smoke", *options),
        runs=runs,
        suite=[f"{SUITE}clients"],
        every_listener=True,
    )
    assert run.status == 0, run.output
    return {clause: verdict for (_, clause), verdict in run.verdicts().items()}


@pytest.mark.nightly
@pytest.mark.slow
def test_a_blocking_client_conforms(tmp_path: Path) -> None:
    """It sends the ids of KIP-1242 and knows TLS and SASL, so only the proposal is not judged."""
    declared = [f"--client-option={name}={arguments}" for name, arguments in OPTIONS.items()]
    verdicts = judge(
        f"{sys.executable} {FOLDER / 'blocking_client.py'} {CALLED}", tmp_path, *declared
    )
    assert set(verdicts.values()) == {Verdict.CONFORMS, Verdict.NOT_APPLICABLE}
    not_judged = {
        clause
        for clause, verdict in verdicts.items()
        if verdict is Verdict.NOT_APPLICABLE and not clause.startswith("KIP-1313.")
    }
    assert not not_judged


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="it is written in Go, and there is no go")
def test_a_concurrent_client_conforms(tmp_path: Path) -> None:
    """It pipelines, asks all brokers side by side, and tries again what failed."""
    program = tmp_path / "concurrent"
    subprocess.run(
        ["go", "build", "-o", program, "."], cwd=FOLDER / "concurrent", check=True, timeout=300
    )
    verdicts = judge(f"{program} {CALLED}", tmp_path / "runs")
    assert set(verdicts.values()) == {Verdict.CONFORMS, Verdict.NOT_APPLICABLE}
    assert verdicts["KIP-511.client-errors-on-42"] is Verdict.CONFORMS
