"""Benchmark of a roll-up's memory next to a hostile run folder.

The result is a ratio to the memory of the same roll-up without that folder.

`python -m benchmarks.hostile_folders` rolls up one good run, and then the same run next to folders whose small Parquet
files become large when they are read: many rows, one long text, and a list with many numbers in one row. The good run
has to count each time, and the peak may be at most twice that of the good run alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from benchmarks.measures import Goal, end_with, missed_goals, peak_memory, quick_option
from benchmarks.synthetic_runs import night, write_runs
from reports.command_line.suite_command import CannotWork, SuiteCommand
from reports.run_folders.refused_runs import REFUSED_FILE

MEMORY_GOAL = Goal(name="memory next to a hostile folder", most=2)
GOOD_ROWS = 20_000
GROUPS, ROWS_OF_A_GROUP = 10, 1_000_000
TEXT_BYTES = 2**28
NUMBERS = 20_000_000


def many_rows(part: Path) -> None:
    """Replace a file of examples by one with ten million equal rows."""
    row = pq.read_table(part).slice(0, 1)
    rows = row.take(pa.array([0]).take(pa.array([0] * ROWS_OF_A_GROUP)))
    with pq.ParquetWriter(part, row.schema) as writer:
        for _ in range(GROUPS):
            writer.write_table(rows)


def long_text(part: Path) -> None:
    """Replace a file of examples by one whose only row has a text of 256 MiB."""
    row = pq.read_table(part).slice(0, 1)
    index = row.schema.get_field_index("property")
    pq.write_table(row.set_column(index, "property", pa.array(["x" * TEXT_BYTES])), part)


def long_list(part: Path) -> None:
    """Replace a file of examples by one whose only row has a list of 20 million numbers in the column of one number."""
    row = pq.read_table(part).slice(0, 1)
    index = row.schema.get_field_index("example_number")
    numbers = pa.repeat(pa.scalar(1, pa.int32()), NUMBERS)
    lists = pa.ListArray.from_arrays(pa.array([0, NUMBERS], pa.int32()), numbers)
    pq.write_table(row.set_column(index, "example_number", lists), part)


HOSTILE: Mapping[str, Callable[[Path], None]] = {
    "ten million rows": many_rows,
    "a text of 256 MiB": long_text,
    "a list of 20 million numbers": long_list,
}


def run_quietly(command: Sequence[str]) -> None:
    """Run a program, and show what it writes to standard error only if it fails.

    Raises:
        CannotWork: it failed.
    """
    ended = subprocess.run(command, check=False, stderr=subprocess.PIPE, encoding="utf-8")
    if ended.returncode:
        click.echo(ended.stderr, err=True, nl=False)
        raise CannotWork(f"{' '.join(command)} ended with {ended.returncode}")


def peak_gib(runs: Path, out: Path, *, refused: int) -> float:
    """Roll runs up; return the peak memory of all processes.

    Raises:
        CannotWork: the roll-up failed, or another number of folders was refused.
    """
    command = [sys.executable, "-m", "conformance", "roll-up", str(runs), "--out", str(out)]
    with peak_memory() as peak:
        run_quietly(command)
    rows = json.loads((out / REFUSED_FILE).read_text())
    if len(rows) != refused:
        raise CannotWork(f"{len(rows)} folders were refused in place of {refused}")
    return peak.gib


@click.command(cls=SuiteCommand, name="benchmarks.hostile_folders")
@quick_option
def main(quick: bool) -> None:
    """Measure each kind of folder, or only the first; exit with 1 if one costs too much."""
    table = Table(box=None)
    for column in ("runs", "GiB", "ratio"):
        table.add_column(column, justify="left" if column == "runs" else "right")
    figures = []
    with tempfile.TemporaryDirectory(prefix="kafka-conformance-benchmark-") as scratch:
        runs = Path(scratch, "runs")
        write_runs(runs, night(0, GOOD_ROWS, targets=1), workers=1)
        (good,) = runs.iterdir()
        alone = peak_gib(runs, Path(scratch, "alone"), refused=0)
        table.add_row("a good run", f"{alone:.2f}", "1.00")
        for name, damage in list(HOSTILE.items())[: 1 if quick else None]:
            hostile = runs / "hostile"
            shutil.copytree(good, hostile)
            (part, *_) = sorted((hostile / "examples").iterdir())
            # In a process of its own, whose memory is not counted.
            with ProcessPoolExecutor(1) as pool:
                pool.submit(damage, part).result()
            peak = peak_gib(runs, Path(scratch, "out"), refused=1)
            shutil.rmtree(hostile)
            figures.append((MEMORY_GOAL, peak / alone))
            table.add_row(f"and {name}", f"{peak:.2f}", f"{peak / alone:.2f}")
    Console(width=100).print(table)
    end_with(missed_goals(figures))


if __name__ == "__main__":
    main()
