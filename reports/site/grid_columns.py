"""The columns of a grid on its page, and its filters as style rules.

Other brokers come before Apache Kafka; in a wide grid, one column stands for each product and major.

The filters work without a script, which only keeps them in the address and counts. A row stays if a cell with one of
the chosen verdicts is in one of the chosen columns; a block of columns stays if it has one of the chosen verdicts in
any row. On a narrow screen, where a row is a card, only the chosen cells are left in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from clauses.catalogue import Role
from reference_model.profiles.profile import APACHE_KAFKA
from reports.grid import addresses
from reports.grid.grid_tables import implementation_name
from reports.grid.grid_view import FoldedCell, FoldedGrid, TargetColumn, verdict_text
from reports.records import WORST_FIRST, Verdict
from reports.wording.verdict_labels import counted

MAX_UNFOLDED = 8
"""More columns than these do not fit into a window of 1300 px next to the rules."""
_NARROW = "@media (max-width:40rem)"
_NOT_IN_CSS_STRINGS = re.compile(r"[^A-Za-z0-9 .,+_-]")
_CELLS = {
    Verdict.CONFORMS: "td:not([class],:empty)",
    Verdict.NOT_APPLICABLE: "td:not([class]):empty",
}
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

    @property
    def single(self) -> tuple[int, int]:
        """The positions of the first and the last cell of a single target."""
        return self.first + self.is_folded, self.first + self.width - 1

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOption:
    """One option of a filter: its name and value in the address, and the text next to its checkbox.

    `index` counts the options of a filter from 0. Ids are made of it because they occur in many style rules, and names
    are long.
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

    @property
    def selector(self) -> str:
        """Selects its checkbox if it is ticked."""
        return f"#{self.id}:checked"

    @property
    def rows(self) -> str:
        """Selects the rows of the source that it stands for."""
        return f".rows-{self.id}"


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


def style_rules(
    role: str, folded: FoldedGrid, blocks: Sequence[Block], filters: Filters, days: Sequence[str]
) -> Iterator[str]:
    """Yield the style rules of a grid's page; `days` are those on which a verdict changed, the newest first."""
    for choice in filters.levels:
        yield f"{unless(choice)} tr.{addresses.anchor(choice.value)}{{display:none}}"
    yield "body:has([name=level]:checked) tr.absent{display:none}"
    for choice in filters.sources:
        yield f"{unless(choice)} {choice.rows}{{display:none}}"
    yield from _rules_of_states(folded, blocks, filters)
    opened = {choice.value: choice.selector for choice in filters.opened}
    for index, (block, choice) in enumerate(zip(blocks, filters.products, strict=True)):
        cells = f"#grid :is({_cells(block.first, block.first + block.width - 1)},.c{index})"
        yield f"{unless(choice)} {cells}{{display:none}}"
        if block.is_folded:
            is_open = f"has({opened[block.name]})"
            fold, single = _cells(block.first, block.first), _cells(*block.single)
            yield f"body:{is_open} #grid :is({fold},.fold.c{index}){{display:none}}"
            yield f"body:not(:{is_open}) #grid :is({single},.single.c{index}){{display:none}}"
    for index, day in enumerate(days):
        kept = ",".join(f'[data-changed="{each}"]' for each in days[: index + 1])
        yield f'body:has(option[value="{day}"]:checked) .clauses tr:not(.source,{kept}){{display:none}}'
    yield f"{_NARROW}{{{''.join(_labels(role, folded, blocks))}}}"


def _rules_of_states(folded: FoldedGrid, blocks: Sequence[Block], filters: Filters) -> Iterator[str]:
    verdicts = [{cell.verdict for row in folded.cells.values() for cell in block.cells_of(row)} for block in blocks]
    states = [(choice, Verdict(choice.value)) for choice in filters.states]
    rows = ".clauses tr:not(.source"
    kept = "".join(f",body:has({choice.selector}) tr:has({_cell(verdict)})" for choice, verdict in states)
    kept_there = "".join(
        f",body:has({choice.selector}):has({product.selector})"
        f" tr:has({_cells(block.first, block.first + block.width - 1, _cell(verdict))})"
        for block, product, found in zip(blocks, filters.products, verdicts, strict=True)
        for choice, verdict in states
        if verdict in found
    )
    chosen = "body:has([name=state]:checked)"
    yield f"{chosen}:not(:has([name=release]:checked)) {rows}{kept}){{display:none}}"
    yield f"{chosen}:has([name=release]:checked) {rows}{kept_there}){{display:none}}"
    for index, (block, found) in enumerate(zip(blocks, verdicts, strict=True)):
        own = ",".join(choice.selector for choice, verdict in states if verdict in found)
        cells = _cells(block.first, block.first + block.width - 1)
        yield f"{chosen}:not(:has({own})) #grid :is({cells},.c{index}){{display:none}}"
    for choice, verdict in states:
        yield f"{_NARROW}{{{chosen}:not(:has({choice.selector})) .clauses {_cell(verdict)}{{display:none}}}}"


def _labels(role: str, folded: FoldedGrid, blocks: Sequence[Block]) -> Iterator[str]:
    """Yield the rules that name each cell on a narrow screen, where its heading is not shown."""
    if folded.main_implementation and role == Role.CLIENT:
        said = _css_string(f"{implementation_name(folded.main_implementation)}: ")
        yield f'#grid td.range:not(:empty)::before{{content:"{said}"}}'
    for block in blocks:
        if block.is_folded:
            yield _label(block.first, f"{block.name}, {block.size}")
        for position, column in enumerate(block.columns, start=block.single[0]):
            yield _label(position, column.name.removeprefix("Apache "))


def _label(position: int, text: str) -> str:
    return f'#grid td:nth-child({position})::before{{content:"{_css_string(text)}"}}'


def unless(*choices: FilterOption) -> str:
    """Return a selector for a page on which checkboxes of this name are ticked, but none of these."""
    ticked = ",".join(choice.selector for choice in choices)
    return f"body:has([name={choices[0].name}]:checked):not(:has({ticked}))"


def _cell(verdict: Verdict) -> str:
    return _CELLS.get(verdict, f"td.{verdict.value}")


def _cells(first: int, last: int, cell: str = "td") -> str:
    if first == last:
        return f"{cell}:nth-child({first})"
    return f"{cell}:nth-child(n+{first}):nth-child(-n+{last})"


def _css_string(text: str) -> str:
    return _NOT_IN_CSS_STRINGS.sub(lambda found: f"\\{ord(found[0]):x} ", text)
