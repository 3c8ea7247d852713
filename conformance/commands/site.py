"""`site`: pages and exports from tables that a roll-up made elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.commands.errors import InvalidFile
from conformance.commands.pages_option import PAGES_OPTION
from conformance.commands.progress import status_line
from reports.disk_faults import FULL_DISK
from reports.errors import StatementWithoutEvidence
from reports.grid.row_keys import ROW_KEYS
from reports.hash_list import write_hash_list
from reports.records import TABLES_FOLDER
from reports.refused_runs import missing_run_lists
from reports.site.grid_page import write_grid


@click.command()
@click.argument(
    "grid", metavar="GRID", type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@PAGES_OPTION
def site(grid: Path, pages: str | None) -> None:
    """Make the site of a grid whose tables a cluster made.

    GRID is a copy of the roll-up's --out folder. Pages, exports and the list of hashes are written next to its
    tables, as by `grid`.
    """
    missing = _missing(grid)
    if missing:
        raise InvalidFile(f"{grid} is not a complete roll-up; missing: {', '.join(missing)}")
    try:
        write_site(grid, pages)
    except (ValueError, TypeError, KeyError, OSError) as error:
        if isinstance(error, OSError) and error.errno in FULL_DISK:
            raise
        raise InvalidFile(f"{grid} cannot be read as a grid: {error}") from error


def write_site(grid: Path, pages: str | None) -> None:
    """Write pages, exports and the list of hashes next to a grid's tables, and print a summary."""
    with status_line("writing pages and exports"):
        try:
            summary = write_grid(grid, pages=pages or "")
        except StatementWithoutEvidence as error:
            raise click.ClickException(str(error)) from error
        write_hash_list(grid)
    click.echo(summary.sentence)
    click.echo(f"grid: {summary.page}")


def _missing(grid: Path) -> list[str]:
    tables = [f"{TABLES_FOLDER}/{name}.parquet" for name in ROW_KEYS]
    return [
        *(name for name in tables if not any((grid / name).glob("*.parquet"))),
        *missing_run_lists(grid),
    ]
