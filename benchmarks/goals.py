"""Upper limits for measured figures, the result of a benchmark that misses one, and the option to measure less."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import click

quick_option = click.option("--quick", is_flag=True, help="Measure less, to save time.")
"""The option with which the nightly workflow measures."""


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
        f"{goal.name} {goal.with_unit(f'{figure:.3f}')}, goal {goal}"
        for goal, figure in measured
        if figure > goal.most
    ]


def end_with(missed: Sequence[str]) -> NoReturn:
    """Print the last line, and end with 1 if a goal was missed."""
    click.echo(last_line(missed))
    raise SystemExit(bool(missed))


def last_line(missed: Sequence[str]) -> str:
    """Return a line that says which goals were missed, if any."""
    return f"missed: {'; '.join(missed)}" if missed else "every goal measured was met"
