"""Runs the suite in several processes, a limited number at a time.

A run that is stopped also stops its brokers: its process gets the same interrupt as from Ctrl-C, and is killed if it
does not end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Generic, TypeVar

from conformance.runs.run_identity import SUITE
from fixtures.cleanup.ending_signals import interrupts_held_back
from fixtures.cleanup.watchdog import watchdog

POLL_S = 0.1
END_TIMEOUT_S = 20.0
"""Time for interrupted runs to end; they stop their brokers first, and the slowest, a container, took 11 s."""

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run of the suite that has ended.

    Attributes:
        status: its exit status; negative if a signal ended it.
        seconds: how long it took.
        lines: its output.
    """

    status: int
    seconds: float
    lines: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class RunningSuite:
    """A run of the suite that is in progress.

    Attributes:
        process: its process.
        output: the file that it writes to.
        guard: ends what guards the process.
        started: when it was started.
    """

    process: subprocess.Popen[bytes]
    output: IO[bytes]
    guard: ExitStack
    started: float = field(default_factory=time.monotonic)


def start_suite(options: Sequence[str], environment: Mapping[str, str]) -> RunningSuite:
    """Start a run of the suite.

    Args:
        options: those of pytest that it has besides the usual ones.
        environment: all variables that it gets.
    """
    command = [sys.executable, "-m", "pytest", str(SUITE), "-q", "-p", "no:cacheprovider"]
    guard = ExitStack()
    output = guard.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the guard closes it
    process = subprocess.Popen(
        [*command, *options],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=SUITE.parent,
        env=environment,
        # Ctrl-C at the terminal then reaches this process only, which stops its runs itself.
        start_new_session=True,
    )
    # If this process is killed, the run ends too, and so do its brokers.
    guard.enter_context(watchdog().guard_process_group(process.pid))
    return RunningSuite(process=process, output=output, guard=guard)


class SuiteProcesses(Generic[Name]):
    """Runs of the suite by name, `jobs` at a time."""

    def __init__(
        self,
        *,
        jobs: int,
        variables: Mapping[str, str] | None = None,
        start: Callable[[Sequence[str], Mapping[str, str]], RunningSuite] = start_suite,
    ) -> None:
        """Set up without starting a run.

        Args:
            jobs: how many runs there may be at a time.
            variables: what the runs get besides this process's own variables.
            start: starts a run with options and variables.
        """
        self._jobs = jobs
        self._start = start
        self._environment = {**os.environ, **(variables or {})}
        self._running: dict[Name, RunningSuite] = {}

    @property
    def current(self) -> tuple[Name, ...]:
        """The runs in progress."""
        return tuple(self._running)

    def run(
        self,
        options: Mapping[Name, Sequence[str]],
        ended: Callable[[Name, EndedRun], None],
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """Do all runs, and end every process, even if an error is raised.

        `tick` is called several times a second.
        """
        waiting = list(options)
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self._jobs:
                    name = waiting.pop(0)
                    with interrupts_held_back():
                        self._running[name] = self._start(options[name], self._environment)
                for name, running in list(self._running.items()):
                    if running.process.poll() is not None:
                        del self._running[name]
                        ended(name, _end_of(running))
                tick()
                time.sleep(POLL_S)
        finally:
            self._stop()

    def _stop(self) -> None:
        for running in self._running.values():
            # Not SIGINT, which a shell ignores in the background, and so do the runs.
            running.process.send_signal(signal.SIGTERM)
        give_up_at = time.monotonic() + END_TIMEOUT_S
        for running in self._running.values():
            try:
                running.process.wait(max(give_up_at - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                running.process.kill()
                running.process.wait()
            running.guard.close()
        self._running.clear()


def _end_of(running: RunningSuite) -> EndedRun:
    seconds = time.monotonic() - running.started
    running.output.seek(0)
    lines = running.output.read().decode(errors="replace").splitlines()
    running.guard.close()
    return EndedRun(status=running.process.returncode, seconds=seconds, lines=tuple(lines))
