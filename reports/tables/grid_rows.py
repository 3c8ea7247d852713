"""Rows of the tables that a grid consists of: cells, targets, clauses, runs, inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from clauses.operations import title_of
from reference_model.profiles.listeners import PLAINTEXT
from reports.records import Verdict, failure_verdict
from reports.tables.columns import CELL, InstantOfHistory, Int32, Int64
from reports.tables.target_names import implementation_name, without_signs


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
    smallest_example: Int32
    examples: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """The result of one clause on one listener of one target, in the run that the grid shows there.

    Attributes:
        clause: id of the clause.
        target: id of the target.
        listener: the target's listener.
        run_id: the run that judged it.
        verdict: the cell's verdict, by `reports.records.CELL_RULES`.
        applicable: whether the target claims what the clause is about.
        reason: why it does not apply; if it applies, what it was judged without, if anything.
        known_violation: the registry's reason for a declared violation; empty if none is declared.
        examples: how many examples were judged, without shrinking.
        conforms: how many of them conform.
        violates: how many violate the clause.
        informational: how many differ from what is expected, but violate nothing.
        inconclusive: how many could not be judged.
        distinct_failures: how many of its `failures` violate the clause.
        failures: the violations, followed by the notes; in the file, by signature.
        first_seen: when the cell first appeared; None in a grid folder without a history.
        last_changed: when its verdict last changed, or when the cell appeared if it never did.
        previous_verdict: the verdict before the last change; None if it never changed.
    """

    KEY: ClassVar[Sequence[str]] = CELL

    clause: str
    target: str
    listener: str
    run_id: str
    verdict: Verdict
    applicable: bool
    reason: str
    known_violation: str
    examples: Int64
    conforms: Int64
    violates: Int64
    informational: Int64
    inconclusive: Int64
    distinct_failures: Int64
    failures: tuple[CellFailure, ...]
    first_seen: InstantOfHistory = None
    last_changed: InstantOfHistory = None
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
    return tuple(sorted(failures, key=lambda failure: failure.verdict is not Verdict.VIOLATES))


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTarget:
    """One listener of one target, by the newest of its runs; the page folds a target's listeners into one column.

    Attributes:
        target: id of the target.
        listener: one of its listeners.
        implementation: the product that it is a version of.
        release: the version.
        release_order: the release's leading numbers, which sort as releases do.
        launcher: how the suite reached it.
        artefacts: name to SHA-256 of what ran.
        run_id: the run.
        started_at: when the run began.
        role: what it was judged as ("broker" or "client"), or "operation" if client operations were tried on it.
        language: that of a client library; None for any other target.
        like: the release that it is judged like; None if it is judged as itself.
        commit: Kafka's commit that a build in a folder was made of; None if the build does not say it.
    """

    KEY: ClassVar[Sequence[str]] = ("target", "listener", "role")

    target: str
    listener: str
    implementation: str
    release: str
    release_order: tuple[Int32, ...]
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
    """A row of the grid: a clause as the newest run of the grid that has it states it.

    Attributes:
        position: its index in that run's catalogue, from 0.
        clause: its id.
        role: whose behaviour it is about.
        level: MUST, SHOULD and so on.
        source: the specification that it comes from.
        statement: what must hold.
        location: where the source has it.
        meaning: what breaks for a user when it is violated.
    """

    KEY: ClassVar[Sequence[str]] = ("clause",)

    position: Int32
    clause: str
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
