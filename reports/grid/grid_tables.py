"""The tables of a grid, as pages and exports see them; `grid_reading` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from clauses.catalogue import Level
from clauses.operations import title_of
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import APACHE_KAFKA
from reports.records import Verdict, failure_verdict
from reports.run_folders.refused_runs import NoticedRun, RefusedRun

_NAMES = {APACHE_KAFKA: "Apache Kafka", "platformatic-kafka": "@platformatic/kafka"}
"""Display names by what ids of targets begin with, where both differ."""
_SIGNS = re.compile(r"[@/]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFailure:
    """One distinct failure of a cell, or one distinct note.

    Attributes:
        signature: its id, and its folder's name among the run's failures.
        verdict: the verdict of its examples: they violate the clause, or are informational.
        smallest_example: lowest number of an example with this failure.
        examples: how many examples have it.
    """

    signature: str
    verdict: Verdict
    smallest_example: int
    examples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """The result of one clause on one listener of one target; see `spark_aggregation.tables.cell_tables`.

    Attributes:
        distinct_failures: how many of its `failures` violate the clause.
        failures: the violations, followed by the notes.
        first_seen: when the cell first appeared; None in a grid folder without a history.
        last_changed: when its verdict last changed, or when the cell appeared if it never did.
        previous_verdict: the verdict before the last change; None if it never changed.
    """

    clause: str
    target: str
    listener: str
    run_id: str
    verdict: Verdict
    applicable: bool
    reason: str
    known_violation: str
    examples: int
    conforms: int
    violates: int
    informational: int
    inconclusive: int
    distinct_failures: int
    failures: tuple[CellFailure, ...]
    first_seen: datetime | None = None
    last_changed: datetime | None = None
    previous_verdict: Verdict | None = None

    @property
    def why(self) -> str:
        """Why it has its verdict: a declaration does not say why it could not be judged."""
        if self.verdict is Verdict.INCONCLUSIVE:
            return self.reason
        return self.known_violation or self.reason

    @property
    def violations(self) -> tuple[CellFailure, ...]:
        """The failures that violate the clause."""
        return self.failures[: self.distinct_failures]

    def verdict_of(self, failure: CellFailure) -> Verdict:
        """Return the verdict that the cell would have with this failure alone."""
        return failure_verdict(
            failure.verdict,
            known_violation=bool(self.known_violation),
            flaky=self.verdict is Verdict.FLAKY,
            unproven=self.verdict is Verdict.INCONCLUSIVE,
        )


def violations_first(failures: Iterable[CellFailure]) -> tuple[CellFailure, ...]:
    """Return failures with the violations first, in an otherwise unchanged order."""
    return tuple(sorted(failures, key=lambda each: each.verdict is not Verdict.VIOLATES))


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTarget:
    """One listener of one target; the page folds a target's listeners into one column.

    `role` is what it was judged as ("broker" or "client"), or "operation" if client operations were tried on it.
    `language` is that of a client library, None for any other target. `like` is the release that it is judged like,
    None if it is judged as itself; `commit` is Kafka's commit that a build in a folder was made of, if the build says
    it.
    """

    target: str
    listener: str
    implementation: str
    release: str
    release_order: tuple[int, ...]
    launcher: str
    artefacts: Mapping[str, str]
    run_id: str
    started_at: datetime
    role: str = "broker"
    language: str | None = None
    like: str | None = None
    commit: str | None = None

    @property
    def target_name(self) -> str:
        """The target's display name: "Apache Kafka 4.4.0", "Apache Kafka 3.9.2 zookeeper"."""
        known = implementation_name(self.implementation)
        for name in (self.implementation, without_signs(self.implementation)):
            release = f"{name}-{self.release}"
            if self.target == release:
                return f"{known} {self.release}"
            if self.target.startswith(f"{release}-"):
                return f"{known} {self.release} {self.target.removeprefix(f'{release}-')}"
        return self.target

    @property
    def name(self) -> str:
        """The display name, with the listener unless that is plaintext: "Apache Kafka 4.4.0 controller"."""
        listener = "" if self.listener == PLAINTEXT else f" {self.listener}"
        return f"{self.target_name}{listener}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GridClause:
    """A row of the grid."""

    clause: str
    position: int
    role: str
    level: str
    source: str
    statement: str
    location: str
    meaning: str

    @property
    def title(self) -> str:
        """What must hold, in a few words; the id of a clause that this suite does not know."""
        return title_of(self.clause)


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
class GridRun:
    """A run that counts; `in_grid` says whether a column of the grid comes from it.

    Attributes:
        whole: whether it planned everything in its tier.
        corrects: id of the earlier run that it replaces; None if it replaces none.
        load_at_start: processes that wanted to run when it began; None if it was not recorded.
        highest_load: the most of them that was seen.
    """

    run_id: str
    folder: str
    in_grid: bool
    started_at: datetime
    finished_at: datetime
    exit_status: int
    example_rows: int
    exchange_rows: int
    tier: str
    seed: int | None
    suite_version: str
    suite_commit: str | None
    catalogue_sha256: str
    python: str
    hypothesis: str
    system: str
    machine: str
    cpus: int
    whole: bool = True
    corrects: str | None = None
    load_at_start: float | None = None
    highest_load: float | None = None


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


def without_signs(name: str) -> str:
    """Return a library's name as ids of targets have it.

    A scope loses its signs: "@platformatic/kafka" becomes "platformatic-kafka".
    """
    return _SIGNS.sub("-", name).strip("-")


def implementation_name(implementation: str) -> str:
    """Return an implementation's display name."""
    return _NAMES.get(implementation, implementation)
