"""The columns of a grid on its page, in blocks.

Other brokers come before Apache Kafka; in a wide grid, one column stands for each product and major until `site.js`
opens it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clauses.catalogue import Role
from reference_model.profiles.profile import APACHE_KAFKA
from reports.grid.grid_view import FoldedCell, FoldedGrid, TargetColumn
from reports.records import WORST_FIRST
from reports.tables.target_names import implementation_name
from reports.wording.verdict_labels import counted

MAX_UNFOLDED = 8
"""More columns than these do not fit into a window of 1300 px next to the rules."""
_NARROW = "@media (max-width:40rem)"
_NOT_IN_CSS_STRINGS = re.compile(r"[^A-Za-z0-9 .,+_-]")
BLANK = "blank"
"""The class of a cell that no run asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Columns under one heading.

    Attributes:
        name: the heading: "Kafka 4.x", "tansu".
        columns: the targets, and `indexes` where they stand in the columns of the folded grid.
        is_folded: whether one cell stands for all of them until the reader opens the block.
        first: the position of its first cell in a row of the table, counted from 1.
    """

    name: str
    columns: tuple[TargetColumn, ...]
    indexes: tuple[int, ...]
    is_folded: bool
    first: int

    @property
    def size(self) -> str:
        """How many targets it has, in words."""
        is_kafka = self.columns[0].implementation == APACHE_KAFKA
        return counted(len(self.columns), "release" if is_kafka else "target")

    @property
    def width(self) -> int:
        """How many cells of a row it has, the one that stands for all included."""
        return len(self.columns) + self.is_folded

    def cells_of(self, row: Sequence[FoldedCell]) -> list[FoldedCell]:
        """Return its cells of a row of the folded grid."""
        return [row[index] for index in self.indexes]


def blocks_of(folded: FoldedGrid, first: int) -> tuple[Block, ...]:
    """Return the blocks of a grid from left to right.

    Args:
        folded: the grid of one role.
        first: the position of the first target's cell in a row, counted from 1.
    """
    indexes = {column.target: index for index, column in enumerate(folded.columns)}
    is_wide = len(folded.columns) > MAX_UNFOLDED
    blocks = []
    groups = sorted(folded.column_groups, key=lambda group: group[1][0].implementation == APACHE_KAFKA)
    for name, columns in groups:
        block = Block(
            name=name,
            columns=columns,
            indexes=tuple(indexes[column.target] for column in columns),
            is_folded=is_wide and len(columns) > 1,
            first=first,
        )
        blocks.append(block)
        first += block.width
    return tuple(blocks)


def worst_of(cells: Sequence[FoldedCell]) -> tuple[FoldedCell, int]:
    """Return the cell that stands for several, and how many have its verdict: the first one with the worst."""
    counts = Counter(cell.verdict for cell in cells)
    worst = next(verdict for verdict in WORST_FIRST if counts[verdict])
    return next(cell for cell in cells if cell.verdict is worst), counts[worst]


def label_rules(role: str, folded: FoldedGrid, blocks: Sequence[Block]) -> str:
    """Return the style rules that name each cell on a narrow screen, where its heading is not shown."""
    return f"{_NARROW}{{{''.join(_labels(role, folded, blocks))}}}"


def _labels(role: str, folded: FoldedGrid, blocks: Sequence[Block]) -> Iterator[str]:
    if folded.main_implementation and role == Role.CLIENT:
        name = _css_string(f"{implementation_name(folded.main_implementation)}: ")
        yield f'#grid td.range:not(:empty)::before{{content:"{name}"}}'
    for block in blocks:
        if block.is_folded:
            yield _label(block.first, f"{block.name}, {block.size}")
        for position, column in enumerate(block.columns, start=block.first + block.is_folded):
            yield _label(position, column.name.removeprefix("Apache "))


def _label(position: int, text: str) -> str:
    return f'#grid td:nth-child({position})::before{{content:"{_css_string(text)}"}}'


def _css_string(text: str) -> str:
    return _NOT_IN_CSS_STRINGS.sub(lambda match: f"\\{ord(match[0]):x} ", text)
