"""Shared parts of the benchmarks: the choice of the target, and the display of rates."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import click
from rich.console import Console
from rich.table import Table

from fixtures.launchers import choose_launcher
from fixtures.launchers.built_in import reference_targets
from fixtures.registry.targets import Target, newest_release, select_targets

quick_option = click.option("--quick", is_flag=True, help="Every ratio, with less repetition.")
"""The option with which `.ci/run` measures."""


def chosen_target(wanted: str | None) -> tuple[Target, str]:
    """Return the target that the command line names, otherwise the newest release, and its launcher."""
    if wanted is None:
        target = newest_release()
    else:
        (target,) = select_targets([wanted], extra=reference_targets())
    launcher, _ = choose_launcher(target, "process" if wanted is None else "auto")
    return target, launcher


def print_rates(console: Console, title: str, unit: str, rates: Mapping[str, list[float]]) -> None:
    """Print the median, lowest and highest rate of each measurement."""
    table = Table(title=title, box=None)
    for column in ("measured", unit, "lowest", "highest"):
        table.add_column(column, justify="left" if column == "measured" else "right")
    for name, values in rates.items():
        numbers = (statistics.median(values), min(values), max(values))
        table.add_row(name, *(f"{number:,.0f}" for number in numbers))
    console.print(table)


def print_ratio(console: Console, name: str, over: Sequence[float], under: Sequence[float]) -> None:
    """Print the median of the rounds' ratios."""
    ratio = statistics.median(a / b for a, b in zip(over, under, strict=True))
    console.print(f"{name}: {ratio:.2f}")
