"""Pages with the grid of each role, within 150 kB for 120 clauses and 40 targets.

To stay that small, cells that conform or do not apply have neither link nor class, and those that do not apply are
empty: the style sheet shows a dash. Optional end tags are omitted. The label that a narrow screen needs in front of
each cell is one CSS rule per column. Rules that apply to no target of a page share one row per source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reference_model.profiles.listeners import PLAINTEXT
from reports.grid import addresses
from reports.grid.grid_tables import Grid
from reports.grid.grid_view import (
    WITHOUT_FINDING,
    FoldedCell,
    FoldedGrid,
    TargetColumn,
    role_title,
    verdict_text,
)
from reports.grid.ranges import short_statement
from reports.records import OPERATION, Verdict
from reports.site.filters import filters_of
from reports.site.grid_columns import BLANK, Block, blocks_of, label_rules, worst_of
from reports.site.rendering import Site
from reports.tables.cell_rows import GridCell, GridClause
from reports.tables.target_names import implementation_name
from reports.wording.verdict_labels import SYMBOLS, percent

_MAX_DAYS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCell:
    """One cell of the grid: its CSS class, its text and, if it has a page, the link and its full name.

    Without class and text the rule does not apply.
    """

    style: str = ""
    text: str = ""
    href: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """One row; `changed` is the day on which the verdict of one of its cells last changed."""

    clause: GridClause
    range: str
    cells: tuple[PageCell, ...]
    changed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSource:
    """The rules of one source: its rows, and the rules that apply to no target of the page."""

    name: str
    rows: tuple[PageRow, ...]
    absent: tuple[GridClause, ...]


def write_role_grids(site: Site) -> None:
    """Write brokers.html, clients.html and operations.html, each if there is something to show."""
    for role, folded in site.folded.by_role.items():
        _write(site, role, folded)


def _write(site: Site, role: str, folded: FoldedGrid) -> None:
    range_of = range_heading(folded)
    blocks = blocks_of(folded, 3 if range_of else 2)
    filters = filters_of(role, folded, blocks)
    sources = [_source(folded, blocks, name, clauses, with_range=bool(range_of)) for name, clauses in folded.sources]
    changes = {row.changed for source in sources for row in source.rows}
    days = sorted(changes - {""}, reverse=True)[:_MAX_DAYS]
    site.render(
        addresses.role_page(role),
        "role_grid",
        role=role,
        title=role_title(role),
        noun="operation" if role == OPERATION else "rule",
        caption=caption_of(folded.grid),
        range_of=range_of,
        blocks=blocks,
        sources=sources,
        wholes=[cell for block in blocks for cell in _wholes(folded, block)],
        filters=filters,
        source_ids={choice.value: choice.id for choice in filters.sources},
        days=days,
        labels=label_rules(role, folded, blocks),
        count=sum(len(source.rows) for source in sources),
    )


def range_heading(folded: FoldedGrid) -> str:
    """Return the implementation whose ranges stand next to the rules; empty if none do.

    Where releases are folded by their major there is no room for it; the page of each rule has its ranges.
    """
    is_folded = any(block.is_folded for block in blocks_of(folded, 2))
    return "" if is_folded else implementation_name(folded.main_implementation)


def caption_of(grid: Grid) -> str:
    """Return one line with the runs, days and suite versions that a grid shows."""
    shown = [run for run in grid.runs if run.in_grid]
    days = sorted({f"{run.started_at:%Y-%m-%d}" for run in shown})
    names = f"Run {shown[0].run_id}" if len(shown) == 1 else f"{len(shown)} runs"
    period = " to ".join(dict.fromkeys((days[0], days[-1])))
    suites = sorted({f"suite {run.suite_version}{_commit(run.suite_commit)}" for run in shown})
    return f"{names}, {period}, {'; '.join(suites)}"


def _commit(commit: str | None) -> str:
    return f", commit {commit[:12]}" if commit else ""


def _source(
    folded: FoldedGrid,
    blocks: Sequence[Block],
    name: str,
    clauses: Sequence[GridClause],
    *,
    with_range: bool,
) -> PageSource:
    absent = tuple(
        clause
        for clause in clauses
        if all(cell.verdict is Verdict.NOT_APPLICABLE for cell in folded.cells[clause.clause])
    )
    return PageSource(
        name=name,
        rows=tuple(_row(folded, blocks, clause, with_range=with_range) for clause in clauses if clause not in absent),
        absent=absent,
    )


def _row(folded: FoldedGrid, blocks: Sequence[Block], clause: GridClause, *, with_range: bool) -> PageRow:
    cells = folded.cells[clause.clause]
    days = [_day_of_change(cell.row) for each in cells for cell in each.listeners if cell.row]
    return PageRow(
        clause=clause,
        range=_main_range(folded, clause.clause) if with_range else "",
        cells=tuple(cell for block in blocks for cell in _cells(block, clause, cells)),
        changed=max(days, default=""),
    )


def _main_range(folded: FoldedGrid, clause: str) -> str:
    """Return the plaintext listener's statement, else the first listener's that has one; the clause's page has all."""
    statements = {
        entry.listener: entry.statement
        for entry in folded.ranges[clause]
        if entry.implementation == folded.main_implementation
    }
    return short_statement(statements.get(PLAINTEXT) or next(iter(statements.values()), ""))


def _day_of_change(cell: GridCell) -> str:
    changed = cell.previous_verdict is not None and cell.last_changed is not None
    return f"{cell.last_changed:%Y-%m-%d}" if changed else ""


def _cells(block: Block, clause: GridClause, row: Sequence[FoldedCell]) -> Iterator[PageCell]:
    own = block.cells_of(row)
    if block.is_folded:
        yield _fold(block, clause, own)
    for cell, column in zip(own, block.columns, strict=True):
        yield _cell(cell, column, clause)


def _fold(block: Block, clause: GridClause, own: Sequence[FoldedCell]) -> PageCell:
    """Return the cell that stands for all releases of a block; it leads to the newest one with the worst verdict."""
    worst, count = worst_of(own)
    symbol, rest = SYMBOLS[worst.verdict], len(own) - count
    if worst.verdict is Verdict.NOT_APPLICABLE:
        return PageCell(style=BLANK if all(cell.is_blank for cell in own) else "")
    if worst.verdict in WITHOUT_FINDING:
        absent = f" {count}, {SYMBOLS[Verdict.NOT_APPLICABLE]} {rest}" if rest else ""
        return PageCell(text=f"{symbol}{absent}")
    return PageCell(
        style=worst.verdict.value,
        text=f"{symbol} {count} of {len(own)}",
        href=addresses.clause_cell(clause.clause, worst.target),
        name=f"{clause.title} on {block.name}: {worst.verdict.value.replace('_', ' ')} in {count} of {block.size}",
    )


def _style(verdict: Verdict) -> str:
    return "na" if verdict is Verdict.NOT_APPLICABLE else verdict.value


def _cell(cell: FoldedCell, column: TargetColumn, clause: GridClause) -> PageCell:
    if cell.verdict is Verdict.CONFORMS:
        return PageCell(text=_kept_text(cell))
    if cell.verdict is Verdict.NOT_APPLICABLE:
        return PageCell(style=BLANK if cell.is_blank else "")
    return PageCell(
        style=cell.verdict.value,
        text=cell.worst.text,
        href=addresses.cell_page(cell.clause, cell.target, cell.worst.listener),
        name=f"{clause.title} on {column.name}: {_description(cell)}",
    )


def _kept_text(cell: FoldedCell) -> str:
    """Return how strong the evidence is: the examples that conform on all listeners; an operation has one."""
    if cell.worst.role == OPERATION:
        return cell.worst.text
    return f"{SYMBOLS[Verdict.CONFORMS]} {cell.examples}"


def _description(cell: FoldedCell) -> str:
    parts = [cell.verdict.value.replace("_", " ")]
    if cell.verdict is Verdict.FLAKY and cell.worst.flake_rate is not None:
        parts.append(f"{percent(cell.worst.flake_rate)} of its repeats failed")
    if cell.worst.found:
        parts.append(cell.worst.found)
    if cell.since:
        parts.append(f"first seen {cell.since}")
    return ", ".join(parts)


def _neutral_wholes(block: Block, rows: Sequence[Sequence[FoldedCell]]) -> Iterator[PageCell]:
    counts = [
        (
            sum(row[index].verdict is Verdict.CONFORMS for row in rows),
            sum(not row[index].is_blank for row in rows),
        )
        for index in range(len(block.columns))
    ]
    if block.is_folded:
        works, tried = (sum(numbers) for numbers in zip(*counts, strict=True))
        yield PageCell(style="na", text=f"{works} of {tried}")
    for column, (works, tried) in zip(block.columns, counts, strict=True):
        yield PageCell(
            style="na",
            text=f"{works} of {tried}",
            href=addresses.target_page(column.target),
            name=f"{column.name}: {works} of {tried} operations that were tried work",
        )


def _wholes(folded: FoldedGrid, block: Block) -> Iterator[PageCell]:
    """Yield the summary cells of a block: the worst verdict of each target, and how many rules have it.

    For operations they are neutral, because the clients answer for these and not the releases.
    """
    rows = [block.cells_of(row) for row in folded.cells.values()]
    if any(clause.role == OPERATION for clause in folded.grid.clauses):
        yield from _neutral_wholes(block, rows)
        return
    if block.is_folded:
        worst = [worst_of([row[index] for row in rows])[0] for index in range(len(block.columns))]
        cell, count = worst_of(worst)
        yield PageCell(
            style=_style(cell.verdict),
            text=f"{SYMBOLS[cell.verdict]} {count} of {len(worst)}",
        )
    for index, column in enumerate(block.columns):
        cell, count = worst_of([row[index] for row in rows])
        word = cell.verdict.value.replace("_", " ")
        text = verdict_text(cell.verdict)
        yield PageCell(
            style=_style(cell.verdict),
            text=text if cell.verdict in WITHOUT_FINDING else f"{text} {count}",
            href=addresses.target_page(column.target),
            name=f"{column.name}, all rows: {word} in {count} of {len(rows)}",
        )
