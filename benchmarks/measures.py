"""Shared parts of the benchmarks: peak memory, goals, results and `--quick`.

A goal is an upper limit for a measured figure. A benchmark that misses one ends with 1.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

import click
import psutil  # type: ignore[import-untyped]

quick_option = click.option("--quick", is_flag=True, help="Measure less, to save time.")
"""The option with which the nightly workflow measures."""


_EVERY_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """An upper limit for a measured figure.

    Attributes:
        name: what is measured.
        most: the highest figure that meets the goal.
        unit: unit of the figure; empty for a ratio.
    """

    name: str
    most: float
    unit: str = ""

    def __str__(self) -> str:
        """Return the goal as a table shows it."""
        return f"<= {self.with_unit(f'{self.most:g}')}"

    def with_unit(self, figure: str) -> str:
        """Append the unit to a figure."""
        return f"{figure} {self.unit}".rstrip()


def missed_goals(measured: Iterable[tuple[Goal, float]]) -> list[str]:
    """Return a text for each missed goal with what was measured instead.

    A figure equal to its goal meets it. Figures are not rounded first: 1.204 misses 1.2, although tables show 1.20.
    """
    return [
        f"{goal.name} {goal.with_unit(f'{figure:.3f}')}, goal {goal}" for goal, figure in measured if figure > goal.most
    ]


def end_with(missed: Sequence[str]) -> NoReturn:
    """Print the last line, and end with 1 if a goal was missed."""
    click.echo(last_line(missed))
    raise SystemExit(bool(missed))


def last_line(missed: Sequence[str]) -> str:
    """Return a line that says which goals were missed, if any."""
    return f"missed: {'; '.join(missed)}" if missed else "every goal measured was met"


class PeakMemory:
    """The highest memory use observed.

    Attributes:
        gib: resident memory in GiB; a page that several processes share counts once. Java shares all of its pages for a
            moment with each process that it starts.
    """

    def __init__(self) -> None:
        self.gib = 0.0

    def look(self) -> None:
        """Measure the resident memory now and update the peak."""
        this = psutil.Process()
        total = 0
        for process in (this, *this.children(recursive=True)):
            try:
                total += process.memory_full_info().pss
            except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
                continue
        self.gib = max(self.gib, total / 2**30)


@contextmanager
def peak_memory() -> Iterator[PeakMemory]:
    """Watch the memory of this process's tree."""
    peak, ended = PeakMemory(), threading.Event()

    def watch() -> None:
        while not ended.wait(_EVERY_S):
            peak.look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        peak.look()
        ended.set()
        watcher.join()
