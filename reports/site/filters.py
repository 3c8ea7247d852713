"""The filters of a grid and of the list of rules, which `site.js` applies.

Several values of one filter widen the choice, several filters narrow it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from reports.grid.grid_view import FoldedGrid, verdict_text
from reports.records import WORST_FIRST, Verdict
from reports.site.grid_columns import Block


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOption:
    """One option of a filter: its name and value in the address, and the text next to its checkbox.

    `index` counts the options of a filter from 0.
    """

    name: str
    index: int
    value: str
    text: str
    style: str = ""
    count: int | None = None

    @property
    def id(self) -> str:
        """Its id on the page."""
        return f"{self.name}{self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The choices of each filter, in the order of the page.

    Attributes:
        products: the blocks of columns.
        opened: the blocks that are folded until they are chosen here.
    """

    states: tuple[FilterOption, ...]
    levels: tuple[FilterOption, ...]
    sources: tuple[FilterOption, ...]
    products: tuple[FilterOption, ...]
    opened: tuple[FilterOption, ...]


def filters_of(role: str, folded: FoldedGrid, blocks: Sequence[Block]) -> Filters:
    """Return the filters of a grid of one role."""
    counts = Counter(cell.verdict for row in folded.cells.values() for cell in row if not cell.is_blank)
    return Filters(
        states=tuple(replace(each, count=counts[Verdict(each.value)]) for each in states_of(counts, role)),
        levels=choices("level", dict.fromkeys(each.level for each in folded.grid.clauses)),
        sources=choices("source", (source for source, _ in folded.sources)),
        products=choices("release", (block.name for block in blocks)),
        opened=tuple(
            FilterOption(
                name="open",
                index=index,
                value=block.name,
                text=f"{block.name}: {len(block.columns)}",
            )
            for index, block in enumerate(block for block in blocks if block.is_folded)
        ),
    )


def states_of(verdicts: Collection[Verdict], role: str = "") -> tuple[FilterOption, ...]:
    """Return the filter of the verdicts that occur in a grid, the worst first."""
    return tuple(
        FilterOption(
            name="state",
            index=index,
            value=verdict.value,
            text=verdict_text(verdict, role=role),
            style="na" if verdict is Verdict.NOT_APPLICABLE else verdict.value,
        )
        for index, verdict in enumerate(each for each in WORST_FIRST if each in verdicts)
    )


def choices(name: str, values: Iterable[str]) -> tuple[FilterOption, ...]:
    """Return a filter whose options have their value as text."""
    return tuple(FilterOption(name=name, index=index, value=value, text=value) for index, value in enumerate(values))
