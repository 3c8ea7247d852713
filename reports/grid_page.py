"""The grid as a site and as exports: everything that `kafka-conformance grid` leaves for a reader."""

from __future__ import annotations

from pathlib import Path

from reports.exports.writing import write_exports
from reports.grid_summary import GridSummary, summarise
from reports.grid_tables import Grid, read_grid
from reports.history_tables import HistoryTables, read_history_tables
from reports.site.addresses import HOME
from reports.site.building import write_site


def write_grid(out_dir: Path) -> GridSummary:
    """Render a roll-up from its tables: the pages, and the exports beside them.

    Args:
        out_dir: the folder given to `spark_aggregation.job` as `--out`.

    Returns:
        What the grid says as a whole.

    Raises:
        StatementWithoutEvidence: a range statement has an exception that nothing explains.
    """
    return render_grid(read_grid(out_dir), read_history_tables(out_dir), out_dir)


def render_grid(grid: Grid, history: HistoryTables, out_dir: Path) -> GridSummary:
    """Render what was read from tables; see `write_grid`.

    Raises:
        StatementWithoutEvidence: as there.
    """
    summary = summarise(grid, out_dir / HOME)
    # First, so that the pages can link what exists.
    write_exports(grid, history, summary, out_dir)
    write_site(grid, history, summary, out_dir)
    return summary
