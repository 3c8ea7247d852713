"""Writes every export of a grid folder: the grid itself, and all others below `exports/`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from reports.exports.allure_files import write_allure_results
from reports.exports.badges import write_badges
from reports.exports.feed import write_feed
from reports.exports.junit import write_junit
from reports.exports.links import FOLDER, SUMMARY, TABLE_SCHEMA, VIOLATIONS
from reports.exports.summary import summary_markdown
from reports.exports.table_files import exported_tables, table_schema_text, write_tables
from reports.exports.violations import violation_documents, violations_of
from reports.exports.whole_grid import write_whole_grid
from reports.grid.grid_summary import GridSummary
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import HistoryTables
from reports.grid.products import products_of

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
