"""How fast request logs are read, as a ratio to reading their lines only, and with how much memory.

`python -m benchmarks.request_logs` writes a log of one gigabyte for each form of entries and reads it, after a log of a tenth:
memory must not grow with the log. `--quick` does the same with a twentieth. Rates are by the processor's time, which other
work on the machine changes little; the files are gone afterwards.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.goals import Goal, last_line, missed_goals
from benchmarks.memory import peak_memory
from benchmarks.rates import quick_option
from conformance.watch.request_logs import count_file, read_request_logs
from conformance.watch.sightings import Sightings
from tests.wire.logged_requests import ENTRIES

GIGABYTE = 10**9
QUICK_PART = 20
CLIENTS = 500
_BLOCK_LINES = 20_000
SLOWEST = Goal(name="processor time for a gigabyte", most=20, unit="s")
"""50 MB/s."""
GROWTH = Goal(name="memory for the log to that for a tenth of it", most=1.2)
FORMS = {"text": ("0.10.0", "0.11", "2.7"), "JSON": ("2.8", "4.4")}


def log_lines(form: str, seed: int) -> Iterator[bytes]:
    """Yield lines of a log without end: clients in changing order, each with its own numbers and connections.

    Args:
        form: one of `FORMS`.
        seed: equal seeds give equal lines.
    """
    chance = random.Random(seed)
    templates = [ENTRIES[each][0] for each in FORMS[form]]
    while True:
        line = chance.choice(templates)
        client = b"client-%d" % chance.randrange(CLIENTS)
        for name in (b"shop", b"named"):
            line = line.replace(name, client)
        for old in (b'"correlationId":0', b"correlationId=3", b"correlation_id=1"):
            line = line.replace(old, old[:-1] + b"%d" % chance.randrange(10**6))
        for old in (b":54846", b":53162", b":39872", b":58800"):
            line = line.replace(old, b":%d" % chance.randrange(1024, 65_536))
        yield line + b"\n"


def write_log(path: Path, form: str, size: int) -> None:
    """Write a log of at least `size` bytes: a block of lines, again and again."""
    lines = log_lines(form, seed=1)
    block = b"".join(next(lines) for _ in range(_BLOCK_LINES))
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(block)


@contextmanager
def logs(form: str, size: int, number: int = 1) -> Iterator[list[Path]]:
    """Write logs, and remove them after the block."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{each}.log" for each in range(number)]
        for path in paths:
            write_log(path, form, size)
        yield paths


def read_lines(path: Path) -> None:
    """Read a log's lines, and nothing in them."""
    with path.open("rb") as file:
        for _ in file:
            pass


def processor_seconds(read: Callable[[], object]) -> float:
    """Return the processor time of this process for one call."""
    started = time.process_time()
    read()
    return time.process_time() - started


def peak_gib(form: str, size: int) -> float:
    """Return the memory of this process while it reads a log."""
    with logs(form, size) as (path,), peak_memory() as peak:
        count_file(path)
    return peak.gib


def measure(form: str, size: int, table: Table) -> list[tuple[Goal, float]]:
    """Measure one form of entries; add a row to the table."""
    tenth = peak_gib(form, size // 10)
    with logs(form, size) as (path,):
        written = path.stat().st_size
        only_lines = processor_seconds(lambda: read_lines(path))
        with peak_memory() as peak:
            seconds = processor_seconds(lambda: count_file(path))
    table.add_row(
        form,
        f"{written / seconds / 1e6:,.0f}",
        f"{written / only_lines / 1e6:,.0f}",
        f"{seconds / only_lines:.1f}",
        f"{peak.gib * 1024:,.0f}",
        f"{peak.gib / tenth:.2f}",
    )
    return [(SLOWEST, seconds / written * GIGABYTE), (GROWTH, peak.gib / tenth)]


def several_at_once(size: int) -> float:
    """Return how much faster two logs are read together than one after the other, by the clock."""
    with logs("JSON", size, number=2) as paths:
        started = time.perf_counter()
        for path in paths:
            count_file(path)
        between = time.perf_counter()
        read_request_logs(paths, Sightings())
        return (between - started) / (time.perf_counter() - between)


@click.command()
@quick_option
def main(*, quick: bool) -> None:
    """Measure how fast request logs are read."""
    size = GIGABYTE // QUICK_PART if quick else GIGABYTE
    console = Console()
    table = Table(title=f"request logs of {size / 1e6:,.0f} MB", box=None)
    for column in (
        "entries",
        "MB/s",
        "lines only, MB/s",
        "times the lines",
        "peak MiB",
        "to a tenth",
    ):
        table.add_column(column, justify="left" if column == "entries" else "right")
    measured = [each for form in FORMS for each in measure(form, size, table)]
    console.print(table)
    console.print(
        f"two logs at once, to one after the other: {several_at_once(size // 4):.2f} times as fast"
    )
    console.print(last_line(missed_goals(measured)))


if __name__ == "__main__":
    main()
