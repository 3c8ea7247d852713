"""Rows of the tables `runs` and `inputs`: what a grid was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from clauses.clause_sets import NEXT
from reports.tables.columns import Int32, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRun:
    """A run that counts.

    Attributes:
        run_id: its id.
        folder: URI of its folder.
        in_grid: whether a column of the grid comes from it.
        started_at: when it began.
        finished_at: when it ended.
        exit_status: the status of its process.
        example_rows: how many rows its examples have, by its footer.
        exchange_rows: the same of its exchanges.
        tier: how much it sent.
        whole: whether it planned everything in its tier.
        corrects: id of the earlier run that it replaces; None if it replaces none.
        seed: Hypothesis' seed; None if Hypothesis chose its own.
        suite_version: the version of the suite.
        suite_commit: the commit of the suite; None if unknown.
        catalogue_sha256: SHA-256 of the clauses that applied.
        python: the version of Python.
        hypothesis: the version of Hypothesis.
        system: the operating system.
        machine: the architecture of the machine.
        cpus: the number of its processors.
        load_at_start: processes that wanted to run when it began; None if it was not recorded.
        highest_load: the most of them that was seen.
        clause_set: the frozen set of clauses that it judged by, or `next` if everything counted; None if it was not
            recorded.
    """

    KEY: ClassVar[Sequence[str]] = ("run_id",)

    run_id: str
    folder: str
    in_grid: bool
    started_at: datetime
    finished_at: datetime
    exit_status: Int32
    example_rows: Int64
    exchange_rows: Int64
    tier: str
    whole: bool = True
    corrects: str | None = None
    seed: Int64 | None
    suite_version: str
    suite_commit: str | None
    catalogue_sha256: str
    python: str
    hypothesis: str
    system: str
    machine: str
    cpus: Int32
    load_at_start: float | None = None
    highest_load: float | None = None
    clause_set: str | None = None

    @property
    def judged_by(self) -> str:
        """The tier, and the set of clauses if not everything counted."""
        by_set = "" if self.clause_set in (None, NEXT) else f", set {self.clause_set} of clauses"
        return f"{self.tier} tier{by_set}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GridInput:
    """A kept run, by the hash of its header: what the tables were made from.

    Attributes:
        run_id: its id.
        folder: URI of its folder.
        run_json_sha256: SHA-256 of its `run.json`.
    """

    KEY: ClassVar[Sequence[str]] = ("run_id",)

    run_id: str
    folder: str
    run_json_sha256: str
