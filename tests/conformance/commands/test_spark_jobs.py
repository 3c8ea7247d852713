"""A command that ends also ends the programs that it started.

It shows what it waits for only on a terminal.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import psutil  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result

from conformance import __main__ as console_script
from conformance.__main__ import main
from conformance.commands import grid as grid_command
from conformance.commands.spark_jobs import running, status_of
from conformance.failures.stored_failures import StoredFailure
from fixtures.cleanup.ending_signals import ENDING_SIGNALS
from fixtures.errors import HarnessError
from tests.conformance.suite_runs import REPOSITORY

_WITH_CHILD = """
import json, os, pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
pathlib.Path(os.environ["TMPDIR"], "left").touch()
print(json.dumps({"child": child.pid, "folder": os.environ["TMPDIR"], "spark": os.environ["SPARK_LOCAL_DIRS"]}), flush=True)
child.wait()
"""


def _interrupted(facts: dict[str, Any]) -> None:
    """Run the program, and be interrupted when it has started another one."""
    process = None
    try:
        with running([sys.executable, "-c", _WITH_CHILD], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            facts |= json.loads(process.stdout.readline())
            assert Path(facts["folder"], "left").exists()
            raise KeyboardInterrupt
    finally:
        assert process is not None
        facts["status"] = process.returncode


def test_an_interrupted_program_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program, what it started and its temporary folder are gone when the interrupt arrives at the caller."""
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    facts: dict[str, Any] = {}
    with pytest.raises(KeyboardInterrupt):
        _interrupted(facts)
    assert facts["status"] == -signal.SIGKILL
    # A killed grandchild has an exit status to be read until its new parent does.
    assert not psutil.pid_exists(facts["child"]) or _is_zombie(facts["child"])
    assert not Path(facts["folder"]).exists()
    assert facts["spark"] == facts["folder"]


def _is_zombie(process_id: int) -> bool:
    try:
        process = psutil.Process(process_id)
        psutil.wait_procs([process], timeout=10)
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("terminal", [{}, {"FORCE_COLOR": "1", "TERM": "xterm"}])
def test_the_exit_status_of_a_program_is_returned(
    terminal: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that ends by itself is not interrupted; what it does is shown on a terminal alone."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for name, value in terminal.items():
        monkeypatch.setenv(name, value)
    assert status_of([sys.executable, "-c", "raise SystemExit(4)"], "waiting") == 4
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert status_of([sys.executable, "-c", killed], "waiting") == 10
    assert ("waiting" in capsys.readouterr().err) == bool(terminal)


@pytest.mark.parametrize("number", ENDING_SIGNALS, ids=lambda number: number.name)
def test_every_signal_interrupts_every_command(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command ends with 2, after it has cleaned up."""
    cleaned: list[int] = []

    @click.command()
    def command() -> None:
        try:
            signal.raise_signal(number)
        finally:
            cleaned.append(os.getpid())

    monkeypatch.setattr(grid_command, "grid", command)
    for each in set(ENDING_SIGNALS) - {signal.SIGINT}:
        signal.signal(each, signal.SIG_DFL)
    ended = CliRunner().invoke(console_script.main, ["grid"])
    assert (ended.exit_code, cleaned) == (2, [os.getpid()])
    assert ended.output == "interrupted\n"


def test_programs_find_the_suite_before_anything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reports.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "/theirs")
    show = "import json, os, reports, sys; print(json.dumps([reports.__file__, os.environ['PYTHONPATH']]))"
    with running([sys.executable, "-c", show], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        imported, paths = json.loads(process.stdout.read())
    assert imported == str(REPOSITORY / "reports" / "__init__.py")
    assert paths == f"{REPOSITORY}{os.pathsep}/theirs"
    assert os.environ["PYTHONPATH"] == "/theirs"


@pytest.mark.timeout(300)
def test_wrong_usage_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The roll-up's message and status 2 are passed on by `grid`, and nothing is written."""
    out = tmp_path / "grid"
    ended = CliRunner().invoke(console_script.main, ["grid", "runs", "--rebuild", "--out", str(out)])
    assert ended.exit_code == 2
    assert "--rebuild needs --history" in capfd.readouterr().err
    assert not out.exists()


def on_terminal_and_piped(arguments: Sequence[str]) -> tuple[Result, Result]:
    """Run a command as if on a terminal, and as if in a pipe."""
    terminal, pipe = {"FORCE_COLOR": "1", "TERM": "xterm"}, {"FORCE_COLOR": None}
    on_terminal = CliRunner(env=terminal).invoke(main, arguments)
    return on_terminal, CliRunner(env=pipe).invoke(main, arguments)


@pytest.mark.parametrize(
    ("command", "waits_for", "words"),
    [
        pytest.param("replay .", "roles.broker.launch", "judging the failure again", id="replay"),
        pytest.param(
            "pin-artefacts apache-kafka-4.4.0",
            "commands.pin_artefacts.pin",
            "resolving the artefacts of apache-kafka-4.4.0",
            id="pin-artefacts",
        ),
        pytest.param(
            "record-tables apache-kafka-4.4.0",
            "commands.record_tables.record",
            "recording the version table and default responses of apache-kafka-4.4.0",
            id="record-tables",
        ),
    ],
)
def test_waiting_for_a_target_is_shown_on_a_terminal(
    command: str, waits_for: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that start a target or download for it also show a line; here nothing starts."""

    def in_vain(*_arguments: object) -> None:
        raise HarnessError("nothing starts here")

    texts: dict[str, Any] = dict.fromkeys(("signature", "clause", "property_name", "listener", "message"), "")
    failure = StoredFailure(**texts, target="reference", example="", sent={}, needs_earlier_requests=False)
    monkeypatch.setattr("conformance.commands.replay.read_failure", lambda _path: failure)
    monkeypatch.setattr(f"conformance.{waits_for}", in_vain)
    on_terminal, piped = on_terminal_and_piped(command.split())
    assert on_terminal.exit_code == piped.exit_code == 10, on_terminal.output
    assert words in on_terminal.stderr
    assert words not in piped.output
