"""The grid for programs and for other documents: grid.json, grid.csv and grid.md.

`grid.json` holds every table of the grid. `grid.csv` has a row per clause and a column per target, its listeners folded into the
worst verdict; a cell that could not be judged has its reason after the verdict. `short_grid` makes `grid.md`, and `table_files`
exports each table separately.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from reports.escaping import csv_text
from reports.exports.short_grid import short_grid
from reports.exports.table_files import GRID_ROW_TYPES, ExportedTable, rows_text
from reports.grid.grid_summary import GridSummary
from reports.grid.grid_view import FoldedGrid, ListenerCell
from reports.grid.products import Product
from reports.records import Verdict

GRID_SCHEMA_VERSION = 1
"""Version of grid.json's layout; the names are those of the dataclasses in `reports.grid.grid_tables`."""


def write_whole_grid(
    folded: FoldedGrid,
    products: Sequence[Product],
    tables: Sequence[ExportedTable],
    summary: GridSummary,
    out_dir: Path,
) -> None:
    """Write grid.json, grid.csv and grid.md into `out_dir`.

    Args:
        folded: the grid.
        products: who answers for its cells.
        tables: its tables, for grid.json.
        summary: its sentence and counts.
        out_dir: the folder.
    """
    _write_json(folded, tables, summary, out_dir / "grid.json")
    _write_csv(folded, out_dir / "grid.csv")
    (out_dir / "grid.md").write_text(short_grid(folded, products, summary), encoding="utf-8")


def _write_json(
    folded: FoldedGrid, tables: Sequence[ExportedTable], summary: GridSummary, path: Path
) -> None:
    """Write one JSON object: its schema version first, then the grid's tables with one row per line."""
    head = {
        "grid_schema_version": GRID_SCHEMA_VERSION,
        "inputs_sha256": next(table.inputs_sha256 for table in tables if table.name == "cells"),
        "sentence": summary.sentence,
        "verdict": summary.verdict,
        "counts": summary.cells,
        "pages": folded.grid.pages,
    }
    rows = (
        f'"{table.name}": {rows_text(table)}' for table in tables if table.name in GRID_ROW_TYPES
    )
    text = ",\n".join([json.dumps(head)[:-1], *rows])
    path.write_text(text + "}\n", encoding="ascii")


def _rows(folded: FoldedGrid) -> Iterator[list[str]]:
    """Yield the rows of the table, the header first."""
    yield ["clause", "level", *(column.name for column in folded.columns)]
    for clause in folded.grid.clauses:
        cells = (cell.worst for cell in folded.cells[clause.clause])
        yield [clause.clause, clause.level, *map(_text_of, cells)]


def _text_of(cell: ListenerCell) -> str:
    if cell.verdict is Verdict.INCONCLUSIVE and cell.reason:
        return f"{cell.text}: {cell.reason}"
    return cell.text


def _write_csv(folded: FoldedGrid, path: Path) -> None:
    rows = _rows(folded)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([csv_text(text) for text in row] for row in rows)
