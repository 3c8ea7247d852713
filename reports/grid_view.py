"""What the grid's template shows, worked out beforehand: the template decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from reports.evidence import Evidence
from reports.grid_tables import (
    APACHE_KAFKA,
    Grid,
    GridCell,
    GridClause,
    GridRange,
    GridTarget,
    implementation_name,
)
from reports.records import Verdict
from reports.words import SYMBOLS, WORDS

_WITH_COUNT = (Verdict.VIOLATES, Verdict.KNOWN_VIOLATION)
_NOT_PLANNED = "the target's latest run did not plan it"

CellKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCell:
    """One cell of the table.

    Attributes:
        style: its CSS class: the verdict.
        text: symbol, short word, and a count where it helps.
        label: the column's name, for narrow screens.
        href: where its evidence or reason stands; empty where there is nothing more to say.
        name: the whole of it in words, for who does not see the table.
    """

    style: str
    text: str
    label: str
    href: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownColumn:
    """One column's header: `text` under its group's, `name` as a whole."""

    text: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNote:
    """One thing to say about a clause: a verdict, the targets that have it, why, and the evidence."""

    style: str
    text: str
    targets: str
    reason: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRow:
    """One row of the table and the section about its clause."""

    clause: GridClause
    anchor: str
    range: str
    cells: tuple[ShownCell, ...]
    ranges: tuple[tuple[str, str], ...]
    notes: tuple[ShownNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GridView:
    """The whole page.

    Attributes:
        groups: column groups: name and columns.
        range_of: name of the implementation of the range column; empty where that has nothing to say.
        sources: row groups: the clauses' source and its rows.
        legend: CSS class, text and count of each verdict that occurs.
    """

    groups: tuple[tuple[str, tuple[ShownColumn, ...]], ...]
    range_of: str
    sources: tuple[tuple[str, tuple[ShownRow, ...]], ...]
    legend: tuple[tuple[str, str, int], ...]

    @property
    def width(self) -> int:
        """How many columns the table has."""
        return 1 + bool(self.range_of) + sum(len(columns) for _, columns in self.groups)


def view_of(grid: Grid, evidence: Sequence[Evidence], cells: Mapping[Verdict, int]) -> GridView:
    """Work out the page.

    Args:
        grid: the tables.
        evidence: what was kept of the failures.
        cells: how many cells have which verdict.
    """
    main = _main_implementation(grid)
    by_key = {(cell.clause, cell.target, cell.listener): cell for cell in grid.cells}
    rows = [_row(entry, grid, by_key, evidence, main) for entry in grid.clauses]
    return GridView(
        groups=_column_groups(grid.targets),
        range_of=implementation_name(main),
        sources=tuple(
            (source, tuple(group)) for source, group in groupby(rows, lambda row: row.clause.source)
        ),
        legend=tuple(
            (verdict, f"{SYMBOLS[verdict]} {WORDS[verdict]}", count)
            for verdict, count in cells.items()
        ),
    )


def cell_text(cell: GridCell) -> str:
    """Give a cell as symbol and short word, with the number of distinct failures where it has any."""
    text = f"{SYMBOLS[cell.verdict]} {WORDS[cell.verdict]}"
    counts = cell.verdict in _WITH_COUNT and cell.distinct_failures > 0
    return f"{text} {cell.distinct_failures}" if counts else text


def _main_implementation(grid: Grid) -> str:
    """Name the implementation whose ranges stand in the table: the one with most releases, if several."""
    releases: dict[str, set[str]] = {}
    for entry in grid.targets:
        releases.setdefault(entry.implementation, set()).add(entry.target)
    main = max(releases, key=lambda name: len(releases[name]), default="")
    return main if main and len(releases[main]) > 1 else ""


def _column_groups(
    targets: Sequence[GridTarget],
) -> tuple[tuple[str, tuple[ShownColumn, ...]], ...]:
    return tuple(
        (name, tuple(_column(entry) for entry in group))
        for name, group in groupby(targets, _group_name)
    )


def _group_name(entry: GridTarget) -> str:
    if entry.implementation == APACHE_KAFKA and entry.release_order:
        return f"Kafka {entry.release_order[0]}.x"
    return implementation_name(entry.implementation)


def _column(entry: GridTarget) -> ShownColumn:
    name = entry.name
    known = f"{implementation_name(entry.implementation)} "
    return ShownColumn(text=name.removeprefix(known), name=name)


def _row(
    clause: GridClause,
    grid: Grid,
    by_key: Mapping[CellKey, GridCell],
    evidence: Sequence[Evidence],
    main: str,
) -> ShownRow:
    own_evidence = [entry for entry in evidence if entry.cell.clause == clause.clause]
    anchor = f"#{quote(clause.clause)}"
    ranges = [entry for entry in grid.ranges if entry.clause == clause.clause]
    cells = [by_key.get((clause.clause, entry.target, entry.listener)) for entry in grid.targets]
    return ShownRow(
        clause=clause,
        anchor=anchor,
        range=next((entry.statement for entry in ranges if entry.implementation == main), ""),
        cells=tuple(
            _shown(cell, entry, anchor, own_evidence, clause)
            for cell, entry in zip(cells, grid.targets, strict=True)
        ),
        ranges=tuple((_range_name(entry), entry.statement) for entry in ranges),
        notes=_notes(zip(cells, grid.targets, strict=True), own_evidence),
    )


def _range_name(entry: GridRange) -> str:
    listener = "" if entry.listener == "plaintext" else f" {entry.listener}"
    return f"{implementation_name(entry.implementation)}{listener}"


def _shown(
    cell: GridCell | None,
    entry: GridTarget,
    anchor: str,
    evidence: Sequence[Evidence],
    clause: GridClause,
) -> ShownCell:
    if cell is None:
        text = f"{SYMBOLS[Verdict.NOT_RUN]} {WORDS[Verdict.NOT_RUN]}"
        verdict, said = Verdict.NOT_RUN, _NOT_PLANNED
    else:
        text, verdict, said = cell_text(cell), cell.verdict, _said_of(cell)
    own = [found for found in evidence if found.cell == cell]
    # One failure is one step away; several are listed with the clause.
    href = own[0].href if len(own) == 1 else anchor
    return ShownCell(
        style=verdict.value,
        text=text,
        label=entry.name,
        href="" if verdict is Verdict.CONFORMS else href,
        name=f"{clause.clause} on {entry.name}: {verdict.value.replace('_', ' ')}, {said}",
    )


def _said_of(cell: GridCell) -> str:
    if cell.distinct_failures:
        many = "failure" if cell.distinct_failures == 1 else "failures"
        return f"{cell.distinct_failures} distinct {many} in {cell.examples} examples"
    return cell.reason or f"{cell.examples} examples"


def _notes(
    columns: Iterable[tuple[GridCell | None, GridTarget]], evidence: Sequence[Evidence]
) -> tuple[ShownNote, ...]:
    """Say once what several targets have in common, for all that does not simply conform."""
    grouped: dict[tuple[Verdict, str], list[tuple[GridCell | None, GridTarget]]] = {}
    for cell, entry in columns:
        key = (Verdict.NOT_RUN, _NOT_PLANNED) if cell is None else (cell.verdict, _reason(cell))
        if key[0] is not Verdict.CONFORMS:
            grouped.setdefault(key, []).append((cell, entry))
    return tuple(
        ShownNote(
            style=verdict.value,
            text=f"{SYMBOLS[verdict]} {WORDS[verdict]}",
            targets=", ".join(entry.name for _, entry in members),
            reason=reason,
            evidence=tuple(
                found for found in evidence if found.cell in [cell for cell, _ in members]
            ),
        )
        for (verdict, reason), members in grouped.items()
    )


def _reason(cell: GridCell) -> str:
    return cell.known_violation or cell.reason
