"""Commands do operations with a real release: the examples, and one that lies."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands.replay import replay
from fixtures.launchers import launch
from fixtures.registry.clients import CLIENTS_FOLDER, DRIVERS_FOLDER
from fixtures.registry.targets import select_targets
from reference_model.profiles.listeners import PLAINTEXT
from reports.records import Verdict
from tests.conformance.suite_runs import SUITE, SuiteRun, run_suite

pytestmark = pytest.mark.slow  # A release is started, and each test runs the suite and a client in processes

EXAMPLES = DRIVERS_FOLDER / "commands"
ARGUMENTS = "{operation} {bootstrap} {timeout}"
LIES = """
case $0 in
    metadata) exit 89 ;;
    produce) echo "offset 0" ;;
    consume) echo "record $CONFORMANCE_RECORD" ;;
    list-topics) exit 0 ;;
    *) echo "Fetch v4 is unsupported" >&2; exit 1 ;;
esac
"""
"""Prints what it was given, or nothing, and never connects."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a release that runs."""
    (release,) = select_targets(["apache-kafka-3.9.2"])
    with launch(release, "process") as broker:
        yield str(broker.addresses[PLAINTEXT])


def judge(command: str, address: str, folder: Path) -> SuiteRun:
    """Try the operations of a command with the release."""
    return run_suite(
        *("--bootstrap-server", address, "--client-cmd", command, "--client-name", "mine"),
        runs=folder / "runs",
        suite=[f"{SUITE}operations"],
        every_listener=True,
    )


def built_in_go(folder: Path) -> str:
    """Build the example in Go with the pins of its library."""
    pins = CLIENTS_FOLDER / "franz-go-1.22.3"
    for file in (EXAMPLES / "my_client.go", pins / "go.mod", pins / "go.sum"):
        shutil.copy(file, folder)
    subprocess.run(["go", "build", "-o", "my_client", "."], cwd=folder, check=True)
    return str(folder / "my_client")


@pytest.mark.parametrize(
    ("language", "has"),
    [("Python", {"metadata", "produce", "compressed-produce", "consume"}), ("Go", {"metadata", "produce", "consume"})],
)
def test_example_has_the_operations_that_it_names(language: str, has: set[str], address: str, tmp_path: Path) -> None:
    """All of them work, and the others are not applicable."""
    python = shlex.join([sys.executable, str(EXAMPLES / "my_client.py")])
    program = python if language == "Python" else built_in_go(tmp_path)
    run = judge(f"{program} {ARGUMENTS}", address, tmp_path)
    assert run.status == 0, run.output
    works = {row for (_, row), verdict in run.verdicts().items() if verdict is Verdict.CONFORMS}
    assert works == {f"mine.{name}" for name in (*has, "newest-versions")}


def test_command_that_lies_is_caught(address: str, tmp_path: Path) -> None:
    """The failure of each operation is another sentence, and a command that does it no longer fails."""
    lies = shlex.join(["sh", "-c", LIES])
    run = judge(f"{lies} {ARGUMENTS}", address, tmp_path)
    assert run.status == 1, run.output
    for sentence in (
        'the command does not print "topic conformance-',
        'no Produce request has "record-',
        "the command never connected to the broker",
    ):
        assert sentence in run.output
    failures = {clause: str(folder) for (_, clause), folder in run.failures().items() if clause == "mine.consume"}
    options = ["--bootstrap-server", address]
    assert CliRunner().invoke(replay, [failures["mine.consume"], *options]).exit_code == 1
    right = shlex.join([sys.executable, str(EXAMPLES / "my_client.py")])
    ended = CliRunner().invoke(replay, [failures["mine.consume"], *options, "--client-cmd", f"{right} {ARGUMENTS}"])
    assert ended.exit_code == 0, ended.output
