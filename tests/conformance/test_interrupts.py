"""An interrupt is raised, and raised again if it was dropped; a run that does not come to its end never ends with 1."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

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
from tests.conformance.suite_runs import REPOSITORY


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
    """It is raised at the end of the block."""
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
    """It is raised before the next smaller example, and Hypothesis goes no further."""
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


def test_interrupt_while_a_run_is_started_ends_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes once the run is known, and can be ended."""
    started = Mock()

    def start(_self: object, _options: object) -> Mock:
        signal.raise_signal(signal.SIGINT)
        return started

    monkeypatch.setattr(SuiteProcesses, "_start", start)
    with pytest.raises(KeyboardInterrupt):
        SuiteProcesses[str](jobs=1).run({"one": []}, Mock())
    started.process.send_signal.assert_called_once_with(signal.SIGTERM)
