"""`site`: pages and exports from tables that a roll-up made elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.commands.errors import InvalidFile, reported_as
from conformance.commands.options import FOLDER, PAGES_OPTION
from conformance.commands.output_console import status_line
from conformance.commands.results import blaming_grid
from reports.grid.grid_tables import Grid
from reports.grid.history_tables import HistoryTables
from reports.records import TABLES_FOLDER
from reports.run_folders.hash_list import write_hash_list
from reports.run_folders.refused_runs import missing_run_lists
from reports.site.build import build_site, read_tables
from reports.site.evidence_check import StatementWithoutEvidence
from reports.tables.all_tables import ROW_KEYS


@click.command()
@click.argument("grid", metavar="GRID", type=FOLDER)
@PAGES_OPTION
def site(grid: Path, pages: str | None) -> None:
    """Make the site of a grid whose tables a cluster made.

    GRID is a copy of the roll-up's --out folder. Pages, exports and the list of hashes are written next to its
    tables, as by `grid`.
    """
    missing = _missing(grid)
    if missing:
        raise InvalidFile(f"{grid} is not a complete roll-up; missing: {', '.join(missing)}")
    with blaming_grid(grid):
        write_site(grid, *read_tables(grid, pages=pages or ""))


def write_site(out: Path, grid: Grid, history: HistoryTables) -> None:
    """Write pages, exports and the list of hashes next to a grid's tables, and print a summary."""
    with status_line("writing pages and exports"):
        with reported_as(click.ClickException, StatementWithoutEvidence):
            summary = build_site(grid, history, out)
        write_hash_list(out)
    click.echo(summary.sentence)
    click.echo(f"grid: {summary.page}")


def _missing(grid: Path) -> list[str]:
    tables = [f"{TABLES_FOLDER}/{name}.parquet" for name in ROW_KEYS]
    return [
        *(name for name in tables if not any((grid / name).glob("*.parquet"))),
        *missing_run_lists(grid),
    ]
