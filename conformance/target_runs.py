"""Runs the suite against targets, each in a process of its own, some at a time; what `matrix` does.

A run that is stopped stops its brokers: the processes get the interrupt that Ctrl-C would give them, and are
killed if they do not end.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from clauses.catalogue import catalogue
from conformance.run_facts import SUITE, file_sha256
from fixtures.launchers.watchdog import watchdog
from reports.errors import RunRefused
from reports.exit_status import ExitStatus
from reports.run_folder import Header, read_run_header
from reports.run_writer import suite_facts

POLL_S = 0.1
END_TIMEOUT_S = 20.0
"""An interrupted run ends its broker first; the slowest, a container, took 11 s."""
LAST_LINES = 12
WORDLESS_STATUSES = (0, 1, *ExitStatus)
"""Exit statuses that the records of a run explain; any other is shown with the run's last lines."""
UNFINISHED_STATUSES = (ExitStatus.HARNESS_ERROR, ExitStatus.INCOMPLETE)
"""Another try may tell what these runs could not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRun:
    """One finished run against one target.

    Attributes:
        target: the target's id.
        status: its exit status; negative where a signal ended it.
        folder: its run folder; None where it left none that counts.
        seconds: how long it took; None where it was there before.
        last_lines: the end of its output, where no records explain its status.
    """

    target: str
    status: int
    folder: Path | None
    seconds: float | None = None
    last_lines: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Running:
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    guard: ExitStack
    started: float = field(default_factory=time.monotonic)


def finished_runs(runs: Path, *, tier: str, seed: int | None) -> Mapping[str, TargetRun]:
    """Return the whole runs against single targets below a folder that need not be repeated.

    Args:
        runs: folder of run folders.
        tier: the tier.
        seed: the seed that they have; None where any will do.

    Returns:
        By target, the newest each.
    """
    suite = suite_facts(catalogue())
    found: dict[str, TargetRun] = {}
    for path in sorted(runs.glob("*/run.json")):
        try:
            header = read_run_header(path.parent)
        except RunRefused:
            continue
        asked = header["tier"] == tier and seed in (None, header.get("seed"))
        if asked and _is_done(header) and _is_of(header, suite):
            (target,) = header["targets"]
            found[target["id"]] = TargetRun(
                target=target["id"], status=header["footer"]["exit_status"], folder=path.parent
            )
    return found


def _is_done(header: Header) -> bool:
    """Tell whether a run judged all of one target; older runs do not say so, and are not."""
    return (
        len(header["targets"]) == 1
        and header.get("whole") is True
        and header["footer"]["exit_status"] not in UNFINISHED_STATUSES
    )


def _is_of(header: Header, suite: Mapping[str, str | None]) -> bool:
    """Tell whether a run is of this suite's code and of the target's file as it is now."""
    names = ("version", "catalogue_sha256", "commit", "code_sha256")
    return all(header["suite"].get(name) == suite[name] for name in names) and all(
        target.get("file_sha256") == file_sha256(target["id"]) for target in header["targets"]
    )


class TargetRuns:
    """Runs against targets, `jobs` at a time."""

    def __init__(self, runs: Path, *, options: Sequence[str], jobs: int) -> None:
        """Start nothing yet.

        Args:
            runs: folder for the run folders.
            options: what every run gets behind its target.
            jobs: how many run at a time.
        """
        self._runs = runs
        self._options = options
        self._jobs = jobs
        self._running: dict[str, _Running] = {}

    @property
    def current(self) -> tuple[str, ...]:
        """The targets that are judged at the moment."""
        return tuple(self._running)

    def run(
        self,
        targets: Sequence[str],
        finished: Callable[[TargetRun], None],
        tick: Callable[[], None],
    ) -> None:
        """Run against every target; nothing that was started is left when this returns or raises.

        Args:
            targets: the targets' ids.
            finished: gets each run as it ends.
            tick: called several times a second.
        """
        waiting = list(targets)
        try:
            while waiting or self._running:
                while waiting and len(self._running) < self._jobs:
                    target = waiting.pop(0)
                    self._running[target] = self._start(target)
                for target, running in list(self._running.items()):
                    if running.process.poll() is not None:
                        del self._running[target]
                        finished(self._finish(target, running))
                tick()
                time.sleep(POLL_S)
        finally:
            self._stop()

    def _start(self, target: str) -> _Running:
        command = [sys.executable, "-m", "pytest", str(SUITE), "--broker", target]
        command += ["--runs", str(self._runs), "-q", "-p", "no:cacheprovider", *self._options]
        guard = ExitStack()
        output = guard.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the guard closes it
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=SUITE.parent,
            # Ctrl-C at the terminal reaches this process alone, which then stops its runs one by one.
            start_new_session=True,
        )
        # Should this process be killed, the run ends too, and with it its brokers.
        guard.enter_context(watchdog().guard_process_group(process.pid))
        return _Running(process=process, output=output, guard=guard)

    def _finish(self, target: str, running: _Running) -> TargetRun:
        seconds = time.monotonic() - running.started
        running.output.seek(0)
        lines = running.output.read().decode(errors="replace").splitlines()
        running.guard.close()
        status = running.process.returncode
        prefix = "records: "
        folders = [Path(line.removeprefix(prefix)) for line in lines if line.startswith(prefix)]
        folder = self._whole_folder(folders)
        explained = folder is not None and status in WORDLESS_STATUSES
        return TargetRun(
            target=target,
            status=status,
            folder=folder,
            seconds=seconds,
            last_lines=() if explained else tuple(lines[-LAST_LINES:]),
        )

    def _whole_folder(self, folders: Sequence[Path]) -> Path | None:
        for folder in folders:
            place = SUITE.parent / folder
            try:
                read_run_header(place)
            except RunRefused:
                continue
            return place
        return None

    def _stop(self) -> None:
        for running in self._running.values():
            running.process.send_signal(signal.SIGINT)
        give_up_at = time.monotonic() + END_TIMEOUT_S
        for running in self._running.values():
            try:
                running.process.wait(max(give_up_at - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                running.process.kill()
                running.process.wait()
            running.guard.close()
        self._running.clear()
