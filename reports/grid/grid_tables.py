"""The grid: a roll-up's tables in display order, as pages and exports see them.

`grid_reading` reads it; the classes of the rows are in `reports.tables`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clauses.catalogue import Level
from reports.run_folders.refused_runs import NoticedRun, RefusedRun
from reports.tables.cell_rows import GridCell, GridClause
from reports.tables.run_rows import GridRun
from reports.tables.target_rows import GridTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRange:
    """The releases of an implementation in which a clause holds, in words."""

    clause: str
    implementation: str
    listener: str
    statement: str
    first_held: str | None
    last_held: str | None
    releases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All tables of one roll-up, each in display order.

    Attributes:
        cells: by clause, then by column.
        targets: Apache Kafka, newest release first, then the others by implementation; clients by language before that.
        clauses: as the catalogue lists them, those of one source together.
        ranges: by clause, in the order of the columns.
        runs: the newest first.
        refused: by folder.
        notices: by folder; for the runs of the last roll-up only.
        flake_rates: maps clause, target and listener of each cell with a recorded rate to that rate.
        crashes: signatures of the failures in which the target ended.
        pages: the address at which the site is published, with a slash at its end; empty if it is unknown.
        inputs_sha256: maps each table, also of the history, to the hash of its inputs; empty if unknown.
    """

    cells: tuple[GridCell, ...]
    targets: tuple[GridTarget, ...]
    clauses: tuple[GridClause, ...]
    ranges: tuple[GridRange, ...]
    runs: tuple[GridRun, ...]
    refused: tuple[RefusedRun, ...]
    notices: tuple[NoticedRun, ...] = ()
    flake_rates: Mapping[tuple[str, str, str], float] = field(default_factory=dict)
    crashes: frozenset[str] = frozenset()
    pages: str = ""
    inputs_sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def must_clauses(self) -> frozenset[str]:
        """The ids of the clauses that are a MUST: the ones that sentences and badges count."""
        return frozenset(entry.clause for entry in self.clauses if entry.level == Level.MUST)
