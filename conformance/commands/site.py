"""`site`: pages and exports from tables that a roll-up made elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from conformance.commands.errors import InvalidFile
from conformance.commands.pages_option import PAGES_OPTION
from conformance.commands.progress import status_line
from reports.disk_faults import DISK_FAULTS, FULL_DISK
from reports.errors import StatementWithoutEvidence
from reports.grid.grid_tables import Grid
from reports.grid.history_tables import HistoryTables
from reports.grid.row_keys import ROW_KEYS
from reports.hash_list import write_hash_list
from reports.records import TABLES_FOLDER
from reports.refused_runs import missing_run_lists
from reports.site.grid_page import read_tables, write_read_grid


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
    with _blamed(grid, but=FULL_DISK):
        tables = read_tables(grid, pages=pages or "")
    # What can be read and not be written is no fault of the grid's.
    with _blamed(grid, but=DISK_FAULTS):
        write_site(grid, *tables)


@contextmanager
def _blamed(grid: Path, *, but: Collection[int]) -> Iterator[None]:
    """Say of most errors in the block that the grid cannot be read.

    Args:
        grid: its folder.
        but: numbers of errors of the system that are raised as they are.
    """
    try:
        yield
    except (ValueError, TypeError, KeyError, OSError) as error:
        if isinstance(error, OSError) and error.errno in but:
            raise
        raise InvalidFile(f"{grid} cannot be read as a grid: {error}") from error


def write_site(out: Path, grid: Grid, history: HistoryTables) -> None:
    """Write pages, exports and the list of hashes next to a grid's tables, and print a summary.

    Args:
        out: the folder of the tables.
        grid: as `read_tables` returns it.
        history: the same.
    """
    with status_line("writing pages and exports"):
        try:
            summary = write_read_grid(grid, history, out)
        except StatementWithoutEvidence as error:
            raise click.ClickException(str(error)) from error
        write_hash_list(out)
    click.echo(summary.sentence)
    click.echo(f"grid: {summary.page}")


def _missing(grid: Path) -> list[str]:
    tables = [f"{TABLES_FOLDER}/{name}.parquet" for name in ROW_KEYS]
    return [
        *(name for name in tables if not any((grid / name).glob("*.parquet"))),
        *missing_run_lists(grid),
    ]
