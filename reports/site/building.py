"""Writes all pages of the site from the tables of a roll-up; each page's module decides what its page shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from proposals import provided
from reports.errors import StatementWithoutEvidence
from reports.grid import addresses
from reports.grid.grid_tables import Grid, GridCell
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import HistoryTables, leaves_open
from reports.records import VERDICTS_WITH_FAILURES, Verdict
from reports.site.advertised import write_advertised
from reports.site.change_pages import write_releases
from reports.site.changes import write_changes
from reports.site.clause_pages import write_clauses
from reports.site.drill_down import write_cells
from reports.site.failure_pages import write_failures
from reports.site.home import write_home
from reports.site.machine_pages import write_machines
from reports.site.rendering import Site, empty_folders
from reports.site.role_grids import write_role_grids
from reports.site.rules import write_rules
from reports.site.search import write_search
from reports.site.target_pages import reports_of, write_targets
from reports.site.upgrade_pages import write_upgrades
from reports.site.why import write_why


def write_products(site: Site) -> None:
    """Write products/<product>.html for every product of which several versions were judged and one has a bug."""
    for versions in site.versions:
        site.render(
            addresses.product_page(versions.id),
            "product",
            versions=versions,
            rows=[(bug, reports_of(bug.evidence)) for bug in versions.bugs],
        )


_GOALS = {
    "findings.html": f"{addresses.RULES}?state=violates",
    "ranges.html": addresses.RULES,
    "about.html": addresses.WHY,
    "mutation.html": addresses.WHY,
    "speed.html": addresses.WHY,
}


def write_moved_pages(site: Site) -> None:
    """Write a page at each old address."""
    changes = addresses.CHANGES if site.has_changes else addresses.WHY
    for address, goal in {**_GOALS, "since.html": changes}.items():
        site.render(address, "moved", goal=goal)


_NEED_A_NOTE = (
    *(Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE),
    *(Verdict.KNOWN_VIOLATION, Verdict.UNEXPECTED_PASS),
)


def check_statements(grid: Grid, history: HistoryTables) -> None:
    """Check every cell that makes a range statement partial.

    If failures are not recorded at all (a grid folder of an older suite), only notes are required.

    Raises:
        StatementWithoutEvidence: a note or the evidence is missing; the error names all such cells.
    """
    kept = None
    if history.failures is not None:
        kept = {
            (each.run_id, each.signature)
            for each in history.failures
            if each.hex_dump and not leaves_open(each)
        }
    faults = [fault for cell in grid.cells for fault in _faults(cell, kept)]
    if faults:
        raise StatementWithoutEvidence(faults)


def _faults(cell: GridCell, kept: set[tuple[str, str]] | None) -> Iterator[str]:
    where = f"{cell.clause} on {cell.target}, {cell.listener}: {cell.verdict}"
    if cell.verdict in _NEED_A_NOTE and not cell.why:
        yield f"{where}: a note is missing"
    if cell.verdict in VERDICTS_WITH_FAILURES and kept is not None:
        shown = (each for each in cell.failures if (cell.run_id, each.signature) in kept)
        if not any(cell.verdict_of(failure) is cell.verdict for failure in shown):
            yield f"{where}: evidence is missing"


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
