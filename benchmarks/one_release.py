"""What a change costs: one release, judged by the suites of two commits in turns.

`python -m benchmarks.one_release OLD NEW` checks out both commits, installs each in an environment of its own, and
judges the target by both, three times, with one seed. Seconds depend on the machine, so the result is the ratio of the
medians.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import psutil  # type: ignore[import-untyped]
import pyarrow.dataset
from rich.console import Console
from rich.table import Table

from benchmarks.measures import Goal, end_with, missed_goals, quick_option
from fixtures.registry.targets import newest_release
from reports.command_line.suite_command import CannotWork, SuiteCommand
from tests.conformance.suite_runs import REPOSITORY

SEED = ("--hypothesis-seed", "1")
PAIRS, QUICK_PAIRS = 3, 1
LOOKS_EVERY_S = 0.2
GOAL = Goal(name="new / old", most=1.15)
"""A higher ratio is a finding."""
TCP_COUNTERS = Path("/proc/net/snmp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The suite of a commit, installed.

    Attributes:
        commit: the commit, as it was given.
        tree: its files, with their environment.
    """

    commit: str
    tree: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseCost:
    """What one run cost.

    Attributes:
        wall_s: how long it took.
        suite_s: the processor time of the suite, in seconds.
        target_s: that of the target and whatever else is no Python.
        connections: how many connections the machine opened meanwhile.
        examples: how many examples were recorded.
    """

    wall_s: float
    suite_s: float
    target_s: float
    connections: int
    examples: int


@contextmanager
def installed(commit: str) -> Iterator[Suite]:
    """Check out a commit and install it; take both away afterwards.

    Raises:
        CannotWork: there is no such commit, or it cannot be installed.
    """
    with tempfile.TemporaryDirectory(prefix="one-release-") as folder:
        tree = Path(folder) / "tree"
        _run("git", "worktree", "add", "--quiet", "--detach", str(tree), commit, where=REPOSITORY)
        try:
            _run(sys.executable, "-m", "venv", ".venv", where=tree)
            pip = (".venv/bin/pip", "install", "-q", "--no-deps")
            _run(*pip, "--require-hashes", "-r", "requirements/run.txt", where=tree)
            _run(*pip, "--no-build-isolation", "-e", ".", where=tree)
            yield Suite(commit=commit, tree=tree)
        finally:
            _run("git", "worktree", "remove", "--force", str(tree), where=REPOSITORY)


def _run(*command: str, where: Path) -> None:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotWork(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")


def opened_connections() -> int:
    """Return how many TCP connections this machine has opened so far."""
    names, values = (line.split() for line in TCP_COUNTERS.read_text().splitlines() if line.startswith("Tcp:"))
    return int(values[names.index("ActiveOpens")])


def judged(suite: Suite, target: str, runs: Path, *options: str) -> ReleaseCost:
    """Judge a target by a suite in a run of its own; return what that cost.

    Raises:
        CannotWork: the run did not judge everything that it planned.
    """
    command = (".venv/bin/python", "-m", "pytest", "conformance", "-q", "-p", "no:cacheprovider")
    chosen = ("--broker", target, "--launcher", "process", *SEED, *options)
    log, connections, started = runs / "log.txt", opened_connections(), time.monotonic()
    runs.mkdir(parents=True)
    with log.open("w") as output:
        process = psutil.Popen(
            [*command, *chosen, "--runs", str(runs)],
            cwd=suite.tree,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "KAFKA_CONFORMANCE_PROFILE": "ci"},
        )
        try:
            used = _processor_time(process)
        finally:
            # If this program is interrupted; what the run has started ends with it.
            if process.poll() is None:
                process.kill()
    wall_s = time.monotonic() - started
    if process.returncode not in (0, 1):
        raise CannotWork(f"{log.read_text()}\n{suite.commit} ended with {process.returncode}: no measure")
    (examples,) = runs.glob("*/examples")
    return ReleaseCost(
        wall_s=wall_s,
        suite_s=sum(seconds for is_suite, seconds in used if is_suite),
        target_s=sum(seconds for is_suite, seconds in used if not is_suite),
        connections=opened_connections() - connections,
        examples=pyarrow.dataset.dataset(examples).count_rows(),
    )


def _processor_time(process: psutil.Popen) -> Sequence[tuple[bool, float]]:
    """Wait for a run to end and return the processor time of each of its processes.

    Each time comes with a flag: whether the process is the suite's own.
    """
    used: dict[psutil.Process, tuple[bool, float]] = {}
    while process.poll() is None:
        for member in (process, *process.children(recursive=True)):
            try:
                times = member.cpu_times()
                used[member] = ("python" in member.name(), times.user + times.system)
            except psutil.Error:
                continue
        try:
            process.wait(LOOKS_EVERY_S)
        except psutil.TimeoutExpired:
            continue
    return tuple(used.values())


def table_of(costs: dict[str, list[ReleaseCost]]) -> Table:
    """Return a row per suite, with medians, and the ratio of wall times to that of the old one."""
    table = Table(box=None)
    for column in ("suite", "wall, s", "suite's CPU, s", "target's CPU, s"):
        table.add_column(column)
    for column in ("connections", "examples", "wall / old"):
        table.add_column(column)
    old = next(iter(costs.values()))
    for name, runs in costs.items():
        walls = sorted(each.wall_s for each in runs)
        table.add_row(
            name,
            f"{statistics.median(walls):.1f} ({walls[0]:.1f} to {walls[-1]:.1f})",
            f"{statistics.median(each.suite_s for each in runs):.1f}",
            f"{statistics.median(each.target_s for each in runs):.1f}",
            f"{statistics.median(each.connections for each in runs):,.0f}",
            f"{statistics.median(each.examples for each in runs):,.0f}",
            f"{ratio(old, runs):.2f}",
        )
    return table


def ratio(old: Sequence[ReleaseCost], new: Sequence[ReleaseCost]) -> float:
    """Return how many times as long the new runs took as the old ones, by their medians."""
    return statistics.median(each.wall_s for each in new) / statistics.median(each.wall_s for each in old)


@click.command(cls=SuiteCommand, name="benchmarks.one_release")
@click.argument("old")
@click.argument("new")
@click.option("--broker", "target", help="What is judged; default: the newest release.")
@click.option("--tier", default="standard", show_default=True)
@click.option("--most", default=GOAL.most, show_default=True, help="The highest ratio to pass.")
@quick_option
def main(old: str, new: str, target: str | None, tier: str, most: float, quick: bool) -> None:
    """Judge a release by the suites of two commits in turns; exit with 1 if the new one takes longer than it may."""
    chosen = target or newest_release().id
    costs: dict[str, list[ReleaseCost]] = {}
    with ExitStack() as opened, tempfile.TemporaryDirectory(prefix="one-release-") as records:
        suites = [opened.enter_context(installed(commit)) for commit in (old, new)]
        for pair in range(QUICK_PAIRS if quick else PAIRS):
            for suite, role in zip(suites, ("old", "new"), strict=True):
                name = f"{role}: {suite.commit}"
                cost = judged(suite, chosen, Path(records) / f"{pair}-{role}", "--tier", tier)
                costs.setdefault(name, []).append(cost)
                click.echo(f"{name}: {cost.wall_s:.1f} s")
    click.echo(f"{chosen}, {tier}, {os.cpu_count()} cores")
    Console(width=120).print(table_of(costs))
    goal = Goal(name=GOAL.name, most=most)
    end_with(missed_goals([(goal, ratio(*costs.values()))]))


if __name__ == "__main__":
    main()
