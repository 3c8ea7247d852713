"""Benchmark of the cost of distance.

It judges a target near and far, with one process and with as many processes as the distance deserves.

`python -m benchmarks.far_targets [TARGET]` starts the target once, with a proxy before it that delays both directions
(`benchmarks.distance`). All runs have one seed. The verdicts must be the same near and far; the figures are ratios of
one run of the benchmark, because seconds depend on the machine. The goals are seconds on an idle machine with two
cores.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from benchmarks.distance import ROUND_TRIP_MS
from benchmarks.measures import Goal, last_line, missed_goals, quick_option
from fixtures.client.addresses import Address
from fixtures.launchers import launch
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.targets import newest_release, select_targets
from reports.command_line.suite_command import CannotWork, SuiteCommand
from reports.records import Verdict
from tests.conformance.suite_runs import run_suite

SEED = ("--hypothesis-seed", "1")
MAX_S = {"smoke": 20.0, "standard": 180.0}
"""Goals at 100 ms each way, by tier."""
EVERYTHING = ("--malformed", "--connections-per-second", "0")
"""The address of a container is not on loopback, and that of the proxy before it is: by default one is only read,
slowly."""
QUICK = ("conformance/brokers/test_headers.py", "conformance/brokers/test_served_versions.py")
"""Drawn or pinned examples, and sweeps: what waits longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRun:
    """One run.

    Attributes:
        seconds: its duration.
        verdicts: the verdict of each clause.
    """

    seconds: float
    verdicts: Mapping[str, Verdict]


@contextmanager
def far_from(address: Address, each_way_ms: float) -> Iterator[str]:
    """Delay what passes to and from an address; yield the address that is far away."""
    command = [sys.executable, "-m", "benchmarks.distance", str(address)]
    with subprocess.Popen([*command, "--each-way-ms", str(each_way_ms)], stdout=subprocess.PIPE, text=True) as proxy:
        assert proxy.stdout is not None
        try:
            yield f"127.0.0.1:{int(proxy.stdout.readline())}"
        finally:
            proxy.terminate()


def judged(address: str, *options: str, records: Path, quick: bool, round_trip_ms: float = 0.0) -> TimedRun:
    """Judge the broker at an address, and return how long that took.

    Raises:
        CannotWork: the run did not judge everything that it planned.
    """
    far = ("-p", "benchmarks.distance") if round_trip_ms else ()
    started = time.monotonic()
    run = run_suite(
        *("--bootstrap-server", address, *far, *SEED, *options),
        runs=records,
        suite=QUICK if quick else ("conformance/",),
        variables={ROUND_TRIP_MS: str(round_trip_ms)},
    )
    seconds = time.monotonic() - started
    if run.status not in (0, 1):
        raise CannotWork(f"{run.output}\nthe run ended with {run.status}: no measure")
    verdicts = {clause: verdict for (_, clause), verdict in run.verdicts().items()}
    return TimedRun(seconds=seconds, verdicts=verdicts)


def differences(near: TimedRun, far: TimedRun) -> list[str]:
    """Return the clauses whose verdicts differ, with both verdicts."""
    return [
        f"{clause}: near {verdict.value}, far {far.verdicts[clause].value}"
        for clause, verdict in near.verdicts.items()
        if far.verdicts[clause] is not verdict
    ]


@click.command(cls=SuiteCommand, name="benchmarks.far_targets")
@click.argument("target_id", metavar="[TARGET]", required=False)
@click.option("--tier", type=click.Choice(tuple(MAX_S)), default="smoke", show_default=True)
@click.option("--each-way-ms", default=100.0, show_default=True, help="Delay of each direction.")
@click.option("--runs", default=1, show_default=True, help="Far runs; all must agree.")
@click.option("--one-process", is_flag=True, help="Also judge the far target by one process.")
@quick_option
def main(
    target_id: str | None,
    tier: str,
    each_way_ms: float,
    runs: int,
    one_process: bool,
    quick: bool,
) -> None:
    """Judge a target near and far; exit with 1 if verdicts differ or, without --quick, a goal is missed."""
    if target_id is None:
        target, launcher = newest_release(), "process"
    else:
        (target,) = select_targets([target_id], extra=reference_targets())
        launcher = "auto"
    console = Console()
    records = Path(tempfile.mkdtemp(prefix="far-targets-"))
    options = ("--tier", tier, *EVERYTHING)
    distance = {"quick": quick, "round_trip_ms": 2 * each_way_ms}
    differing: list[str] = []
    slowest_s = 0.0
    with launch(target, launcher) as running:
        address = running.addresses["plaintext"]
        near = judged(str(address), *options, records=records / "near", quick=quick)
        console.print(f"near: {near.seconds:.1f} s")
        with far_from(address, each_way_ms) as far_address:
            for number in range(1, runs + 1):
                folder = records / f"far-{number}"
                far = judged(far_address, *options, records=folder, **distance)  # type: ignore[arg-type]
                slowest_s = max(slowest_s, far.seconds)
                differing += [f"run {number}: {each}" for each in differences(near, far)]
                console.print(f"far: {far.seconds:.1f} s; far / near: {far.seconds / near.seconds:.2f}")
            if one_process:
                one = (*options, "--jobs", "1")
                alone = judged(far_address, *one, records=records / "one-process", **distance)  # type: ignore[arg-type]
                differing += [f"one process: {each}" for each in differences(near, alone)]
                ratio = alone.seconds / far.seconds
                console.print(f"far, one process: {alone.seconds:.1f} s; jobs 1 / jobs N: {ratio:.2f}")
    goal = Goal(name=f"{tier} run, far", most=MAX_S[tier], unit="s")
    missed = [] if quick else missed_goals([(goal, slowest_s)])
    for each in differing:
        console.print(each)
    if differing:
        console.print(f"records: {records}")
    else:
        shutil.rmtree(records)
    console.print(last_line(missed))
    if missed or differing:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
