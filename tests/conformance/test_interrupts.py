"""A dropped interrupt is raised again, and an unfinished run never exits with 1.

What it has judged is kept, and nothing is left running.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import psutil  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.engine import drawing, run_ends
from conformance.roles.plugin import pytest_keyboard_interrupt
from conformance.runs.suite_processes import SuiteProcesses
from fixtures.cleanup.ending_signals import (
    AGAIN_AFTER_S,
    ENDING_SIGNALS,
    Interrupts,
    interrupts_held_back,
)
from fixtures.launchers import process as process_launcher
from fixtures.launchers.process import launch_process
from fixtures.registry.targets import select_targets
from tests.conformance import interrupted_in_a_hook
from tests.conformance.fake_targets import FakeTarget, serve, turning
from tests.conformance.suite_runs import (
    REPOSITORY,
    TIME_LIMIT_S,
    SuiteRun,
    await_line,
    children_of,
    finish,
    run_suite,
    start_suite,
    survivors,
)


@pytest.mark.parametrize("number", ENDING_SIGNALS, ids=lambda number: number.name)
def test_an_interrupt_that_was_dropped_is_raised_again(number: signal.Signals) -> None:
    """`check` raises it again, whatever happened to the first exception; so for every signal that ends a run."""
    interrupts = Interrupts()
    interrupts.handle()
    interrupts.check()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    with pytest.raises(KeyboardInterrupt):
        interrupts.check()


def test_a_second_interrupt_does_not_end_what_the_first_one_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not before a while: whoever sees no end may ask again."""
    interrupts = Interrupts()
    interrupts.handle()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    later = time.monotonic() + AGAIN_AFTER_S
    monkeypatch.setattr(time, "monotonic", lambda: later)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_is_raised_again_has_time_as_well() -> None:
    """A second one does not end what it began."""
    interrupts = Interrupts()
    interrupts.handle()
    interrupts.came = True
    with pytest.raises(KeyboardInterrupt):
        interrupts.check()
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_in_code_that_was_a_text_keeps_the_exit_status(tmp_path: Path) -> None:
    """`python -m` takes it for unhandled, whatever handled it."""
    program = """
from fixtures.cleanup.ending_signals import keep_exit_status
try:
    exec("raise KeyboardInterrupt")
except KeyboardInterrupt:
    keep_exit_status()
raise SystemExit(2)
"""
    (tmp_path / "program.py").write_text(program)
    ended = subprocess.run(
        [sys.executable, "-m", "program"],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert ended.returncode == 2


def test_an_interrupt_during_a_garbage_collection_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised during the collection it would be dropped, and reported at the end of the run."""
    interrupts = Interrupts()
    interrupts.handle()

    def collecting(_phase: str, _info: dict[str, int]) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    dropped: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", dropped.append)
    gc.callbacks.append(collecting)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(collecting)
    assert dropped == []
    with pytest.raises(KeyboardInterrupt):
        interrupts.check()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_that_is_ignored_stays_ignored(number: signal.Signals) -> None:
    """A run that `nohup` started survives its terminal, and one in the background of a shell its Ctrl-C."""
    signal.signal(number, signal.SIG_IGN)
    interrupts = Interrupts()
    interrupts.handle()
    signal.raise_signal(number)
    interrupts.check()


@pytest.mark.parametrize("number", ENDING_SIGNALS, ids=lambda number: number.name)
def test_an_interrupt_is_held_back_for_a_block(number: signal.Signals) -> None:
    Interrupts().handle()
    reached = []

    def start() -> None:
        with interrupts_held_back():
            signal.raise_signal(number)
            reached.append(number)

    with pytest.raises(KeyboardInterrupt):
        start()
    assert reached == [number]


def test_an_interrupt_that_was_dropped_ends_shrinking(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts = Interrupts()
    interrupts.handle()
    monkeypatch.setattr(drawing, "INTERRUPTS", interrupts)
    failed = 0

    def fail_above_ten(value: int) -> None:
        nonlocal failed
        if value > 10:
            failed += 1
            if failed == 3:
                with suppress(KeyboardInterrupt):
                    signal.raise_signal(signal.SIGINT)
            raise AssertionError

    test = settings(database=None)(given(value=st.integers())(fail_above_ten))
    with (
        drawing.examples_go_to(lambda body, values: body(**values), test),
        pytest.raises(KeyboardInterrupt),
    ):
        test()
    assert failed == 3


def test_interrupt_is_shown_where_it_came() -> None:
    """A traceback of a hundred entries takes pytest seconds, while the user waits."""
    interrupts = Interrupts()
    interrupts.handle()
    with pytest.raises(KeyboardInterrupt) as caught:
        signal.raise_signal(signal.SIGINT)
    assert len(caught.traceback) > 1
    pytest_keyboard_interrupt(caught)
    assert len(caught.traceback) == 1


@pytest.mark.parametrize(
    ("error", "came", "status"),
    [
        pytest.param(pytest.UsageError("no such target"), False, 4, id="usage"),
        pytest.param(BrokenPipeError(), False, 10, id="pipe"),
        pytest.param(OSError(28, "full"), False, 10, id="disk"),
        pytest.param(ValueError(), False, 10, id="bug"),
        pytest.param(ValueError(), True, 2, id="after-an-interrupt"),
        pytest.param(KeyboardInterrupt(), True, 2, id="interrupt"),
    ],
)
def test_what_leaves_pytest_is_no_violation(
    error: BaseException, came: bool, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever pytest raises instead of ending the run itself."""
    monkeypatch.setattr(run_ends, "discard_output", Mock())
    monkeypatch.setattr(run_ends, "INTERRUPTS", Mock(came=came))
    run = run_ends.pytest_cmdline_main()
    next(run)
    with pytest.raises(StopIteration) as ended:
        run.throw(error)
    assert ended.value.value == status


def test_cache_that_cannot_be_written_is_no_fault() -> None:
    """In a read-only folder, or on a full disk."""
    warnings.warn(pytest.PytestCacheWarning("could not create"), stacklevel=1)


def test_interrupt_while_a_run_is_started_ends_that_run() -> None:
    started = Mock()

    def start(*_: object) -> Mock:
        signal.raise_signal(signal.SIGINT)
        return started

    with pytest.raises(KeyboardInterrupt):
        SuiteProcesses[str](jobs=1, start=start).run({"one": []}, Mock())
    started.process.send_signal.assert_called_once_with(signal.SIGTERM)


INTERRUPTED = 2
MAX_S = 30.0
"""Seconds from Ctrl-C to the end that no loaded machine needs. Idle: 0.7 to 1.9 s, and 4.2 s in the deep tier's
sweep of all versions; the goal is 5 s."""
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
    assert took_s <= MAX_S
    assert "the run was interrupted, so the grid will leave out its folder" in run.output
    assert run.rows()
    assert "footer" not in run.header
    assert survivors(children) == []


def test_interrupt_inside_a_hook_of_another_plugin_is_one(tmp_path: Path) -> None:
    options = ("--broker", "reference", "-k", "v0_is_served", "-p", interrupted_in_a_hook.__name__)
    run = run_suite(*options, runs=tmp_path / "runs")
    assert run.status == INTERRUPTED
    assert "the run was interrupted, so the grid will leave out its folder" in run.output


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
    assert took_s <= MAX_S


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
    assert time.monotonic() - interrupted_at <= MAX_S
    ending = [each for each in psutil.process_iter(["cmdline"]) if str(java) in _words(each)]
    # A child of the stand-in that was killed with it may need a moment to end.
    _, alive = psutil.wait_procs(ending, timeout=MAX_S)
    assert alive == []


def _words(process: psutil.Process) -> list[str]:
    return process.info["cmdline"] or []
