"""Writes all pages of the site from the tables of a roll-up; each page's module decides what its page shows."""

from __future__ import annotations

from pathlib import Path

from proposals import provided
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import HistoryTables
from reports.site.advertised import write_advertised
from reports.site.change_pages import write_releases
from reports.site.changes import write_changes
from reports.site.clause_pages import write_clauses
from reports.site.drill_down import write_cells
from reports.site.evidence_check import check_statements
from reports.site.failure_pages import write_failures
from reports.site.home import write_home
from reports.site.machine_pages import write_machines
from reports.site.moved_pages import write_moved_pages
from reports.site.product_pages import write_products
from reports.site.rendering import Site, empty_folders
from reports.site.role_grids import write_role_grids
from reports.site.rules import write_rules
from reports.site.search import write_search
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
    *provided("page"),
    write_why,
    write_search,
    write_moved_pages,
)


def write_pages(folded: FoldedGrid, history: HistoryTables, out_dir: Path) -> None:
    """Write every page into `out_dir`; pages of an earlier rendering are removed.

    Raises:
        StatementWithoutEvidence: a range statement has an exception that nothing explains; no page is
            written.
    """
    check_statements(folded.grid, history)
    empty_folders(out_dir)
    site = Site(folded=folded, history=history, out_dir=out_dir)
    for write in _WRITERS:
        write(site)
