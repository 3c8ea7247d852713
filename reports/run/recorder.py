"""A run in progress: collects judged examples in cells that have verdicts."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clauses.catalogue import Level, Role
from clauses.clause_sets import EVERYTHING, ClauseSet, says_not_asked
from reports.records import (
    NOTHING,
    OPERATION,
    SAMPLED_EXAMPLES_PER_PROPERTY,
    Phase,
    PlannedCell,
    Verdict,
    cell_verdict,
    failure_verdict,
)
from reports.repeats import Repeats, settled
from reports.run.failures import Failure, failure_files
from reports.run.judged_examples import (
    CellKey,
    JudgedExample,
    as_note,
    first_latency_us,
    last_error_code,
    latency_bucket,
    replaces,
)
from reports.run.run_writer import RunWriter, TargetFacts
from reports.wording.escaping import printable

NOT_CHOSEN = "none of those that were chosen applies to it"
"""Why no MUST was judged of a client that did what clauses are about."""


@dataclass(slots=True, kw_only=True)
class Cell:
    """One cell of a run in progress.

    Attributes:
        planned: the planned cell, updated with what the run learned since.
        level: the level of its clause, such as MUST.
        verdicts: number of judged examples by verdict, in the generate phase.
        failures: its distinct failures and notes by signature, each with the smallest example so far.
        problems: why it is inconclusive, each reason once.
        left_out: what it is judged without, each text once; several properties may leave something out.
        bounds: up to where a finding is excluded for certain, each text once; unlike `left_out` it is no lack.
        may_hide: whether skipped examples may hide a declared violation. One that is not seen is then not gone.
    """

    planned: PlannedCell
    level: str
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    failures: dict[str, Failure] = field(default_factory=dict)
    problems: dict[str, None] = field(default_factory=dict)
    left_out: dict[str, None] = field(default_factory=dict)
    bounds: dict[str, None] = field(default_factory=dict)
    may_hide: bool = False

    @property
    def known_violation(self) -> str:
        """The notes of the declared violations; empty if none was seen, but may be in what was left out."""
        is_hidden = self.may_hide and Verdict.VIOLATES not in self.verdicts
        return "" if is_hidden else self.planned.known_violation

    @property
    def verdict(self) -> Verdict:
        """The cell's verdict so far."""
        return cell_verdict(
            self.verdicts.keys(),
            applicable=self.planned.applicable,
            known_violation=bool(self.known_violation),
            flaky=self.planned.flaky is not None,
            unproven=bool(self.planned.unproven),
        )

    @property
    def reason(self) -> str:
        """Why it is not judged, what it is judged without, or up to which bound; empty if none of these applies."""
        if self.verdict is Verdict.INCONCLUSIVE:
            return "; ".join(self.doubts) or self.planned.reason
        if self.verdict is Verdict.CONFORMS:
            return "; ".join(filter(None, (self.planned.reason, *self.bounds)))
        return self.planned.reason

    @property
    def is_newer(self) -> bool:
        """Whether it differs in something that the run's set of clauses does not ask for, which fails nothing."""
        return self.verdict is Verdict.INFORMATIONAL and says_not_asked(self.planned.reason)

    @property
    def doubts(self) -> list[str]:
        """Why it is inconclusive, or would be if nothing else were wrong."""
        return [*self.problems, *([self.planned.unproven] if self.planned.unproven else [])]

    def verdict_of(self, failure: Failure) -> Verdict:
        """Return the verdict that the cell would have with this failure alone.

        A cell may have declared and undeclared failures.
        """
        return failure_verdict(
            Verdict(failure.verdict),
            known_violation=bool(self.planned.known_violation or failure.known_violation),
            flaky=self.planned.flaky is not None,
            unproven=failure.repeats is not None and bool(failure.repeats.leaves_open),
        )

    @property
    def violations(self) -> list[Failure]:
        """Its distinct failures, without notes."""
        violates = Verdict.VIOLATES.value
        return [failure for failure in self.failures.values() if failure.verdict == violates]

    @property
    def crashes(self) -> bool:
        """Whether one of its failures ended the target."""
        return any(failure.is_crash for failure in self.failures.values())


class RunRecorder:
    """Collects the results of a run and writes them to disk as they arrive.

    Attributes:
        cells: the planned cells, in the order of the plan.
        targets: the targets by id; `launcher` is `NOT_STARTED` until one runs.
        stale_expectations: declared violations that are out of date, one sentence each.
        matched_expectations: declared violations that a failure matched, each with its target.
        keep_machine: writes what was learned of a listener, as `reports.machines.learned.as_json` returns it.
        role: what its targets are judged as: "broker", "client" or "operation".
        client_commands: what a user said about each client that is a command, by its name.
        options_of_replay: options of the command line that `replay` takes as well, with their values.
        remarks: what operators should know of a client and no verdict says, by its id.
        stopped_short: what a client never did with a healthy broker, by its id; empty if it did what clauses are about.
        clause_set: what the run judges by. What is newer is judged too: it is at most a note, and so fails nothing.
    """

    def __init__(
        self, writer: RunWriter, *, tier: str, role: str = Role.BROKER, clause_set: ClauseSet = EVERYTHING
    ) -> None:
        self.cells: dict[CellKey, Cell] = {}
        self.targets: dict[str, TargetFacts] = {}
        self.stopped = False
        self.stale_expectations: list[str] = []
        self.matched_expectations: set[tuple[str, object]] = set()
        self.writer = writer
        self.keep_machine = writer.add_machine
        self.role = role
        self.tier = tier
        self.clause_set = clause_set
        self.client_commands: dict[str, Mapping[str, Any]] = {}
        self.options_of_replay: tuple[str, ...] = ()
        self.remarks: dict[str, str] = {}
        self.stopped_short: dict[str, str] = {}
        self._sampled: Counter[tuple[CellKey, str]] = Counter()

    @property
    def problems(self) -> dict[str, list[CellKey]]:
        """Each reason why a property could not be judged, with the cells that it leaves open."""
        affected: dict[str, list[CellKey]] = {}
        for key, cell in self.cells.items():
            for problem in cell.doubts:
                affected.setdefault(problem, []).append(key)
        return affected

    def plan(
        self,
        cells: Iterable[tuple[PlannedCell, str]],
        clauses: list[Any],
        targets: Iterable[TargetFacts] = (),
    ) -> None:
        """Record what will be judged, before the first example.

        Args:
            cells: each planned cell with the level of its clause.
            clauses: the header's entry for each clause.
            targets: what is known about each target before it is started.
        """
        self.targets = {facts.id: facts for facts in targets}
        for planned, level in cells:
            key = CellKey(planned.clause, planned.target, planned.listener)
            self.cells[key] = Cell(planned=planned, level=level)
            if why := self.clause_set.why_not_asked(key.clause):
                # It applies once an example of it is judged; a run lacks nothing without it.
                self.cells[key].left_out[why] = None
                self.not_applicable(key, why)
        self.writer.header["clauses"] = clauses
        self._write_header()

    def target_started(self, facts: TargetFacts) -> None:
        """Record how a target was started, after writing earlier results to disk."""
        self.writer.flush()
        self.targets[facts.id] = facts
        self._write_header()

    def not_applicable(self, key: CellKey, reason: str) -> None:
        """Record that the target never claimed what a property of a clause is about, or that the run sends none of it.

        The clause still applies if another of its properties is judged.
        """
        cell = self.cells[key]
        if not cell.verdicts:
            cell.planned = dataclasses.replace(cell.planned, applicable=False, reason=reason)

    def not_run(self, key: CellKey, reason: str) -> None:
        """Record why a cell is not judged in this run although it could be judged elsewhere."""
        cell = self.cells[key]
        cell.planned = dataclasses.replace(cell.planned, reason=reason)

    def sends_less(self) -> None:
        """Record that the run leaves out a kind of requests, with which declared violations may be seen."""
        for cell in self.cells.values():
            cell.may_hide = True

    def note_left_out(self, key: CellKey, reason: str, *, may_hide: bool = False, is_bound: bool = False) -> None:
        """Record what a cell is judged without; its verdict covers the rest.

        Args:
            key: the cell.
            reason: what is left out, and why.
            may_hide: as for `Cell`.
            is_bound: whether it belongs to the `bounds` of the cell.
        """
        cell = self.cells[key]
        cell.may_hide = cell.may_hide or may_hide
        (cell.bounds if is_bound else cell.left_out).setdefault(reason)
        self._applies(cell)

    def _applies(self, cell: Cell) -> None:
        reason = "; ".join(cell.left_out)
        cell.planned = dataclasses.replace(cell.planned, applicable=True, reason=reason)

    def mark_undeclared(self, key: CellKey) -> None:
        """Record that a cell has a failure that its declared violation does not cover."""
        cell = self.cells[key]
        cell.planned = dataclasses.replace(cell.planned, known_violation="")

    def problem(self, key: CellKey, reason: str) -> None:
        """Record why an example of a cell could not be judged, each reason once."""
        if self.clause_set.why_not_asked(key.clause):
            self.note_left_out(key, reason)
        else:
            self.cells[key].problems.setdefault(reason)

    def matched(self, target: str, declaration: object) -> None:
        """Record that a failure matched a declared violation of a target."""
        self.matched_expectations.add((target, declaration))

    def inconclusive(self, key: CellKey, property_name: str, reason: str) -> None:
        """Record that a property could not be judged at all."""
        self.problem(key, reason)
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
        """Record how often a failure recurred, and what follows for its cell."""
        cell = self.cells[key]
        cell.failures[signature] = dataclasses.replace(cell.failures[signature], repeats=repeats)
        cell.planned = dataclasses.replace(
            cell.planned, **settled([(each.first_line, each.repeats) for each in cell.violations])
        )

    def stop(self) -> None:
        """Record that the run was interrupted: a declared violation that was not seen may still be there."""
        self.stopped = True
        for cell in self.cells.values():
            if cell.verdict is Verdict.UNEXPECTED_PASS:
                cell.verdicts.clear()
                reason = "the run was interrupted, and its declared violation was not seen before"
                cell.planned = dataclasses.replace(cell.planned, reason=reason)

    def judged(self, example: JudgedExample) -> None:
        """Record one judged example; what the set of clauses does not ask for is at most a note."""
        cell = self.cells[example.key]
        if why := example.newer or self.clause_set.why_note(example.key.clause, example.property_name):
            example = as_note(example)
            if example.verdict is not Verdict.CONFORMS:
                cell.left_out.setdefault(why)
                self._applies(cell)
        if not cell.planned.applicable:
            self._applies(cell)
        if example.phase is Phase.GENERATE:
            cell.verdicts[example.verdict] += 1
        if example.failure is not None:
            kept = cell.failures.get(example.failure.signature)
            if kept is None or replaces(example, kept):
                cell.failures[example.failure.signature] = example.failure
            # The new failure has not been repeated yet, so the cell is no longer known to be flaky.
            cell.planned = dataclasses.replace(cell.planned, flaky=None, unproven="")
        exchanges = example.exchanges
        latency_us = first_latency_us(exchanges)
        facts = self.targets.get(example.key.target)
        self.writer.add_example(
            {
                "run_id": self.writer.run_id,
                "run_date": self.writer.run_date,
                "target": example.key.target,
                "implementation": facts.implementation if facts else "unknown",
                "release": facts.release if facts else "unknown",
                "launcher": facts.launcher if facts else "none",
                "listener": example.key.listener,
                "client": client_of(self.role, example.key),
                "clause": example.key.clause,
                "property": example.property_name,
                "tier": self.tier,
                "phase": example.phase.value,
                "example_number": example.number,
                "request": exchanges[-1].request.kind if exchanges else NOTHING,
                "outcome": exchanges[-1].outcome.value if exchanges else NOTHING,
                "error_code": last_error_code(exchanges),
                "verdict": example.verdict.value,
                "failure_signature": example.failure.signature if example.failure else None,
                "latency_bucket": None if latency_us is None else latency_bucket(latency_us),
            }
        )
        self._keep_exchanges(example)

    def _keep_exchanges(self, example: JudgedExample) -> None:
        """Store the bytes of every failure in the generate phase, and of a property's first examples."""
        key = (example.key, example.property_name)
        failed = example.failure is not None and example.phase is Phase.GENERATE
        if not failed and self._sampled[key] >= SAMPLED_EXAMPLES_PER_PROPERTY:
            return
        self._sampled[key] += 1
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
        """Write the folders of a cell's failures, with the smallest examples found so far."""
        for failure in self.cells[key].failures.values():
            for name, data in failure_files(failure):
                self.writer.write_file(f"failures/{failure.signature}/{name}", data)

    def finish(self, exit_status: int) -> None:
        """Write the remaining rows and the footer."""
        self._note_cells()
        self.writer.close(exit_status)

    def _write_header(self) -> None:
        self._note_cells()
        self.writer.write_header()

    def _note_cells(self) -> None:
        cells = [
            dataclasses.asdict(
                dataclasses.replace(cell.planned, reason=cell.reason, known_violation=cell.known_violation)
            )
            for cell in self.cells.values()
        ]
        self.writer.header["planned_cells"] = cells
        self.writer.header["targets"] = [facts.entry() for facts in self.targets.values()]


def client_of(role: str, key: CellKey) -> str | None:
    """Return the client that a cell of a run is about; None if its role is that of a broker."""
    if role == OPERATION:
        return key.clause.rpartition(".")[0]
    return key.target if role == Role.CLIENT else None


def vacuous_clients(recorder: RunRecorder) -> dict[str, str]:
    """Return a sentence for each client to which no MUST of the plan applied, by its id: its run is no success.

    Of the clients that do operations, these are commands: those of the registry have what their folder lists.
    """
    musts: dict[str, list[Cell]] = {}
    for key, cell in recorder.cells.items():
        client = client_of(recorder.role, key)
        is_meant = client in recorder.client_commands if recorder.role == OPERATION else client is not None
        if client is not None and is_meant and cell.level == Level.MUST:
            musts.setdefault(client, []).append(cell)
    return {
        client: _why_vacuous(recorder, client, cells)
        for client, cells in musts.items()
        if {each.verdict for each in cells} == {Verdict.NOT_APPLICABLE}
    }


def _why_vacuous(recorder: RunRecorder, client: str, cells: Iterable[Cell]) -> str:
    if recorder.role == OPERATION:
        reasons = "; ".join(dict.fromkeys(each.reason for each in cells))
        return f"No operation of {printable(client)} was tried: {printable(reasons)}."
    return f"No MUST was judged of {printable(client)}: {recorder.stopped_short.get(client) or NOT_CHOSEN}."


def remarks(recorder: RunRecorder) -> Iterator[str]:
    """Yield what operators should know of a client and no verdict says."""
    for target, remark in recorder.remarks.items():
        yield printable(f"Note on {target}: {remark}.")
