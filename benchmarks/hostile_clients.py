"""Benchmark of clients that never behave, against a healthy client.

It measures time, memory and the end after Ctrl-C as ratios to the healthy client in the smoke tier.

`python -m benchmarks.hostile_clients` judges programs one after the other. A run may take at most three times as long
as that of a client that connects, works and ends, and twice its memory, that of the client and of what it starts
included; Ctrl-C ends it within five seconds. Two limits are others, because they follow from what a client is allowed:
each play of one that never ends lasts to its deadline of ten seconds, and a client may take `MEMORY_MB` before it is
ended.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.measures import Goal, end_with, missed_goals, peak_memory, quick_option
from reports.command_line.suite_command import CannotWork, SuiteCommand
from tests.conformance.suite_runs import REPOSITORY, drain, start_suite

TIME_GOAL = Goal(name="time", most=3)
MEMORY_GOAL = Goal(name="memory", most=2)
NEVER_ENDS_GOAL = Goal(name="time", most=180, unit="s")
TAKES_MEMORY_GOAL = Goal(name="memory", most=3)
END_GOAL = Goal(name="end after Ctrl-C", most=5, unit="s")
INTERRUPTED_AFTER_S = 8.0
MAX_RUN_S = 1_800
JUDGED = (0, 1, 10)
"""Exit statuses of runs that went to their end; with 10 some cells are inconclusive."""
HEALTHY = "tests/conformance/independent_clients/blocking_client.py"
CONNECT = f"""import os, socket, subprocess, sys, time
if subprocess.call([sys.executable, {str(REPOSITORY / HEALTHY)!r}, *sys.argv[1:]]) == 0:
    sys.exit(0)
host, port = sys.argv[1].split(':')
s = socket.create_connection((host, int(port)))
"""
"""How each hostile program begins: it works with a healthy broker, so that the run goes on, and turns with any
other."""
FRAME = "(b'\\x00\\x12\\x00\\x00\\x00\\x00\\x00\\x07\\xff\\xff')"
NEVER_END = ("connections without a pause", "output without a pause", "never ends")
TAKES_MEMORY = "memory without a limit"
HOSTILE: Mapping[str, str] = {
    "requests of 1 MiB": CONNECT
    + "body = b'\\0\\x12\\0\\3' + bytes(2**20 - 4)\nwhile True: s.sendall(len(body).to_bytes(4, 'big') + body)",
    "requests without a pause": CONNECT
    + f"body = {FRAME}\nwhile True: s.sendall((len(body).to_bytes(4, 'big') + body) * 1000)",
    "connections without a pause": CONNECT + "while True: s = socket.create_connection((host, int(port)))",
    "output without a pause": CONNECT + "while True: os.write(1, b'x' * 65535 + b'\\n')",
    TAKES_MEMORY: CONNECT + "held = []\nwhile True: held.append(b'x' * 2**24)",
    "never ends": CONNECT + "time.sleep(3600)",
    "leaves daemons": CONNECT
    + "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(3600)\n    os._exit(0)",
}
CALLED = "{bootstrap} {timeout}"
QUICK = ("requests of 1 MiB", "leaves daemons")


def cost_of(command: str) -> tuple[float, float]:
    """Judge a command in the smoke tier; return seconds, and the most memory of the whole in GiB."""
    with tempfile.TemporaryDirectory() as runs, peak_memory() as peak:
        started = time.monotonic()
        process = start_suite(*_arguments(command), runs=Path(runs), every_listener=True)
        process.communicate(timeout=MAX_RUN_S)
        if process.returncode not in JUDGED:
            raise CannotWork(f"a run ended with {process.returncode}: no measure")
        return time.monotonic() - started, peak.gib


def seconds_to_end(command: str) -> float:
    """Judge a command, press Ctrl-C in the middle, and return how long the run takes to end."""
    with tempfile.TemporaryDirectory() as runs:
        process = start_suite(*_arguments(command), runs=Path(runs), every_listener=True)
        drain(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise CannotWork(f"a run ended with {process.wait(INTERRUPTED_AFTER_S)} before Ctrl-C: no measure")
        interrupted = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(MAX_RUN_S)
        return time.monotonic() - interrupted


def _arguments(command: str) -> tuple[str, ...]:
    return ("--client-cmd", command, "--tier", "smoke", "-q")


@click.command(cls=SuiteCommand, name="benchmarks.hostile_clients")
@quick_option
def main(quick: bool) -> None:
    """Measure every program and print a row for each; exit with 1 if any costs too much, and name it."""
    table = Table(title="tier smoke", box=None)
    for column in ("client", "seconds", "times healthy", "MiB", "times healthy", "Ctrl-C, s"):
        table.add_column(column, justify="left" if column == "client" else "right")
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as programs:
        commands = {"healthy": f"{sys.executable} {REPOSITORY / HEALTHY} {CALLED}"}
        for name, source in HOSTILE.items():
            if not quick or name in QUICK:
                program = Path(programs, name.replace(" ", "-") + ".py")
                program.write_text(source)
                commands[name] = f"{sys.executable} {program} {CALLED}"
        healthy: tuple[float, float] | None = None
        for name, command in commands.items():
            seconds, gib = cost_of(command)
            healthy = healthy or (seconds, gib)
            end = seconds_to_end(command)
            ratios = (seconds / healthy[0], gib / healthy[1])
            figures = (
                (NEVER_ENDS_GOAL, seconds) if name in NEVER_END else (TIME_GOAL, ratios[0]),
                (TAKES_MEMORY_GOAL if name == TAKES_MEMORY else MEMORY_GOAL, ratios[1]),
                (END_GOAL, end),
            )
            missed += [f"{name}: {each}" for each in missed_goals(figures)]
            cells = (seconds, ratios[0], gib * 1024, ratios[1], end)
            table.add_row(name, *(f"{each:.1f}" for each in cells))
    Console().print(table)
    end_with(missed)


if __name__ == "__main__":
    main()
