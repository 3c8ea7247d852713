"""What a measured figure may be at most, and how a benchmark ends where one is more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A figure that is to be reached.

    Attributes:
        name: of what is measured.
        most: the highest figure that reaches it.
        unit: of both; empty for a ratio.
    """

    name: str
    most: float
    unit: str = ""

    def __str__(self) -> str:
        """Give it as a table shows it."""
        return f"<= {self.with_unit(f'{self.most:g}')}"

    def with_unit(self, figure: str) -> str:
        """Put the unit behind a figure."""
        return f"{figure} {self.unit}".rstrip()


def missed_goals(measured: Iterable[tuple[Goal, float]]) -> list[str]:
    """Say of each goal that was missed what was measured instead.

    A figure equal to its goal reaches it. None is rounded first: 1.204 misses 1.2, although tables show 1.20.
    """
    return [
        f"{goal.name} {goal.with_unit(f'{figure:.3f}')}, goal {goal}"
        for goal, figure in measured
        if figure > goal.most
    ]


def last_line(missed: Sequence[str]) -> str:
    """Say whether goals were missed, and which."""
    return f"missed: {'; '.join(missed)}" if missed else "every goal measured was met"
