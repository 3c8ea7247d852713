"""Reader of a roll-up's tables into a grid in display order.

`spark_aggregation.job` writes the tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from reference_model.profiles.profile import APACHE_KAFKA
from reports.grid.grid_tables import Grid
from reports.grid.history_tables import read_history_table
from reports.grid.ranges import grid_ranges
from reports.grid.table_rows import check_lists, inputs_sha256, read_rows
from reports.records import TABLES_FOLDER
from reports.run_folders.refused_runs import read_run_lists
from reports.tables.all_tables import ROW_KEYS
from reports.tables.cell_rows import GridCell, GridClause, violations_first
from reports.tables.run_rows import GridRun
from reports.tables.target_rows import GridTarget
from reports.wording.verdict_labels import CRASH_KINDS


def read_grid(out_dir: Path) -> Grid:
    """Read `tables/*.parquet` and the lists of runs of the folder given to `spark_aggregation.job` as `--out`.

    Raises:
        FileNotFoundError: the roll-up did not write a table.
        BeyondLimits: a file is too large to be read.
    """
    check_lists(out_dir)
    tables = out_dir / TABLES_FOLDER
    targets = _in_column_order(read_rows(tables, "targets", GridTarget))
    clauses = _in_catalogue_order(list(read_rows(tables, "clauses", GridClause)))
    columns = {(entry.target, entry.listener): index for index, entry in enumerate(targets)}
    families = {entry.implementation: index for index, entry in enumerate(targets)}
    rows = {entry.clause: index for index, entry in enumerate(clauses)}
    cells = [replace(cell, failures=violations_first(cell.failures)) for cell in read_rows(tables, "cells", GridCell)]
    roles = {entry.clause: entry.role for entry in clauses}
    lists = read_run_lists(out_dir)
    return Grid(
        cells=tuple(sorted(cells, key=lambda cell: (rows[cell.clause], columns[cell.target, cell.listener]))),
        targets=tuple(targets),
        clauses=tuple(clauses),
        ranges=tuple(
            sorted(
                grid_ranges(cells, targets, roles),
                key=lambda entry: (
                    rows[entry.clause],
                    families[entry.implementation],
                    entry.listener,
                ),
            )
        ),
        runs=tuple(
            sorted(
                read_rows(tables, "runs", GridRun),
                key=lambda run: (run.started_at, run.run_id),
                reverse=True,
            )
        ),
        refused=lists.refused,
        notices=lists.notices,
        flake_rates={
            (row.clause, row.target, row.listener): row.rate for row in read_history_table(out_dir, "flakes") or ()
        },
        crashes=_crashes(tables),
        inputs_sha256={
            **{name: inputs_sha256(tables, name) for name in ROW_KEYS},
            "ranges": inputs_sha256(tables, "cells"),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _FailureKind:
    """Two columns of the failures, so that reading them loads no bytes of evidence."""

    signature: str
    kind: str | None


def _crashes(tables: Path) -> frozenset[str]:
    with suppress(FileNotFoundError):
        rows = read_rows(tables, "failures", _FailureKind)
        return frozenset(row.signature for row in rows if row.kind in CRASH_KINDS)
    return frozenset()


def _in_column_order(targets: Iterable[GridTarget]) -> list[GridTarget]:
    by_listener = sorted(targets, key=lambda entry: entry.listener)
    newest_first = sorted(
        by_listener,
        key=lambda entry: (entry.release_order, entry.release, entry.target),
        reverse=True,
    )
    return sorted(
        newest_first,
        key=lambda entry: (
            entry.implementation != APACHE_KAFKA,
            entry.language or "",
            entry.implementation,
        ),
    )


def _in_catalogue_order(clauses: list[GridClause]) -> list[GridClause]:
    first_of_source: dict[str, int] = {}
    for entry in clauses:
        first = first_of_source.get(entry.source, entry.position)
        first_of_source[entry.source] = min(first, entry.position)
    return sorted(
        clauses,
        key=lambda entry: (
            first_of_source[entry.source],
            entry.source,
            entry.position,
            entry.clause,
        ),
    )
