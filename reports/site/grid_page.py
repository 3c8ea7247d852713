"""The grid as a site and as exports: everything that `kafka-conformance grid` writes for readers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reports.exports.writing import write_exports
from reports.grid.addresses import HOME
from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import GridSummary, summarise
from reports.grid.grid_tables import Grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import HistoryTables, read_history_tables
from reports.site.building import write_pages
from reports.site.machine_pages import draw_machines


def write_grid(out_dir: Path, *, pages: str = "") -> GridSummary:
    """Render the pages and exports of a roll-up from its tables.

    Args:
        out_dir: the folder given to `spark_aggregation.job` as `--out`.
        pages: the address at which the site is published, with a slash at its end; empty for relative links.

    Returns:
        The summary of the grid.

    Raises:
        StatementWithoutEvidence: a range statement has an exception that nothing explains.
    """
    return write_read_grid(*read_tables(out_dir, pages=pages), out_dir)


def read_tables(out_dir: Path, *, pages: str = "") -> tuple[Grid, HistoryTables]:
    """Read the tables of a roll-up; see `write_grid`."""
    return replace(read_grid(out_dir), pages=pages), read_history_tables(out_dir)


def write_read_grid(grid: Grid, history: HistoryTables, out_dir: Path) -> GridSummary:
    """Draw what `render_grid` needs, and render it.

    Raises:
        StatementWithoutEvidence: a range statement has an exception that nothing explains.
    """
    draw_machines(history, out_dir)
    return render_grid(grid, history, out_dir)


def render_grid(grid: Grid, history: HistoryTables, out_dir: Path) -> GridSummary:
    """Render a grid and history that are already read, next to the pictures of machines; see `write_grid`.

    Raises:
        StatementWithoutEvidence: a range statement has an exception that nothing explains.
    """
    folded = FoldedGrid(grid)
    summary = summarise(folded, out_dir / HOME, history.failures)
    # The exports come first: pages link only to files that exist.
    write_exports(folded, history, summary, out_dir)
    write_pages(folded, history, out_dir)
    return summary
