"""The complete site: all pages and exports of a grid, from a roll-up's tables.

Each page's module decides what the page shows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from proposals import provided
from reports.exports.writing import write_exports
from reports.grid import addresses
from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import GridSummary, summarise
from reports.grid.grid_tables import Grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import HistoryTables, read_history_tables
from reports.site.advertised_page import write_advertised
from reports.site.changes_page import write_changes
from reports.site.clause_pages import write_clauses
from reports.site.drill_down import write_cells
from reports.site.evidence_check import check_statements
from reports.site.failure_pages import write_failures
from reports.site.home import write_home
from reports.site.machine_pages import draw_machines, write_machines
from reports.site.moved_pages import write_moved_pages
from reports.site.product_pages import write_products
from reports.site.releases_page import write_releases
from reports.site.rendering import Site, empty_folders
from reports.site.role_grids import write_role_grids
from reports.site.rules_page import write_rules
from reports.site.search_index import write_search
from reports.site.target_pages import write_targets
from reports.site.upgrade_pages import write_upgrades
from reports.site.why import write_why

_WRITERS = (
    # First, because pages of targets and the grid of brokers link to what it writes.
    write_machines,
    write_home,
    write_role_grids,
    write_rules,
    write_clauses,
    write_targets,
    write_products,
    write_cells,
    write_failures,
    write_upgrades,
    write_releases,
    write_changes,
    write_advertised,
    *(page.write for page in provided("page")),
    write_why,
    write_search,
    write_moved_pages,
)


def read_tables(out_dir: Path, *, pages: str = "") -> tuple[Grid, HistoryTables]:
    """Read the tables of a roll-up.

    Args:
        out_dir: the folder given to `spark_aggregation.job` as `--out`.
        pages: the address at which the site is published, with a slash at its end; empty for relative links.
    """
    return replace(read_grid(out_dir), pages=pages), read_history_tables(out_dir)


def build_site(grid: Grid, history: HistoryTables, out_dir: Path) -> GridSummary:
    """Draw the pictures of machines, and write all pages and exports of a grid.

    Returns:
        The summary of the grid.

    Raises:
        StatementWithoutEvidence: a range statement has an exception that nothing explains.
    """
    draw_machines(history, out_dir)
    return render_site(grid, history, out_dir)


def render_site(grid: Grid, history: HistoryTables, out_dir: Path) -> GridSummary:
    """Write all pages and exports next to the pictures of machines.

    See `build_site`. Pages of an earlier rendering are removed.
    """
    folded = FoldedGrid(grid)
    summary = summarise(folded, out_dir / addresses.HOME, history.failures)
    # The exports come first: pages link only to files that exist.
    write_exports(folded, history, summary, out_dir)
    check_statements(grid, history)
    empty_folders(out_dir)
    site = Site(folded=folded, history=history, out_dir=out_dir)
    for write in _WRITERS:
        write(site)
    return summary
