"""Writes every export of a grid folder: the grid itself, and all others below `exports/`."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from reports.escaping import csv_text
from reports.exports.allure_files import write_allure_results
from reports.exports.badges import write_badges
from reports.exports.feed import write_feed
from reports.exports.junit import write_junit
from reports.exports.links import FOLDER, SUMMARY, TABLE_SCHEMA, VIOLATIONS
from reports.exports.short_grid import short_grid
from reports.exports.summary import summary_markdown
from reports.exports.table_files import (
    GRID_ROW_TYPES,
    ExportedTable,
    exported_tables,
    rows_text,
    table_schema_text,
    write_tables,
)
from reports.exports.violations import violation_documents, violations_of
from reports.grid.grid_limits import GRID_FILE
from reports.grid.grid_summary import GridSummary
from reports.grid.grid_view import FoldedGrid, ListenerCell
from reports.grid.history_tables import HistoryTables
from reports.grid.products import Product, products_of
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
    """Write grid.json, grid.csv and grid.md into `out_dir`."""
    _write_json(folded, tables, summary, out_dir / GRID_FILE)
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


_PAGES = "../"
"""The relative path from the folder of the exports to the site's pages."""


def write_exports(
    folded: FoldedGrid, history: HistoryTables, summary: GridSummary, out_dir: Path
) -> None:
    """Write the grid as JSON, CSV and Markdown into `out_dir`, and everything else below `exports/`.

    Files that an earlier rendering wrote below `exports/` are removed. Links are relative unless the grid says where it is
    published.
    """
    grid = folded.grid
    pages = grid.pages or _PAGES
    failures = history.failures or ()
    shutil.rmtree(out_dir / FOLDER, ignore_errors=True)
    (out_dir / FOLDER).mkdir(parents=True)
    products = products_of(folded, history.failures)
    tables = exported_tables(grid, history)
    write_whole_grid(folded, products, tables, summary, out_dir)
    write_tables(tables, out_dir)
    (out_dir / TABLE_SCHEMA).write_text(table_schema_text(), encoding="utf-8")
    write_badges(folded, products, out_dir)
    write_feed(folded, summary, history.transitions or (), out_dir, pages=pages)
    write_junit(grid, products, failures, out_dir)
    write_allure_results(products, failures, out_dir)
    text = summary_markdown(folded, summary, failures, pages=pages)
    (out_dir / SUMMARY).write_text(text, encoding="utf-8")
    violations = violation_documents(violations_of(folded, failures, pages=pages))
    (out_dir / VIOLATIONS).write_text(json.dumps(violations, indent=1) + "\n", encoding="ascii")
