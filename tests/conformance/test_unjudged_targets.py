"""Targets that cannot be judged, or only in part: exit status 10, the reason once, and what to do."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from reports.records import Verdict
from reports.run_folder import read_run_header
from tests.conformance.fake_targets import (
    LOOPBACK,
    Behaviour,
    answer_http,
    answer_nothing,
    close_at_once,
    serve,
    turning,
)
from tests.conformance.suite_runs import (
    SuiteRun,
    await_line,
    children_of,
    finish,
    run_suite,
    start_suite,
)

HARNESS_ERROR = 10


def assert_inconclusive(run: SuiteRun, reason: str) -> None:
    """Check that a run ended with 10, said the reason once and what to do, and kept its records."""
    assert run.status == HARNESS_ERROR, run.output
    verdicts = run.verdicts()
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}
    assert run.header["footer"]["exit_status"] == HARNESS_ERROR
    # One row for each property, and some clauses have two.
    assert run.header["footer"]["example_rows"] == len(run.rows()) >= len(verdicts)
    explained = run.output.partition("cells on ")[2]
    assert len(re.findall(reason, explained)) == 1, run.output
    assert "Traceback" not in run.output


def test_target_that_cannot_start_spoils_no_other(tmp_path: Path) -> None:
    """Where one of two targets cannot be started the run is a whole one, and the other has its verdicts."""
    run = finish(
        start_suite(
            *("--broker", "reference", "--broker", "apache-kafka-4.4.0", "--launcher", "process"),
            *("--tier", "smoke"),
            runs=tmp_path / "runs",
            variables={"JAVA_HOME": str(tmp_path)},
        )
    )
    assert run.status == HARNESS_ERROR, run.output
    assert "JavaNotFound" in run.output
    verdicts = run.verdicts()
    assert {verdict for (target, _), verdict in verdicts.items() if target == "reference"} == {
        Verdict.CONFORMS
    }
    assert verdicts["apache-kafka-4.4.0", "KIP-35.v0-always-served"] is Verdict.INCONCLUSIVE
    assert read_run_header(run.folder)["footer"]["exit_status"] == HARNESS_ERROR


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        pytest.param(
            answer_http,
            r"is no Kafka broker's plaintext listener: .*48 54 54 50.*check the port, "
            "and that the listener takes neither TLS nor SASL",
            id="web-server",
        ),
        pytest.param(
            answer_nothing,
            "no Kafka broker answers at .*check host and port, and that the broker runs",
            id="silent-server",
        ),
        pytest.param(
            close_at_once,
            # What a close looks like depends on whether our bytes were there before it.
            "is no Kafka broker's plaintext listener|no Kafka broker answers at",
            id="closing-server",
        ),
    ],
)
def test_port_without_kafka_is_inconclusive(
    behaviour: Behaviour, reason: str, tmp_path: Path
) -> None:
    """A server that is no Kafka broker ends the run with 10 and a message that says what to look at."""
    with serve(behaviour) as target:
        run = run_suite("--bootstrap-server", target.address, runs=tmp_path / "runs")
    assert_inconclusive(run, reason)


def test_closed_port_is_inconclusive(tmp_path: Path) -> None:
    """A port on which nothing listens ends the run with 10 and a message that says what to look at."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
    run = run_suite("--bootstrap-server", f"{LOOPBACK}:{port}", runs=tmp_path / "runs")
    assert_inconclusive(run, "no Kafka broker answers at .*check host and port")


def test_target_without_a_readable_table_is_asked_once(tmp_path: Path) -> None:
    """A target that answers the first question and nothing after it is found out once, for all properties."""
    with serve(turning(close_at_once, after=1)) as target:
        run = run_suite("--bootstrap-server", target.address, runs=tmp_path / "runs")
    assert run.status == 1, run.output
    verdicts = {clause: verdict for (_, clause), verdict in run.verdicts().items()}
    assert verdicts.pop("KIP-35.v0-always-served") is Verdict.VIOLATES
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}
    explained = run.output.partition("cells on ")[2]
    assert explained.count("gave no readable table at any version of ApiVersions") == 1


def test_broker_that_dies_leaves_what_was_judged(tmp_path: Path) -> None:
    """When the broker is killed in the middle, it is started again, and what it was asked meanwhile is in doubt."""
    runs = tmp_path / "runs"
    process = start_suite("--broker", "reference", "--tier", "smoke", "-v", runs=runs)
    before = await_line(process, "PASSED")
    (server,) = (
        child for child in children_of(process) if "reference_model.server" in child.cmdline()
    )
    server.kill()
    run = finish(process)
    assert run.status == HARNESS_ERROR, before + run.output
    assert set(run.verdicts().values()) == {Verdict.CONFORMS, Verdict.INCONCLUSIVE}
    in_doubt = [row for row in run.rows() if row["verdict"] == Verdict.INCONCLUSIVE.value]
    # It may be about several clauses.
    assert len({row["property"] for row in in_doubt}) == 1
    assert run.header["footer"]["example_rows"] == len(run.rows())
    assert run.header["targets"][0]["id"] == "reference"
    reason = (
        "reference ended while it was judged: exit status -9; what was sent did not end a fresh one"
    )
    explained = run.output[run.output.index("= verdicts =") :]
    assert explained.count(reason) == 1
    assert "Traceback" not in run.output
