"""Checks the pages and exports of a published grid by rendering them again.

What runs do not record is taken from the published grid: the paths of their folders, the lists of refused and noticed
runs, tables that come from other reports, and the pictures of machines. `verification` compares these lists with the
runs, and these tables with their reports if those are given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from reports.grid.addresses import PICTURES
from reports.grid.grid_reading import read_grid
from reports.grid.grid_tables import Grid
from reports.grid.history_tables import read_history_table, read_history_tables
from reports.grid.table_rows import GRID_FILE, inputs_sha256
from reports.records import TABLES_FOLDER
from reports.run_folders.hash_list import hashes_of
from reports.run_folders.refused_runs import NOTICES_FILE, REFUSED_FILE, missing_run_lists, read_run_lists
from reports.site.build import render_site
from reports.site.evidence_check import StatementWithoutEvidence
from reports.tables.all_tables import ROW_KEYS
from reports.verify.verification import GridDifference, rows_of
from wire.foreign_json import read_foreign_json

_ROLLED_UP = re.compile(rf"{TABLES_FOLDER}/({'|'.join(ROW_KEYS)})\.parquet(/.*)?|{REFUSED_FILE}|{NOTICES_FILE}")
"""Files that the roll-up writes and the rendering does not."""


def differing_pages(
    published: Path, recomputed: Path, scratch: Path, taken_over: Collection[str]
) -> Iterator[GridDifference]:
    """Render a recomputed grid, and compare the bytes of every file with the published one."""
    missing = missing_run_lists(published)
    if missing:
        yield from (GridDifference("page", f"no page can be rendered: {name} is missing") for name in missing)
        return
    history = read_history_tables(recomputed)
    others = {name: read_history_table(published, name) for name in taken_over}
    grid = _where_it_lay(published, recomputed)
    inputs = {name: inputs_sha256(published / TABLES_FOLDER, name) for name in taken_over}
    grid = replace(grid, inputs_sha256={**grid.inputs_sha256, **inputs})
    _take_pictures(published, scratch)
    try:
        render_site(grid, replace(history, **others), scratch)
    except StatementWithoutEvidence as error:
        yield GridDifference("page", f"no page can be rendered: {error}")
        return
    ours, theirs = hashes_of(scratch), hashes_of(published)
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in theirs:
            yield GridDifference("page", f"{name} is missing")
        elif name not in ours and not _ROLLED_UP.fullmatch(name):
            yield GridDifference("page", f"{name} is published, but no table produces it")
        elif name in ours and ours[name] != theirs[name]:
            yield GridDifference("page", f"{name} differs from the page that the tables produce")


def _take_pictures(published: Path, scratch: Path) -> None:
    """Copy the pictures of machines: what Graphviz draws differs from version to version."""
    for picture in published.glob(f"{PICTURES}/*.svg"):
        if picture.is_file() and not picture.is_symlink():
            copy = scratch / picture.relative_to(published)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(picture.read_bytes())


def _published_at(published: Path) -> str:
    """Return the address that the grid says it is published at; empty if it says none."""
    try:
        pages = read_foreign_json((published / GRID_FILE).read_bytes())["pages"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return pages if isinstance(pages, str) else ""


def _where_it_lay(published: Path, recomputed: Path) -> Grid:
    grid = replace(read_grid(recomputed), pages=_published_at(published))
    lay = {row["run_id"]: row["folder"] for row in rows_of(published, "runs")}
    lists = read_run_lists(published)
    return replace(
        grid,
        runs=tuple(replace(run, folder=lay.get(run.run_id, run.folder)) for run in grid.runs),
        refused=lists.refused,
        notices=lists.notices,
    )
