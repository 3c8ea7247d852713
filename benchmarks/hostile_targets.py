"""Benchmark of targets that violate everything, against a healthy target.

It measures time and memory as ratios to the healthy target in the same tier.

`python -m benchmarks.hostile_targets [TIER]` judges fakes one after the other: each answers the run's first questions
properly and then turns. A run may take at most three times as long as that on a healthy target with the same listener,
and twice its memory. Where a healthy one takes little more than its start, in the smoke tier, three times that would be
less than what a target may keep us waiting for (`fixtures.client.patience`). There it may take the patience of its tier
longer, and the wait in which that ends. A target that answers nothing may take five times as long: it may only pause,
so it is asked again before and after each step of a judgement. A run that takes more is tried again, each time together
with a healthy one: a machine with other work to do is slow for a while, a suite that waits too long is so always.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.measures import end_with, quick_option
from clauses.tiers import Tier
from fixtures.client.patience import PATIENCE_S
from reports.command_line.suite_command import CannotWork, SuiteCommand
from tests.conformance import tls_target
from tests.conformance.fake_targets import (
    Behaviour,
    announce_more_than_comes,
    answer_bombs,
    answer_flexible_bombs,
    answer_garbage,
    answer_http,
    answer_nothing,
    answering_tables,
    behind_tls,
    close_at_once,
    flood,
    in_turn,
    reference_behaviour,
    serve,
    trickling,
    turning,
    turning_behind_tls,
)
from tests.conformance.suite_runs import drain, start_suite

TIER = Tier.SMOKE
MAX_TIMES_AS_LONG = 3
MAX_TIMES_IF_SILENT = 5
LAST_WAIT_S = 4.0
"""The wait under way when patience ends took 3.5 s: a request that may wait for a disk, and the probes after it."""
MAX_TIMES_THE_MEMORY = 2
POLL_S = 0.05
MAX_TRIES = 3
ON_TLS = ("-p", tls_target.__name__, "--listener", "ssl")
HOSTILE: Mapping[str, Behaviour] = {
    "closes at once": close_at_once,
    "answers nothing": answer_nothing,
    "answers garbage": answer_garbage,
    "answers as a web server": answer_http,
    "floods": flood,
    "a byte every 0.3 s": trickling(0.3),
    "a byte every second": trickling(1),
    "announces 2 GiB": announce_more_than_comes,
    "counts of 2^31 - 1": answer_bombs,
    "the same as varints": answer_flexible_bombs,
    "tables of 16 MiB": answering_tables(16 << 20),
    "tables of 50 kB": answering_tables(50_000),
    "tables of 20 kB": answering_tables(20_000),
}
HOSTILE_ON_TLS: Mapping[str, Behaviour] = {
    "TLS: closes before it": close_at_once,
    "TLS: leaves handshakes open": answer_nothing,
    "TLS: leaves every other one open": in_turn(answer_nothing, behind_tls(reference_behaviour())),
    "TLS: garbage for a handshake": answer_garbage,
    "TLS: closes inside": behind_tls(close_at_once),
    "TLS: answers nothing": behind_tls(answer_nothing),
    "TLS: answers garbage": behind_tls(answer_garbage),
    "TLS: floods": behind_tls(flood),
    "TLS: counts of 2^31 - 1": behind_tls(answer_bombs),
}
SILENT = ("answers nothing", "TLS: answers nothing")
QUICK = ("answers nothing", "a byte every 0.3 s", "tables of 16 MiB", "TLS: leaves handshakes open")
"""One for each way in which a target costs most: silence, bytes that keep coming, memory, and no TLS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run cost.

    Attributes:
        status: its exit status.
        seconds: its duration.
        mib: its process's peak memory.
    """

    status: int
    seconds: float
    mib: float


def cost_of(behaviour: Behaviour, *options: str) -> Cost:
    """Judge a fake target with further options of the suite, and return the cost."""
    with tempfile.TemporaryDirectory() as runs, serve(behaviour) as target:
        started = time.monotonic()
        process = start_suite(*("--bootstrap-server", target.address, *options, "-q"), runs=Path(runs))
        drain(process)
        mib = 0.0
        while process.poll() is None:
            # The last one counts: before the process has begun its program it is a copy of this one.
            mib = peak_mib(process.pid) or mib
            time.sleep(POLL_S)
        seconds = time.monotonic() - started
    return Cost(status=process.returncode, seconds=seconds, mib=mib)


def peak_mib(process_id: int) -> float:
    """Return the most memory that a process has had; 0 where it has ended.

    What the system counts for a process that has ended would include what this one had when it started it.
    """
    with contextlib.suppress(OSError):
        match = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process_id}/status").read_text())
        return 0.0 if match is None else int(match[1]) / 1024
    return 0.0


def healthy_cost(behaviour: Behaviour, *options: str) -> Cost:
    """Judge a fake that violates nothing."""
    cost = cost_of(behaviour, *options)
    if cost.status:
        raise CannotWork(f"the run on the healthy target ended with {cost.status}: no measure")
    return cost


class Bounds:
    """The costs of runs on hostile targets compared with a healthy one, row by row.

    Attributes:
        patience_s: how long a target may keep a run of the tier waiting.
        table: the rows.
        broken: names of the targets that exceeded their bounds.
    """

    def __init__(self, tier: Tier) -> None:
        self.patience_s = PATIENCE_S[tier]
        self.table = Table(title=f"tier {tier}", box=None)
        self.broken: list[str] = []
        for column in ("target", "exit status", "seconds", "times healthy", "MiB", "bounds"):
            justify = "left" if column in ("target", "bounds") else "right"
            self.table.add_column(column, justify=justify)  # type: ignore[arg-type]

    def add(self, name: str, cost: Cost, healthy: Cost) -> None:
        """Add the row of one run."""
        holds = is_bounded(name, cost, healthy, self.patience_s)
        if not holds:
            self.broken.append(name)
        ratio = cost.seconds / healthy.seconds
        numbers = (str(cost.status), f"{cost.seconds:.1f}", f"{ratio:.1f}", f"{cost.mib:.0f}")
        self.table.add_row(name, *numbers, "kept" if holds else "BROKEN")


def is_bounded(name: str, cost: Cost, healthy: Cost, patience_s: float) -> bool:
    """Return whether a run stayed within the bounds of its target."""
    waited = healthy.seconds + patience_s + LAST_WAIT_S
    times = MAX_TIMES_IF_SILENT if name in SILENT else MAX_TIMES_AS_LONG
    most = max(times * healthy.seconds, waited)
    return cost.seconds <= most and cost.mib <= MAX_TIMES_THE_MEMORY * healthy.mib


def measure(bounds: Bounds, hostile: Mapping[str, Behaviour], tier: Tier, *, on_tls: bool) -> None:
    """Judge a healthy target, and hostile ones that start out healthy."""
    turn: Callable[[Behaviour], Behaviour] = turning
    name, proper = "healthy", reference_behaviour()
    options: tuple[str, ...] = ("--tier", tier)
    if on_tls:
        turn = turning_behind_tls
        name, proper = "TLS: healthy", behind_tls(proper)
        options += ON_TLS
    healthy = healthy_cost(proper, *options)
    bounds.add(name, healthy, healthy)
    for name, behaviour in hostile.items():
        reference, cost = healthy, cost_of(turn(behaviour), *options)
        for _ in range(1, MAX_TRIES):
            if is_bounded(name, cost, reference, bounds.patience_s):
                break
            reference, cost = healthy_cost(proper, *options), cost_of(turn(behaviour), *options)
        bounds.add(name, cost, reference)


@click.command(cls=SuiteCommand, name="benchmarks.hostile_targets")
@click.argument("tier", type=click.Choice(tuple(map(str, Tier))), default=str(TIER))
@quick_option
def main(tier: str, quick: bool) -> None:
    """Measure every fake and print a row for each; exit with 1 if any costs too much, and name it."""
    bounds = Bounds(Tier(tier))
    for hostile, on_tls in ((HOSTILE, False), (HOSTILE_ON_TLS, True)):
        chosen = {name: each for name, each in hostile.items() if not quick or name in QUICK}
        measure(bounds, chosen, Tier(tier), on_tls=on_tls)
    Console().print(bounds.table)
    end_with(bounds.broken)


if __name__ == "__main__":
    main()
