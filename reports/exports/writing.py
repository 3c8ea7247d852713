"""Writer of every export of a grid folder.

It writes the grid itself, and all others below `exports/`.

Every table is there as CSV, JSON and, unless it is long, Markdown, for programs and for other documents. The rows are
the dataclasses of `reports.tables`; `table_schema.json` describes the JSON. The texts and the capture of a failure are
files next to its page, not columns of its table.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from reports.exports.badges import write_badges
from reports.exports.feed import write_feed
from reports.exports.issues import violation_documents, violations_of
from reports.exports.junit import write_junit
from reports.exports.short_grid import short_grid
from reports.exports.summary_markdown import summary_markdown
from reports.grid.addresses import EXPORTS, SUMMARY, TABLE_SCHEMA, VIOLATIONS, table_address
from reports.grid.grid_summary import GridSummary
from reports.grid.grid_tables import Grid, GridRange
from reports.grid.grid_view import FoldedGrid, ListenerCell
from reports.grid.history_tables import HistoryTables
from reports.grid.products import products_of
from reports.grid.table_rows import GRID_FILE
from reports.records import Verdict
from reports.run_folders.refused_runs import RefusedRun
from reports.tables.all_tables import ROW_TYPES
from reports.tables.cell_rows import CellFailure, GridCell, GridClause
from reports.tables.run_rows import GridRun
from reports.tables.target_rows import GridTarget
from reports.wording.escaping import csv_text, markdown_text
from reports.wording.markdown_table import markdown_table

GRID_SCHEMA_VERSION = 1
"""Version of grid.json's layout; the names are those of the dataclasses in `reports.tables`."""
TABLE_SCHEMA_VERSION = 1
"""Version of the layout of `exports/*.json`."""
GRID_ROW_TYPES: Mapping[str, type] = {
    "cells": GridCell,
    "targets": GridTarget,
    "clauses": GridClause,
    "ranges": GridRange,
    "runs": GridRun,
    "refused": RefusedRun,
}
"""Maps each table of the grid to the class of its rows."""
HISTORY_ROW_TYPES: Mapping[str, type] = {
    table.name: ROW_TYPES[table.name] for table in fields(HistoryTables) if table.name != "machines"
}
"""The same of the exported tables from the history. The machines have pages of their own."""
MAX_MARKDOWN_BYTES = 200_000
"""A longer table in Markdown has no readers; there is one as JSON and as CSV."""
_PAGES = "../"
"""The relative path from the folder of the exports to the site's pages."""
_LEFT_OUT = {"failures": ("facts", "hex_dump", "reproducer", "pcap")}
_FIRST = {"clauses": ("clause",)}
_LAST = {"runs": ("whole", "corrects", "load_at_start", "highest_load", "clause_set")}
"""Columns that are not where their class has them: what reads an export as CSV may count columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTable:
    """One table: its columns, in the order of `columns_of`, and its rows as JSON has its values.

    `inputs_sha256` is the hash of the table's inputs; empty if unknown.
    """

    name: str
    inputs_sha256: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]


def exported_tables(grid: Grid, history: HistoryTables) -> list[ExportedTable]:
    """Return every table that the roll-up wrote."""
    row_types = {**GRID_ROW_TYPES, **HISTORY_ROW_TYPES}
    rows_of = {name: getattr(grid if name in GRID_ROW_TYPES else history, name) for name in row_types}
    return [
        _table(name, rows, row_types[name], grid.inputs_sha256.get(name, ""))
        for name, rows in rows_of.items()
        if rows is not None
    ]


def columns_of(name: str, row_type: type) -> tuple[str, ...]:
    """Return the exported columns of a table."""
    first, last = _FIRST.get(name, ()), _LAST.get(name, ())
    elsewhere = {*first, *last, *_LEFT_OUT.get(name, ())}
    return (*first, *(field.name for field in fields(row_type) if field.name not in elsewhere), *last)


def _table(name: str, rows: Iterable[Any], row_type: type, inputs_sha256: str) -> ExportedTable:
    columns = columns_of(name, row_type)
    json_rows = [{column: _json_value(getattr(row, column)) for column in columns} for row in rows]
    return ExportedTable(name=name, inputs_sha256=inputs_sha256, columns=columns, rows=json_rows)


def _json_value(value: object) -> object:
    """Return a value as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, CellFailure):
        return asdict(value)
    if isinstance(value, tuple):
        return [_json_value(entry) for entry in value]
    if isinstance(value, Mapping):
        return dict(value)
    return value


def write_tables(tables: Iterable[ExportedTable], out_dir: Path) -> None:
    """Write each table as JSON and CSV, and as Markdown if that has at most `MAX_MARKDOWN_BYTES`."""
    for table in tables:
        _write_table_json(table, out_dir / table_address(table.name, "json"))
        rows = ([row[name] for name in table.columns] for row in table.rows)
        _write_csv([table.columns, *rows], out_dir / table_address(table.name, "csv"))
        _write_table_markdown(table, out_dir / table_address(table.name, "md"))


def table_schema_text() -> str:
    """Return the published JSON Schema of `exports/*.json`."""
    return files("reports.exports").joinpath("table_schema.json").read_text(encoding="utf-8")


def _write_table_json(table: ExportedTable, path: Path) -> None:
    head = {
        "table_schema_version": TABLE_SCHEMA_VERSION,
        "table": table.name,
        "inputs_sha256": table.inputs_sha256,
        "columns": table.columns,
    }
    path.write_text(f'{json.dumps(head)[:-1]}, "rows": {rows_text(table)}}}\n', encoding="ascii")


def rows_text(table: ExportedTable) -> str:
    """Return the rows as a JSON array with one row per line, so that any tool can compare two nights."""
    rows = ",\n".join(json.dumps(row) for row in table.rows)
    return f"[\n{rows}\n]"


def _write_csv(rows: Iterable[Iterable[object]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(map(_csv_value, row) for row in rows)


def _csv_value(value: object) -> object:
    """Return a value for CSV; numbers need no escaping, as only a text can be a formula."""
    if value is None or isinstance(value, int | float):
        return value
    return csv_text(_words(value))


def _write_table_markdown(table: ExportedTable, path: Path) -> None:
    rows = ([markdown_text(_words(row[name])) for name in table.columns] for row in table.rows)
    text = "\n".join(markdown_table(table.columns, rows)) + "\n"
    if len(text.encode()) <= MAX_MARKDOWN_BYTES:
        path.write_text(text, encoding="utf-8")


def _words(value: object) -> str:
    """Return a value as text for a flat table: parts separated by spaces, a failure as its signature."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        signature = value.get("signature")
        return signature or " ".join(f"{name}={text}" for name, text in value.items())
    if isinstance(value, list):
        return " ".join(_words(entry) for entry in value)
    return str(value)


def _write_json(folded: FoldedGrid, tables: Sequence[ExportedTable], summary: GridSummary, path: Path) -> None:
    """Write one JSON object: its schema version first, then the grid's tables with one row per line."""
    head = {
        "grid_schema_version": GRID_SCHEMA_VERSION,
        "inputs_sha256": next(table.inputs_sha256 for table in tables if table.name == "cells"),
        "sentence": summary.sentence,
        "verdict": summary.verdict,
        "counts": summary.cells,
        "pages": folded.grid.pages,
    }
    rows = (f'"{table.name}": {rows_text(table)}' for table in tables if table.name in GRID_ROW_TYPES)
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


def write_exports(folded: FoldedGrid, history: HistoryTables, summary: GridSummary, out_dir: Path) -> None:
    """Write the grid as JSON, CSV and Markdown into `out_dir`, and everything else below `exports/`.

    Files that an earlier rendering wrote below `exports/` are removed. Links are relative unless the grid says where it
    is published.
    """
    grid = folded.grid
    pages = grid.pages or _PAGES
    failures = history.failures or ()
    shutil.rmtree(out_dir / EXPORTS, ignore_errors=True)
    (out_dir / EXPORTS).mkdir(parents=True)
    products = products_of(folded, history.failures)
    tables = exported_tables(grid, history)
    _write_json(folded, tables, summary, out_dir / GRID_FILE)
    _write_csv(_rows(folded), out_dir / "grid.csv")
    (out_dir / "grid.md").write_text(short_grid(folded, products, summary), encoding="utf-8")
    write_tables(tables, out_dir)
    (out_dir / TABLE_SCHEMA).write_text(table_schema_text(), encoding="utf-8")
    write_badges(folded, products, out_dir)
    write_feed(folded, summary, history.transitions or (), out_dir, pages=pages)
    write_junit(grid, products, failures, out_dir)
    text = summary_markdown(folded, summary, failures, pages=pages)
    (out_dir / SUMMARY).write_text(text, encoding="utf-8")
    violations = violation_documents(violations_of(folded, failures, pages=pages))
    (out_dir / VIOLATIONS).write_text(json.dumps(violations, indent=1) + "\n", encoding="ascii")
