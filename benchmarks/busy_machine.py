"""Benchmark of verdicts about clients on a busy machine.

The load must change no verdict that rests on bytes, and no client may be red because of time alone.

`python -m benchmarks.busy_machine` keeps the machine busy with loops, and judges faulty clients of each kind again and
again, the four kinds side by side: one that sends a request outside the table, one with a wrong field, one that hangs,
and one that is right but needs a second of CPU time to start. What bytes show has to be violated in every run. What
time alone shows may be inconclusive, and is never violated while the suite's own client is too slow as well, before a
run and after it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.measures import end_with, quick_option
from fixtures.scripted_broker.playing import PlayPool
from fixtures.under_test.control import load_of_machine, too_slow
from reports.command_line.suite_command import CannotWork, SuiteCommand
from reports.records import HEADER_FILE, VIOLATED_VERDICTS, Verdict
from reports.run.run_folder import complete_runs, run_verdicts
from tests.conformance.suite_runs import REPOSITORY, start_suite

LOOP = ("sh", "-c", "while kill -0 $PPID; do :; done")
"""Ends with this program, however that ends."""
LOOPS = 12
"""Load 20 with the four runs, of which each has two or three plays that want to run at a time."""
RUNS, QUICK_RUNS = 20, 1
MAX_RUN_S = 1_800
RIGHT_CLIENT = REPOSITORY / "tests/conformance/independent_clients/blocking_client.py"
SLOW_START = f"""import runpy, sys, time
while time.process_time() < 1: pass
runpy.run_path({str(RIGHT_CLIENT)!r}, run_name='__main__')
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedKind:
    """A kind of client.

    Attributes:
        name: what is wrong with it.
        clause: the clause that it is judged by.
        client: its id; empty for the one that is right.
        by_bytes: whether bytes show it.
    """

    name: str
    clause: str
    client: str = ""
    by_bytes: bool = False

    def misses(self, verdict: Verdict, *, was_busy: bool) -> bool:
        """Return whether a verdict is one that the machine made."""
        if self.by_bytes:
            return verdict is not Verdict.VIOLATES
        return was_busy and verdict in VIOLATED_VERDICTS


KINDS = (
    JudgedKind(
        name="a request outside the table",
        clause="KIP-35.client-uses-overlap",
        client="model+lowest-version-is-ignored",
        by_bytes=True,
    ),
    JudgedKind(
        name="a wrong field",
        clause="KIP-511.client-name-valid",
        client="model+software-name-has-a-space",
        by_bytes=True,
    ),
    JudgedKind(
        name="hangs",
        clause="KIP-35.client-survives-old-broker",
        client="model+silence-hangs-the-process",
    ),
    JudgedKind(name="right but slow to start", clause="KIP-35.client-falls-back-on-35"),
)


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep the machine busy in the block."""
    running = [subprocess.Popen(LOOP) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def verdict_on(kind: JudgedKind, folder: Path) -> Verdict:
    """Judge a client of a kind in a run of its own, in the smoke tier; return the verdict on its clause."""
    chosen: tuple[str, ...] = ("--client", kind.client)
    if not kind.client:
        program = folder / "slow_start.py"
        program.write_text(SLOW_START)
        chosen = ("--client-cmd", f"{sys.executable} {program} {{bootstrap}} {{timeout}}")
    process = start_suite(*chosen, "--clause", kind.clause, "--tier", "smoke", "-q", runs=folder, every_listener=True)
    output, _ = process.communicate(timeout=MAX_RUN_S)
    for run, header in complete_runs(folder.glob(f"*/{HEADER_FILE}")):
        for key, verdict in run_verdicts(run, header).items():
            if key.clause == kind.clause:
                return verdict
    raise CannotWork(f"a run ended with {process.returncode}: no verdict\n{output[-2000:]}")


def judged(kind: JudgedKind, pool: PlayPool) -> tuple[Verdict, bool]:
    """Judge a kind once; return the verdict, and whether the suite's own client was too slow before and after that."""
    was_busy = bool(too_slow(pool))
    with tempfile.TemporaryDirectory() as folder:
        verdict = verdict_on(kind, Path(folder))
    return verdict, bool(too_slow(pool)) and was_busy


def judged_often(kind: JudgedKind, runs: int) -> list[tuple[Verdict, bool]]:
    """Judge a kind many times, and say each verdict at once: the whole takes half an hour."""
    verdicts = []
    with closing(PlayPool(1)) as pool:
        for _ in range(runs):
            verdicts.append(judged(kind, pool))
            click.echo(f"{kind.name}: {verdicts[-1][0]} ({load_of_machine()})")
    return verdicts


@click.command(cls=SuiteCommand, name="benchmarks.busy_machine")
@click.option("--loops", default=LOOPS, show_default=True, help="how many loops keep the machine busy")
@quick_option
def main(loops: int, quick: bool) -> None:
    """Judge each kind of client on a busy machine; exit with 1 if a verdict is the machine's, and name it."""
    table = Table(title=f"{loops} busy loops, tier smoke", box=None)
    for column in ("client", "verdicts", "with a slow control"):
        table.add_column(column)
    missed: list[str] = []
    runs = QUICK_RUNS if quick else RUNS
    with busy(loops), ThreadPoolExecutor(len(KINDS)) as side_by_side:
        every_found = list(side_by_side.map(judged_often, KINDS, [runs] * len(KINDS)))
    for kind, results in zip(KINDS, every_found, strict=True):
        missed += [
            f"{kind.name}: {verdict}" for verdict, was_busy in results if kind.misses(verdict, was_busy=was_busy)
        ]
        verdicts = Counter(verdict.value for verdict, _ in results)
        slow = sum(was_busy for _, was_busy in results)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        table.add_row(kind.name, counts, f"{slow} of {runs}")
    Console().print(table)
    end_with(missed)


if __name__ == "__main__":
    main()
