"""Rows of the tables `cells` and `clauses`: the verdicts of a grid, and its lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from clauses.clause_sets import says_not_asked
from clauses.operations import title_of
from reports.records import Verdict, failure_verdict
from reports.tables.columns import CELL, InstantOfHistory, Int32, Int64


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
    def is_newer(self) -> bool:
        """Whether it differs in something that the run's set of clauses does not ask for, which fails nothing."""
        return self.verdict is Verdict.INFORMATIONAL and says_not_asked(self.reason)

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
