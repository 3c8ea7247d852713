"""Tests of runs that judge clients: records, evidence and exit status.

The correct clients share no code with the project.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from reports.records import Verdict
from tests.conformance.suite_runs import SUITE, SuiteRun, run_suite
from tests.programs import needs_landlock

FAULT = "invalid-request-is-asked-again-without-end"
FAULTY = f"model+{FAULT}"
CLAUSE = "KIP-511.client-errors-on-42"
WITHOUT_CARGO = "krafka-0.28.1"


pytestmark = pytest.mark.slow  # Each test runs the suite in a process, on clients in processes


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
    (folder,) = run.failures().values()
    facts = json.loads((folder / "failure.json").read_text())
    assert (facts["role"], facts["repeats"]["class"]) == ("client", "deterministic")


def test_the_reason_of_a_client_that_is_not_run_says_what_to_install(run: SuiteRun) -> None:
    reasons = {cell["reason"] for cell in run.header["planned_cells"] if cell["target"] == WITHOUT_CARGO}
    (reason,) = reasons
    assert "cargo" in reason.lower()
    assert run.output.count("there is no cargo") == 1
    assert f"2 cells on {WITHOUT_CARGO} not run:" in run.output


def test_rows_name_the_client(run: SuiteRun) -> None:
    """Readers of the records tell clients from brokers by this column."""
    assert {row["client"] for row in run.rows()} == {"model", FAULTY}


def judge_program(source: str, suite: str, folder: Path) -> SuiteRun:
    """Judge a client that is a few lines of Python, in smoke, by a part of the suite."""
    program = folder / "client.py"
    program.write_text(source)
    return run_suite(
        *("--client-cmd", f"{sys.executable} {program} {{bootstrap}}", "--tier", "smoke"),
        runs=folder,
        suite=[f"{SUITE}{suite}"],
        every_listener=True,
    )


CONNECTS = 'import socket, sys; socket.create_connection(sys.argv[1].split(":"))'
"""A client that opens a connection and sends nothing."""


def test_a_client_that_did_nothing_is_no_success(tmp_path: Path) -> None:
    """The status is 11, and one sentence says why no MUST was judged."""
    run = judge_program(CONNECTS, "clients/test_overlap.py", tmp_path)
    assert run.status == 11, run.output
    assert "No MUST was judged of" in run.output
    assert "never sent a request" in run.output


MISREADS = """
import socket, sys

host, _, port = sys.argv[1].rpartition(":")
with socket.create_connection((host, int(port)), 5) as connection:
    connection.sendall(bytes.fromhex("00000011 0012 0003 00000007 0001 61 00 0261 0231 00"))
    response = connection.recv(4096)
    # The header of this response has no tag section, but one is skipped.
    sys.exit(f"the broker responded with error {int.from_bytes(response[9:11], 'big')}")
"""
"""Reads a response header with a tag section, so it takes the number of APIs for an error."""


def test_a_client_that_cannot_be_judged_gets_the_clause_of_its_first_reaction(
    tmp_path: Path,
) -> None:
    run = judge_program(MISREADS, "clients/test_robustness.py::test_refused_name_is_an_error", tmp_path)
    assert set(run.verdicts().values()) == {Verdict.INCONCLUSIVE}
    assert "its first reaction fits KIP-511.client-reads-fixed-header" in run.output
    assert "read as if it had a tag section, gives that error 78" in run.output
    assert "the broker responded with error 78" in run.output


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        pytest.param(["--client", "model"], 0, "ApiVersions v5 on connection 1; gives the ids", id="works"),
        pytest.param(["--client-cmd", "true {bootstrap}"], 11, "But the client never connected", id="nothing"),
        pytest.param(["--client-cmd", "false {bootstrap}"], 10, "fails against a healthy", id="fails"),
        pytest.param(
            ["--client-cmd", "sh -c 'mkdir runs {bootstrap}'"],
            *(10, "add --client-unconfined"),
            id="writes-where-runs-are-kept",
            marks=needs_landlock,
        ),
        pytest.param([], 4, "--client-check needs a client", id="no-client"),
    ],
)
def test_check_plays_the_healthy_script_alone(options: list[str], status: int, sentence: str, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    command = [sys.executable, "-m", "pytest", str(Path(SUITE).absolute()), "--client-check"]
    done = subprocess.run(
        [*command, "--runs", str(runs), *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert sentence in done.stdout + done.stderr
    assert not runs.exists()


def test_command_that_does_not_start_is_tried_once(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "conformance", "judge", "--client-cmd", f"{tmp_path}/none {{bootstrap}}", "--runs", str(tmp_path / "runs")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 10
    assert ended.stdout.startswith("none does not start, so nothing was judged: ")
    assert "not found" in ended.stdout
    assert not (tmp_path / "runs").exists()


INDEPENDENT = Path(__file__).parent / "independent_clients"
CALLED = "{bootstrap} {timeout} {again} {options}"
OPTIONS = {
    "tls": "--tls-ca {ca_file}",
    "sasl_plain": "--username {username} --password {password}",
}


def verdicts_of(command: str, runs: Path, options: Mapping[str, str]) -> dict[str, Verdict]:
    """Return the verdicts of a command by clause, by the pinned examples of all properties."""
    declared = [f"--client-option={name}={arguments}" for name, arguments in options.items()]
    run = run_suite(
        *("--client-cmd", f"{command} {CALLED}", "--tier", "smoke", *declared),
        runs=runs,
        suite=[f"{SUITE}clients"],
        every_listener=True,
    )
    assert run.status == 0, run.output
    return {clause: verdict for (_, clause), verdict in run.verdicts().items()}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("client", "options", "not_judged"),
    [
        pytest.param(
            "blocking_client.py",
            {**OPTIONS, "without_cluster_check": "--no-check"},
            (),
            id="blocking",
        ),
        pytest.param("pipelining_client.py", OPTIONS, ("KIP-1242.",), id="pipelining"),
    ],
)
def test_an_independent_client_conforms(
    client: str, options: Mapping[str, str], not_judged: tuple[str, ...], tmp_path: Path
) -> None:
    """A correct client that shares no code with the suite has no red cell; the one that pipelines sends no ids of
    KIP-1242."""
    verdicts = verdicts_of(f"{sys.executable} {INDEPENDENT / client}", tmp_path, options)
    assert set(verdicts.values()) == {Verdict.CONFORMS, Verdict.NOT_APPLICABLE}
    left_out = {clause for clause in verdicts if verdicts[clause] is Verdict.NOT_APPLICABLE}
    assert all(clause.startswith(("KIP-1313.", *not_judged)) for clause in left_out), left_out


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("go") is None, reason="it is written in Go, and there is no go")
def test_a_concurrent_client_conforms(tmp_path: Path) -> None:
    """A correct client in Go that asks all brokers side by side, and tries again what failed, has no red cell."""
    program = tmp_path / "concurrent"
    folder = INDEPENDENT / "concurrent"
    subprocess.run(["go", "build", "-o", program, "."], cwd=folder, check=True, timeout=300)
    verdicts = verdicts_of(str(program), tmp_path / "runs", {})
    assert set(verdicts.values()) == {Verdict.CONFORMS, Verdict.NOT_APPLICABLE}
    assert verdicts["KIP-511.client-errors-on-42"] is Verdict.CONFORMS
