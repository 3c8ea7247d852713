"""The complete site: all pages and exports of a grid, from a roll-up's tables.

Each page's module decides what the page shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from proposals import provided
from reports.exports.writing import write_exports
from reports.grid import addresses
from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import GridSummary, summarise
from reports.grid.grid_tables import Grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import HistoryTables, leaves_open, read_history_tables
from reports.records import OPERATION, VERDICTS_WITH_FAILURES, Verdict
from reports.site.changes import write_changes, write_releases
from reports.site.clause_pages import write_clauses, write_rules
from reports.site.drill_down import write_cells
from reports.site.failure_pages import write_failures
from reports.site.home import write_home
from reports.site.machine_pages import draw_machines, write_machines
from reports.site.release_pages import releases_in, write_advertised, write_upgrades
from reports.site.rendering import NOT_IN_HTML, Site, empty_folders
from reports.site.role_grids import write_role_grids
from reports.site.target_pages import reports_of, write_targets
from reports.site.why import write_why
from reports.tables.cell_rows import GridCell

_MAX_MESSAGE = 100


_GOALS = {
    "findings.html": f"{addresses.RULES}?state=violates",
    "ranges.html": addresses.RULES,
    "about.html": addresses.WHY,
    "mutation.html": addresses.WHY,
    "speed.html": addresses.WHY,
}
_NEED_A_NOTE = (
    *(Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE),
    *(Verdict.KNOWN_VIOLATION, Verdict.UNEXPECTED_PASS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """Something that can be found: its title, what else leads to it, and its page."""

    title: str
    words: str
    href: str


def entries_of(site: Site) -> Iterator[SearchEntry]:
    """Yield what can be found: products and upgrades first, then rules and operations, then failures."""
    for product in site.products:
        page = addresses.target_page(product.id)
        yield SearchEntry(title=product.name, words=f"{product.role} {product.id}", href=page)
    for versions in site.versions:
        page = addresses.product_page(versions.id)
        carried = " librdkafka" if any(versions.carries) else ""
        yield SearchEntry(title=f"{versions.name}, all versions", words=f"bugs{carried}", href=page)
    for old, new in combinations(releases_in(site), 2):
        if old.can_become(new):
            page = addresses.upgrade_page(old.short, new.short)
            yield SearchEntry(title=f"{old.title} → {new.title}", words="upgrade", href=page)
    if site.history.machines:
        yield SearchEntry(
            title="Machines of connections",
            words="machine learned states",
            href=addresses.MACHINES,
        )
    for clause in site.folded.grid.clauses:
        page = addresses.clause_page(clause.clause)
        title = clause.title
        if clause.role == OPERATION:
            title = f"{clause.source}: {title}"
        yield SearchEntry(title=title, words=clause.clause, href=page)
    seen = set()
    for failure in site.history.failures or ():
        if failure.signature not in seen:
            seen.add(failure.signature)
            message = failure.message.partition("\n")[0][:_MAX_MESSAGE]
            yield SearchEntry(
                title=f"{site.names.get(failure.target, failure.target)}: {message}",
                words=failure.clause,
                href=addresses.failure_page(failure.signature),
            )


def write_search(site: Site) -> None:
    """Write search.js: `found` is called with the entries, each a list of title, words and address."""
    rows = [[each.title, each.words, each.href] for each in entries_of(site)]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    text = NOT_IN_HTML.sub("\ufffd", f"window.searchEntries = [\n{lines}\n];\n")
    (site.out_dir / addresses.SEARCH).write_bytes(text.encode())


def write_products(site: Site) -> None:
    """Write products/<product>.html for every product of which several versions were judged and one has a bug."""
    for versions in site.versions:
        site.render(
            addresses.product_page(versions.id),
            "product",
            versions=versions,
            rows=[(bug, reports_of(bug.evidence)) for bug in versions.bugs],
        )


def write_moved_pages(site: Site) -> None:
    """Write a page at each old address."""
    changes = addresses.CHANGES if site.has_changes else addresses.WHY
    for address, goal in {**_GOALS, "since.html": changes}.items():
        site.render(address, "moved", goal=goal)


class StatementWithoutEvidence(Exception):
    """A range statement has exceptions that no note explains or no stored failure shows, one sentence for each cell."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(f"{len(faults)} cells of range statements without evidence: {'; '.join(faults[:5])}")


def check_statements(grid: Grid, history: HistoryTables) -> None:
    """Check every cell that makes a range statement partial.

    If failures are not recorded at all (a grid folder of an older suite), only notes are required.

    Raises:
        StatementWithoutEvidence: a note or the evidence is missing; the error names all such cells.
    """
    kept = None
    if history.failures is not None:
        kept = {(each.run_id, each.signature) for each in history.failures if each.hex_dump and not leaves_open(each)}
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
