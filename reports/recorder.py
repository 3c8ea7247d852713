"""One run as it goes: cells, judged examples, failures, and what the whole of it amounts to."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reports.failures import Failure, write_failure
from reports.records import (
    NOTHING,
    SAMPLED_EXAMPLES_PER_PROPERTY,
    Phase,
    PlannedCell,
    Verdict,
    cell_verdict,
    failure_verdict,
)
from reports.repeats import FailureClass, Repeats, rate_of
from reports.run_writer import RunWriter
from wire.api_versions import API_VERSIONS_KEY
from wire.exchange import Exchange, Step

LATENCY_BUCKETS_PER_OCTAVE = 4
NOT_STARTED = "none"
"""The launcher of a target that has not been started."""


class CellKey(NamedTuple):
    """What a cell is found by."""

    clause: str
    target: str
    listener: str


@dataclass(slots=True, kw_only=True)
class Cell:
    """One cell while a run goes on.

    Attributes:
        planned: what was planned, with what was learned of its applicability since.
        level: how binding its clause is.
        verdicts: judged examples by verdict, in the generate phase.
        failures: its distinct failures and notes by signature, each with the smallest example so far.
        problems: why it is inconclusive, each reason once.
    """

    planned: PlannedCell
    level: str
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)
    problems: dict[str, None] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """What is said of the cell so far."""
        return cell_verdict(
            self.verdicts.keys(),
            applicable=self.planned.applicable,
            known_violation=bool(self.planned.known_violation),
            flaky=self.planned.flaky is not None,
        )

    @property
    def reason(self) -> str:
        """Why it is not judged, or what it is judged without; empty where there is nothing to say."""
        if self.problems and self.verdict is Verdict.INCONCLUSIVE:
            return "; ".join(self.problems)
        return self.planned.reason

    def verdict_of(self, failure: Failure) -> Verdict:
        """Say of one of its failures what the cell would be with no other."""
        return failure_verdict(
            Verdict(failure.verdict),
            known_violation=bool(self.planned.known_violation),
            flaky=self.planned.flaky is not None,
        )

    @property
    def violations(self) -> list[Failure]:
        """Its distinct failures without what is only a note."""
        violates = Verdict.VIOLATES.value
        return [failure for failure in self.failures.values() if failure.verdict == violates]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFacts:
    """What a record says of a target: it names the target, and how it was reached beside it.

    Attributes:
        id: the registry's id.
        implementation: family of the target.
        release: its release.
        launcher: how it was started.
        artefacts: what ran, pinned: name to SHA-256.
        file_sha256: of its file in the registry; None where it has none.
    """

    id: str
    implementation: str
    release: str
    launcher: str
    artefacts: dict[str, str]
    file_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedExample:
    """One example with its verdict.

    Attributes:
        key: its cell.
        property_name: the test function's name.
        number: counted from 1 within the property on this target.
        phase: whether it was drawn to judge or to shrink.
        verdict: what is said of it.
        steps: what was done.
        failure: the failure, for a violation or an informational difference.
    """

    key: CellKey
    property_name: str
    number: int
    phase: Phase
    verdict: Verdict
    steps: Sequence[Step]
    failure: Failure | None = None

    @property
    def exchanges(self) -> list[Exchange]:
        """All exchanges of the example, in order."""
        return [exchange for step in self.steps for exchange in step.exchanges]


def latency_bucket(latency_us: int) -> int:
    """Return four times the binary logarithm of a latency in microseconds, rounded down."""
    return math.floor(LATENCY_BUCKETS_PER_OCTAVE * math.log2(max(latency_us, 1)))


def _last_error_code(exchanges: Sequence[Exchange]) -> int | None:
    for exchange in reversed(exchanges):
        is_about_versions = exchange.request.api_key == API_VERSIONS_KEY
        if is_about_versions and exchange.payload is not None and len(exchange.payload) >= 6:
            return int.from_bytes(exchange.payload[4:6], signed=True)
    return None


def _sent_bytes(failure: Failure) -> int:
    return sum(len(piece) for step in failure.steps for piece in step.pieces)


def _first_latency_us(exchanges: Sequence[Exchange]) -> int | None:
    asked = (exchange for exchange in exchanges if exchange.request.api_key == API_VERSIONS_KEY)
    return next((exchange.latency_us for exchange in asked), None)


class RunRecorder:
    """Takes everything that a run learns, and keeps it on disk as it comes.

    Attributes:
        cells: the planned cells, in the order of the plan.
        targets: the targets by id; `launcher` is `NOT_STARTED` until one runs.
        stopped: whether the run was interrupted.
        stale_expectations: declared violations that are out of date, one sentence each.
        matched_expectations: declared violations that a failure matched, each with its target.
    """

    def __init__(self, writer: RunWriter, *, tier: str) -> None:
        self.cells: dict[CellKey, Cell] = {}
        self.targets: dict[str, TargetFacts] = {}
        self.stopped = False
        self.stale_expectations: list[str] = []
        self.matched_expectations: set[tuple[str, object]] = set()
        self.writer = writer
        self._tier = tier
        self._sampled: Counter[tuple[CellKey, str]] = Counter()

    def plan(
        self,
        cells: Iterable[tuple[PlannedCell, str]],
        clauses: list[Any],
        targets: Iterable[TargetFacts] = (),
    ) -> None:
        """Write down what will be judged, before the first example.

        Args:
            cells: each planned cell with the level of its clause.
            clauses: what the header says of each clause.
            targets: what is known of each target before it is started.
        """
        self.targets = {facts.id: facts for facts in targets}
        for planned, level in cells:
            key = CellKey(planned.clause, planned.target, planned.listener)
            self.cells[key] = Cell(planned=planned, level=level)
        self.writer.header["clauses"] = clauses
        self._write_header()

    def target_started(self, facts: TargetFacts) -> None:
        """Note what runs, and how; what was judged before is put on disk."""
        self.writer.flush()
        self.targets[facts.id] = facts
        self._write_header()

    def not_applicable(self, key: CellKey, reason: str) -> None:
        """Note that the target never claimed what a property of a clause is about.

        The clause applies all the same where another of its properties is judged.
        """
        cell = self.cells[key]
        if not cell.verdicts:
            cell.planned = dataclasses.replace(cell.planned, applicable=False, reason=reason)

    def left_out(self, key: CellKey, reason: str) -> None:
        """Note what a cell is judged without, next to what was noted before; its verdict is about all the rest."""
        cell = self.cells[key]
        before = cell.planned.reason
        if reason not in before:
            reason = f"{before}; {reason}" if before else reason
            cell.planned = dataclasses.replace(cell.planned, applicable=True, reason=reason)

    def not_covered(self, key: CellKey) -> None:
        """Note that a cell fails in another way than the one that is declared for it."""
        cell = self.cells[key]
        cell.planned = dataclasses.replace(cell.planned, known_violation="")

    def inconclusive(self, key: CellKey, property_name: str, reason: str) -> None:
        """Note that a property could not be judged at all."""
        cell = self.cells[key]
        cell.problems.setdefault(reason)
        self.judged(
            JudgedExample(
                key=key,
                property_name=property_name,
                number=0,
                phase=Phase.GENERATE,
                verdict=Verdict.INCONCLUSIVE,
                steps=(),
            )
        )

    def repeated(self, key: CellKey, signature: str, repeats: Repeats) -> None:
        """Note how often a failure showed again; a cell whose failures are all flaky is flaky itself."""
        cell = self.cells[key]
        failures = cell.failures
        failures[signature] = dataclasses.replace(failures[signature], repeats=repeats)
        known = [failure.repeats for failure in failures.values() if failure.repeats is not None]
        flaky = [each for each in known if each.failure_class is FailureClass.FLAKY]
        rate = rate_of([t for each in flaky for t in each.alone])
        all_flaky = len(flaky) == len(cell.violations)
        cell.planned = dataclasses.replace(cell.planned, flaky=rate if all_flaky else None)

    def judged(self, example: JudgedExample) -> None:
        """Take one judged example."""
        cell = self.cells[example.key]
        if not cell.planned.applicable:
            cell.planned = dataclasses.replace(cell.planned, applicable=True, reason="")
        if example.phase is Phase.GENERATE:
            cell.verdicts[example.verdict] += 1
        if example.failure is not None:
            kept = cell.failures.get(example.failure.signature)
            # What is declared is not made smaller, so that the shortest example that was met is the one to show.
            if (
                kept is None
                or not kept.known_violation
                or _sent_bytes(example.failure) <= _sent_bytes(kept)
            ):
                cell.failures[example.failure.signature] = example.failure
            # It has yet to be repeated, whatever the failures before it were.
            cell.planned = dataclasses.replace(cell.planned, flaky=None)
        exchanges = example.exchanges
        latency_us = _first_latency_us(exchanges)
        facts = self.targets.get(example.key.target)
        self.writer.examples.add(
            {
                "run_id": self.writer.run_id,
                "run_date": self.writer.run_date,
                "target": example.key.target,
                "implementation": facts.implementation if facts else "unknown",
                "release": facts.release if facts else "unknown",
                "launcher": facts.launcher if facts else "none",
                "listener": example.key.listener,
                "client": None,
                "clause": example.key.clause,
                "property": example.property_name,
                "tier": self._tier,
                "phase": example.phase.value,
                "example_number": example.number,
                "request": exchanges[-1].request.kind if exchanges else NOTHING,
                "outcome": exchanges[-1].outcome.value if exchanges else NOTHING,
                "error_code": _last_error_code(exchanges),
                "verdict": example.verdict.value,
                "failure_signature": example.failure.signature if example.failure else None,
                "latency_bucket": None if latency_us is None else latency_bucket(latency_us),
            }
        )
        self._keep_exchanges(example)

    def _keep_exchanges(self, example: JudgedExample) -> None:
        """Keep the bytes of every failure that was drawn, and of the first examples of a property."""
        place = (example.key, example.property_name)
        failed = example.failure is not None and example.phase is Phase.GENERATE
        if not failed and self._sampled[place] >= SAMPLED_EXAMPLES_PER_PROPERTY:
            return
        self._sampled[place] += 1
        for number, exchange in enumerate(example.exchanges):
            self.writer.add_exchange(
                {
                    "run_id": self.writer.run_id,
                    "target": example.key.target,
                    "listener": example.key.listener,
                    "clause": example.key.clause,
                    "property": example.property_name,
                    "example_number": example.number,
                    "step": number,
                    "outcome": exchange.outcome.value,
                    "sent": exchange.request.data,
                },
                exchange.received or None,
            )

    def write_failures(self, key: CellKey) -> None:
        """Write the folders of a cell's failures, as small as they are by now."""
        for failure in self.cells[key].failures.values():
            write_failure(self.writer.folder / "failures", failure)

    def finish(self, exit_status: int) -> None:
        """Write what is left and the footer."""
        self._note_cells()
        self.writer.close(exit_status)

    def _write_header(self) -> None:
        self._note_cells()
        self.writer.write_header()

    def _note_cells(self) -> None:
        cells = [
            dataclasses.asdict(dataclasses.replace(cell.planned, reason=cell.reason))
            for cell in self.cells.values()
        ]
        self.writer.header["planned_cells"] = cells
        self.writer.header["targets"] = [dataclasses.asdict(f) for f in self.targets.values()]
