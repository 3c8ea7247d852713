"""Interrupted runs: what is kept, and that nothing is left running."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from fixtures.launchers import process as process_launcher
from fixtures.launchers.process import launch_process
from fixtures.registry.targets import select_targets
from tests.conformance.fake_targets import FakeTarget, serve, turning
from tests.conformance.suite_runs import (
    TIME_LIMIT_S,
    SuiteRun,
    await_line,
    children_of,
    finish,
    start_suite,
    survivors,
)

INTERRUPTED = 2
MOST_S = 30.0
"""Seconds from Ctrl-C to the end that no loaded machine needs. Idle: 0.7 to 1.9 s, and 4.2 s in the deep tier's sweep of
all versions; the goal is 5 s."""
SLEEPING_JAVA = """#!/bin/sh
case "$*" in
*-version*) echo 'openjdk version "21"' >&2; exit ;;
esac
trap '' INT TERM
echo started > {started}
while :; do sleep 60; done
"""


def interrupt(process: subprocess.Popen[str]) -> tuple[SuiteRun, float]:
    """Give a run what Ctrl-C would give it; returns how it ended, and after how many seconds."""
    began_at = time.monotonic()
    process.send_signal(signal.SIGINT)
    run = finish(process)
    return run, time.monotonic() - began_at


def test_interrupted_run_keeps_rows_without_a_footer(tmp_path: Path) -> None:
    """Ctrl-C ends the run with 2: its rows are kept, it has no footer, and no process is left."""
    runs = tmp_path / "runs"
    process = start_suite("--broker", "reference", "-v", runs=runs)
    await_line(process, "PASSED")
    children = children_of(process)
    assert children
    run, took_s = interrupt(process)
    assert run.status == INTERRUPTED
    assert took_s <= MOST_S
    assert "the run was interrupted, so the grid will leave out its folder" in run.output
    assert run.rows()
    assert "footer" not in run.header
    assert survivors(children) == []


@pytest.mark.slow
def test_interrupt_while_a_target_is_silent_ends_the_run(tmp_path: Path) -> None:
    """What a target may still keep the run waiting for is not waited for."""
    asked = threading.Event()

    def say_nothing(target: FakeTarget, connection: socket.socket) -> None:
        for _ in target.reads(connection):
            asked.set()

    with serve(turning(say_nothing)) as target:
        process = start_suite("--bootstrap-server", target.address, runs=tmp_path / "runs")
        assert asked.wait(TIME_LIMIT_S)
        run, took_s = interrupt(process)
    assert run.status == INTERRUPTED
    assert took_s <= MOST_S


def test_interrupt_while_a_target_is_launched_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that does not become ready, and heeds no signal, is killed at once, and so is its ZooKeeper."""
    home, started = tmp_path / "home", tmp_path / "started"
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(SLEEPING_JAVA.format(started=started))
    java.chmod(0o755)
    os.mkfifo(started)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setattr(process_launcher, "fetch_jars", lambda target: {})
    (target,) = select_targets(["apache-kafka-0.10.0.1"])
    interrupted_at = 0.0

    def interrupt_launch() -> None:
        nonlocal interrupted_at
        # Opened for writing too, or it would end between the lines of ZooKeeper and of the broker.
        with started.open("r+b", buffering=0) as pipe:
            for _ in range(2):
                pipe.readline()
        interrupted_at = time.monotonic()
        signal.pthread_kill(main, signal.SIGINT)

    main = threading.get_ident()
    with ThreadPoolExecutor(1) as pool:
        interrupting = pool.submit(interrupt_launch)
        with pytest.raises(KeyboardInterrupt), launch_process(target):
            pass
        interrupting.result()
    assert time.monotonic() - interrupted_at <= MOST_S
    ending = [each for each in psutil.process_iter(["cmdline"]) if str(java) in _words(each)]
    # A child of the stand-in that was killed with it may need a moment to end.
    _, alive = psutil.wait_procs(ending, timeout=MOST_S)
    assert alive == []


def _words(process: psutil.Process) -> list[str]:
    return process.info["cmdline"] or []
