"""The grid as a site and as exports: everything that `kafka-conformance grid` leaves for a reader."""

from __future__ import annotations

from pathlib import Path

from reports.exports.writing import write_exports
from reports.grid_summary import GridSummary, summarise
from reports.grid_tables import read_grid
from reports.history_tables import read_history_tables
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
    grid = read_grid(out_dir)
    summary = summarise(grid, out_dir / HOME)
    # First, so that the pages can link what exists.
    history = read_history_tables(out_dir)
    write_exports(grid, history, summary, out_dir)
    write_site(grid, history, summary, out_dir)
    return summary
