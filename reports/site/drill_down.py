"""The pages of cells, and what the pages of clauses and targets share with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from reports.grid import addresses
from reports.grid.grid_view import (
    WITHOUT_FINDING,
    FoldedCell,
    FoldedGrid,
    ListenerCell,
    listener_order,
)
from reports.records import OPERATION
from reports.site.rendering import Site
from reports.tables.cell_rows import CellFailure, GridClause
from reports.tables.failure_rows import KeptFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseHistory:
    """The history of one clause; a part is None if the roll-up did not write its table."""

    coverage: list[Any] | None
    mutation: list[Any] | None
    transitions: list[Any] | None
    flakes: list[Any] | None

    @classmethod
    def group(cls, site: Site) -> Mapping[str, ClauseHistory]:
        """Return the history of every clause of the grid."""
        tables = {field.name: by_clause(getattr(site.history, field.name)) for field in fields(cls)}
        return {
            clause.clause: cls(
                **{name: None if table is None else table.get(clause.clause, []) for name, table in tables.items()}
            )
            for clause in site.folded.grid.clauses
        }


def by_clause(rows: Iterable[Any] | None) -> Mapping[str, list[Any]] | None:
    """Group the rows of a table by their clause; None stays None."""
    if rows is None:
        return None
    grouped: dict[str, list[Any]] = {}
    for row in rows:
        grouped.setdefault(row.clause, []).append(row)
    return grouped


def listeners_of(site: Site) -> tuple[str, ...]:
    """Return the listeners that any target has."""
    listeners = {entry.listener for entry in site.folded.grid.targets}
    return tuple(sorted(listeners, key=listener_order))


def page_of(cell: FoldedCell, listener: ListenerCell) -> str:
    """Return the address of a cell's own page; empty if it has none."""
    if listener.verdict in WITHOUT_FINDING:
        return ""
    return addresses.cell_page(cell.clause, cell.target, listener.listener)


def in_order(cell: FoldedCell, listeners: Sequence[str]) -> list[ListenerCell | None]:
    """Return a cell's listeners in the order of a table's columns; None where it has no such listener."""
    of_listener = {entry.listener: entry for entry in cell.listeners}
    return [of_listener.get(name) for name in listeners]


def write_cells(site: Site) -> None:
    """Write cells/<clause>/<target>-<listener>.html for every cell that does not plainly conform."""
    history = ClauseHistory.group(site)
    kept = {(row.run_id, row.signature): row for row in site.history.failures or ()}
    clauses = {clause.clause: clause for clause in site.folded.grid.clauses}
    for folded in site.folded.by_role.values():
        for clause, cells in folded.cells.items():
            for column_index, cell in enumerate(cells):
                for listener in cell.listeners:
                    if listener.verdict not in WITHOUT_FINDING:
                        judged = clauses[clause]
                        _write_cell(site, folded, judged, column_index, listener, history[clause], kept)


def _write_cell(
    site: Site,
    folded: FoldedGrid,
    clause: GridClause,
    column_index: int,
    listener: ListenerCell,
    history: ClauseHistory,
    kept: Mapping[tuple[str, str], KeptFailure],
) -> None:
    cells = folded.cells[clause.clause]
    cell, column = cells[column_index], folded.columns[column_index]

    def own(rows: list[Any] | None) -> list[Any] | None:
        if rows is None:
            return None
        key = (cell.target, listener.listener)
        return [row for row in rows if (row.target, row.listener) == key]

    failures = _failures(listener, kept)
    site.render(
        addresses.cell_page(clause.clause, cell.target, listener.listener),
        "cell",
        clause=clause,
        column=column,
        is_client=column.is_client,
        is_operation=listener.role == OPERATION,
        release="version" if column.is_client else "release",
        cell=cell,
        listener=listener,
        failures=failures,
        recorded=site.history.failures is not None,
        transitions=own(history.transitions),
        flakes=own(history.flakes),
        neighbours=[
            (folded.columns[other], cells[other])
            for other in range(column_index - 3, column_index + 4)
            if 0 <= other < len(cells) and folded.columns[other].implementation == column.implementation
        ],
        page_of=page_of,
    )


def _failures(
    listener: ListenerCell, kept: Mapping[tuple[str, str], KeptFailure]
) -> list[tuple[CellFailure, KeptFailure | None]]:
    if listener.row is None:
        return []
    return [(failure, kept.get((listener.row.run_id, failure.signature))) for failure in listener.row.failures]
