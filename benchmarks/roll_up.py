"""Benchmark of the roll-up from run folders to a grid.

The results are ratios measured in one run on one machine.

`python -m benchmarks.roll_up` writes synthetic runs (`synthetic_runs`) and measures:

- cells: Spark's time from run folders to the grid's cells, in a warm session, over DuckDB's time for the same
  cells from the same rows on the same cores. The cells are compared one by one, and a difference ends the
  benchmark with 1. Only Spark determines which runs count; DuckDB assumes that all do;
- all tables: the complete roll-up, with everything that the report needs, over DuckDB's time for the three
  tables that need every row (cells, coverage, latency); these are compared as well;
- night: adding one night to a history of a year, over adding the same night to a history of one day. Each night
  has a run of all 38 targets on five listeners, with 75 clauses: 13,870 runs in a year, created in 22 s per ten
  nights at best;
- memory: peak resident memory of this process and Spark's during cells, all tables and night;
- command: `kafka-conformance grid` on one run, including Spark's start, over a program that starts Spark and
  counts one row;
- pages: pages and exports from that command's tables.

If a goal is missed, the benchmark ends with 1, otherwise with 0, and its last line names the missed goals. With
`--quick` everything is small enough for CI, the ratios show the minimum cost of a roll-up, and no goal applies.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import click
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from benchmarks.duckdb_grid import COUNTED_TABLES, by_key, duckdb_tables
from benchmarks.measures import Goal, end_with, missed_goals, peak_memory, quick_option
from benchmarks.synthetic_runs import night, write_runs
from reports.command_line.suite_command import SuiteCommand
from reports.records import TABLES_FOLDER
from reports.site.build import build_site, read_tables
from spark_aggregation.history.facts import facts_of, ingest
from spark_aggregation.history.state import empty_state, fold
from spark_aggregation.reading.frames import checkpointed_together
from spark_aggregation.run_roll_up import RollUpRequest, aggregate, shown
from spark_aggregation.session import start_session
from spark_aggregation.tables.grid_tables import grid_cells
from spark_aggregation.tables.transitions import cell_ages
from tests.conformance.suite_runs import run_suite

CORES = os.cpu_count() or 1
PARTS = ("command", "grid", "night")
COMMAND_GOAL = Goal(name="command", most=12, unit="s")
PAGES_GOAL = Goal(name="pages and exports", most=2, unit="s")
GRID_GOAL = Goal(name="cells: Spark / DuckDB", most=4)
NIGHT_GOAL = Goal(name="night", most=1.2)
MEMORY_GOAL = Goal(name="memory", most=6, unit="GiB")


_BARE_START = """
from pyspark.sql import SparkSession
SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate().range(1).count()
"""
_OLD_ROWS = 400
"""Rows of a run in the history, about one per cell (375): the cost of a later night does not depend on them."""
_NIGHTS_AT_A_TIME = 10
"""Nights rolled up into the history together, as each roll-up takes some 10 s; 30 take three times as long as ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured.

    Attributes:
        rows: rows of the grid.
        night_rows: rows of the night that is added to a history.
        days: days of the long history.
        targets: targets of the grid.
        night_targets: targets of each night in the histories, and of the added night.
        rounds: how often a ratio is measured.
    """

    rows: int
    night_rows: int
    days: int
    targets: int
    night_targets: int
    rounds: int


QUICK = Size(rows=3 * 10**5, night_rows=3 * 10**4, days=10, targets=4, night_targets=4, rounds=1)
FULL = Size(rows=10**8, night_rows=10**7, days=365, targets=31, night_targets=38, rounds=3)


Ratio: TypeAlias = list[tuple[float, float]]
"""Seconds of the measured work and of its baseline, round by round."""


class TablesDiffer(Exception):
    """The two engines disagree."""


def timed(work: Callable[[], object]) -> float:
    """Return how many seconds a call takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def grid_ratios(spark: SparkSession, folder: Path, size: Size) -> tuple[Ratio, Ratio]:
    """Time Spark and DuckDB on the same rows, in turns.

    Returns:
        Seconds of both, round by round: for the cells, and for all tables compared with DuckDB's `COUNTED_TABLES`.

    Raises:
        TablesDiffer: a row differs.
    """
    runs, out = folder / "runs", folder / "grid"
    write_runs(runs, night(0, size.rows, targets=size.targets), workers=CORES)
    warm = folder / "warm"
    write_runs(warm, night(1, 10_000, targets=1), workers=1)
    spark_cells(spark, warm)
    aggregate(spark, RollUpRequest(roots=[str(warm)], out=str(folder / "warm_grid")))
    alone, all_tables = [], []
    for _ in range(size.rounds):
        cells = timed(lambda: spark_cells(spark, runs))
        their_cells = timed(lambda: duckdb_tables(runs, threads=CORES, names=("cells",)))
        tables = timed(lambda: aggregate(spark, RollUpRequest(roots=[str(runs)], out=str(out))))
        their_tables = timed(lambda: duckdb_tables(runs, threads=CORES))
        alone.append((cells, their_cells))
        all_tables.append((tables, their_tables))
    expected = duckdb_tables(runs, threads=CORES)
    _check_equal("cells", spark_cells(spark, runs), expected["cells"])
    for name in COUNTED_TABLES:
        _check_equal(name, pq.read_table(out / TABLES_FOLDER / f"{name}.parquet"), expected[name])
    return alone, all_tables


def spark_cells(spark: SparkSession, runs: Path) -> pa.Table:
    """Compute only the cells table of runs."""
    before = empty_state(spark)
    new = facts_of(ingest(spark, [str(runs)], before.known))
    often_used = checkpointed_together({"cells": new.cells, "columns": before.columns_with(new)})
    new = replace(new, cells=often_used["cells"])
    state = fold(before, new, often_used["columns"], batch="", all_cells=lambda: new.cells)
    state, chosen = shown(state)
    return grid_cells(new.cells, chosen, cell_ages(state.transitions)).toArrow()


def _check_equal(name: str, table: pa.Table, expected: pa.Table) -> None:
    ours, theirs = by_key(name, table), by_key(name, expected)
    wrong = [key for key in theirs.keys() | ours.keys() if theirs.get(key) != ours.get(key)]
    if wrong:
        raise TablesDiffer(f"{len(wrong)} of {len(theirs)} rows of {name} differ, the first is {wrong[0]}")


def night_ratio(spark: SparkSession, folder: Path, size: Size) -> Ratio:
    """Time adding one night to a long history and to a history of one day, in turns.

    Returns:
        Seconds of both, round by round.
    """
    histories = {"long": folder / "long_history", "short": folder / "short_history"}
    for first in range(0, size.days, _NIGHTS_AT_A_TIME):
        days = range(first, min(first + _NIGHTS_AT_A_TIME, size.days))
        _add_old(spark, folder, histories["long"], days, size.night_targets)
    _add_old(spark, folder, histories["short"], range(size.days - 1, size.days), size.night_targets)
    new = night(size.days, size.night_rows, targets=size.night_targets)
    write_runs(folder / "night", new, workers=CORES)

    def added_to(name: str) -> float:
        copy = folder / "history"
        shutil.copytree(histories[name], copy)
        seconds = timed(lambda: _add(spark, folder / "night", copy, folder / "out"))
        shutil.rmtree(copy)
        return seconds

    added_to("short")
    return [(added_to("long"), added_to("short")) for _ in range(size.rounds)]


def _add_old(spark: SparkSession, folder: Path, history: Path, days: Iterable[int], targets: int) -> None:
    """Add nights to a history, with as many cells as real ones but few rows."""
    runs = folder / "old"
    old = [run for day in days for run in night(day, _OLD_ROWS * targets, targets=targets)]
    write_runs(runs, old, workers=CORES)
    _add(spark, runs, history, folder / "out")
    shutil.rmtree(runs)


def _add(spark: SparkSession, runs: Path, history: Path, out: Path) -> None:
    aggregate(spark, RollUpRequest(roots=[str(runs)], out=str(out), history=str(history)))


def command_and_pages(folder: Path, rounds: int) -> tuple[Ratio, float]:
    """Time the command on a standard run on the reference broker, and separately its pages and exports.

    Returns:
        Seconds of the command and of starting Spark, round by round; and seconds of the pages.
    """
    # Synthetic runs lack the evidence of their failures, which the site requires.
    run = run_suite("--broker", "reference", "--tier", "standard", runs=folder / "one").folder
    out = folder / "site"
    command = ["-m", "conformance", "grid", str(run), "--out", str(out)]
    seconds = [(_python(*command), _python("-c", _BARE_START)) for _ in range(rounds)]
    return seconds, timed(lambda: build_site(*read_tables(out), out))


def _python(*arguments: str) -> float:
    """Time a Python program."""
    command = [sys.executable, *arguments]
    return timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))


class Figures:
    """The measurements, row by row.

    Attributes:
        table: the rows.
        of_goals: the goals among the measurements, each with its figure.
    """

    def __init__(self, title: str) -> None:
        self.table = Table(title=title, box=None)
        self.of_goals: list[tuple[Goal, float]] = []
        for column in ("measured", "figures", "ratio", "goal"):
            self.table.add_column(column)

    def add_times(self, name: str, seconds: Ratio, goal: Goal | None = None) -> None:
        """Add the medians of two times and of their ratio.

        A goal in seconds is for the first time, any other goal for the ratio.
        """
        over, under = (statistics.median(times) for times in zip(*seconds, strict=True))
        ratio = statistics.median(a / b for a, b in seconds)
        figures = (f"{over:.1f} s / {under:.1f} s", f"{ratio:.2f}")
        self.table.add_row(name, *figures, "" if goal is None else str(goal))
        if goal is not None:
            self.of_goals.append((goal, over if goal.unit == "s" else ratio))

    def add_figure(self, figure: float, goal: Goal) -> None:
        """Add a figure without a baseline."""
        self.table.add_row(goal.name, goal.with_unit(f"{figure:.1f}"), "", str(goal))
        self.of_goals.append((goal, figure))


@click.command(cls=SuiteCommand, name="benchmarks.roll_up")
@quick_option
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="Some of it; repeatable.")
def main(quick: bool, only: tuple[str, ...]) -> None:
    """Measure the roll-up of 10^8 rows and of 365 days; exit with 1 if a goal is missed."""
    size = QUICK if quick else FULL
    figures = Figures(f"{size.rows:,} rows, {size.days} days, {CORES} cores")
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-benchmark-") as scratch:
        measure(figures, Path(scratch), size, only or PARTS)
    figures.table.caption = f"load of the machine: {', '.join(f'{load:.1f}' for load in os.getloadavg())}"
    Console(width=100).print(figures.table)
    if not quick:
        end_with(missed_goals(figures.of_goals))


def measure(figures: Figures, folder: Path, size: Size, parts: Sequence[str]) -> None:
    """Measure some of `PARTS` and their memory use."""
    if "command" in parts:
        command, pages = command_and_pages(folder, size.rounds)
        figures.add_times("command, one run / Spark's start", command, COMMAND_GOAL)
        figures.add_figure(pages, PAGES_GOAL)
    with peak_memory() as peak:
        spark = start_session()
        if "grid" in parts:
            alone, all_tables = grid_ratios(spark, folder, size)
            figures.add_times("cells: Spark / DuckDB", alone, GRID_GOAL)
            figures.add_times("all tables / DuckDB's three", all_tables)
        if "night" in parts:
            seconds = night_ratio(spark, folder / "nights", size)
            figures.add_times(f"night: {size.days} days / 1", seconds, NIGHT_GOAL)
        spark.stop()
    figures.add_figure(peak.gib, MEMORY_GOAL)


if __name__ == "__main__":
    main()
