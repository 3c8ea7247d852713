"""Recorder of the result of each example, in the cells of all its clauses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from clauses.catalogue import Clause, Level
from conformance.assertions.errors import Unjudged
from conformance.assertions.evidence import evidence_of, kind_of
from conformance.assertions.messages import message_of
from fixtures.client_processes.driver_code import driver_code
from fixtures.launchers.named_targets import origin_of
from fixtures.registry.reported import reported_note
from fixtures.registry.targets import KnownViolation
from fixtures.under_test.judged_target import JudgedTarget
from fixtures.under_test.trial import Trial
from reports.records import Phase, Verdict
from reports.run.failures import Failure, signature_of
from reports.run.judged_examples import CellKey, JudgedExample
from reports.run.recorder import RunRecorder, client_of
from wire.exchange import Step

Signatures = tuple[tuple[CellKey, str], ...]
"""The cells that a failure belongs to, each with the failure's signature."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How a failing example was recorded.

    Attributes:
        is_binding: whether it is a violation; otherwise it is informational.
        is_declared: whether it is declared for every clause of the property.
    """

    is_binding: bool
    is_declared: bool


class ExampleRecorder:
    """Records the examples of one property on one listener.

    Attributes:
        clauses: the clauses that the examples are recorded for.
        number: how many examples were recorded.
        newer: why the run's set of clauses does not ask for the current example itself; empty if it does.
    """

    def __init__(self, recorder: RunRecorder, judged: JudgedTarget, clauses: tuple[Clause, ...], name: str) -> None:
        self.clauses = clauses
        self.number = 0
        self.newer = ""
        self._recorder = recorder
        self._judged = judged
        self._name = name

    def for_clause(self, clause: Clause) -> ExampleRecorder:
        """Return a recorder of the same property's next example, for another clause."""
        asked = self._recorder.clause_set.as_asked(clause)
        other = ExampleRecorder(self._recorder, self._judged, (asked,), self._name)
        other.number = self.number
        other.newer = self.newer
        if not any(map(self._is_asked, self.clauses)):
            # What the property sends is as new as its clauses.
            other.newer = self._why_note(self.clauses[0])
        return other

    def conforms(self, steps: tuple[Step, ...], phase: Phase = Phase.GENERATE) -> None:
        """Record an example that conforms."""
        self._record(Verdict.CONFORMS, steps, phase)

    def differs(
        self,
        error: AssertionError,
        steps: tuple[Step, ...],
        *,
        drawn: str,
        phase: Phase = Phase.GENERATE,
    ) -> Difference:
        """Record an example that fails."""
        is_binding = self.is_binding(error)
        declared = {} if isinstance(error, Unjudged) else self._declared(error)
        verdict = Verdict.VIOLATES if is_binding else Verdict.INFORMATIONAL
        self._record(verdict, steps, phase, error=error, drawn=drawn, declared=declared)
        return Difference(is_binding, is_declared=len(declared) == len(self.clauses))

    def judged_elsewhere(self, reason: str, steps: tuple[Step, ...], phase: Phase) -> None:
        """Record an example that meets a fault of another clause, with the reason."""
        for clause in self.clauses:
            self._recorder.problem(self._key(clause), reason)
        self._record(Verdict.INCONCLUSIVE, steps, phase)

    def leaves_out(self, what: str, *, may_hide: bool, is_bound: bool) -> None:
        """Note in the property's cells what they leave out; see `Judge.leaves_out`."""
        for clause in self.clauses:
            self._recorder.note_left_out(self._key(clause), what, may_hide=may_hide, is_bound=is_bound)

    def drawn(self, values: Mapping[str, Any]) -> str:
        """Return an example's values as text, without the target."""
        return repr({name: value for name, value in values.items() if value is not self._judged})

    def is_about(self, clause: Clause) -> bool:
        """Return whether a clause is one of the property's, at whatever level."""
        return clause.id in [own.id for own in self.clauses]

    def is_planned(self, clause: Clause) -> bool:
        """Return whether the run has a cell for a clause."""
        return self._key(clause) in self._recorder.cells

    def may_violate(self, clause: Clause) -> bool:
        """Return whether the run has a cell for a clause, in which no violation is recorded yet."""
        return self.is_planned(clause) and not self._recorder.cells[self._key(clause)].violations

    def is_binding(self, error: AssertionError) -> bool:
        """Return whether an error is a violation, of a clause that the run's set asks for.

        A PIN binds only Apache Kafka and the reference broker.
        """
        if isinstance(error, Unjudged):
            return False
        asked = [clause for clause in self.clauses if self._is_asked(clause)]
        return any(self._judged.pin_is_binding or clause.level is not Level.PIN for clause in asked)

    def is_declared(self, error: AssertionError) -> bool:
        """Return whether an error is declared for every clause of the property."""
        return all(self._known(clause, error) for clause in self.clauses)

    def signatures(self, error: AssertionError) -> Signatures:
        """Return the cells that an error belongs to, each with the failure's signature."""
        keys = map(self._key, self.clauses)
        return tuple((key, self._signature(key, error)) for key in keys)

    def _is_asked(self, clause: Clause) -> bool:
        return not self._why_note(clause)

    def _why_note(self, clause: Clause) -> str:
        return self.newer or self._recorder.clause_set.why_note(clause.id, self._name)

    def _key(self, clause: Clause) -> CellKey:
        return CellKey(clause.id, self._judged.target.id, self._judged.listener)

    def _signature(self, key: CellKey, error: AssertionError) -> str:
        return signature_of(
            clause=key.clause,
            target=key.target,
            listener=key.listener,
            property_name=self._name,
            kind=kind_of(error),
            message=message_of(error),
        )

    def _declared(self, error: AssertionError) -> dict[str, str]:
        """Return the notes of the declared violations that match this failure, by clause."""
        declared = {}
        for clause in self.clauses:
            matched = self._known(clause, error)
            for known in matched:
                self._recorder.matched(self._judged.target.id, known)
            if matched:
                declared[clause.id] = "; ".join(known.note for known in matched)
            else:
                self._recorder.mark_undeclared(self._key(clause))
        return declared

    def _known(self, clause: Clause, error: AssertionError) -> list[KnownViolation]:
        """Return the declared violations of a clause that match an error."""
        return [
            known
            for known in self._judged.target.known_violations
            if known.describes(clause.id, self._judged.listener, message_of(error))
        ]

    def _record(
        self,
        verdict: Verdict,
        steps: tuple[Step, ...],
        phase: Phase,
        *,
        error: AssertionError | None = None,
        drawn: str = "",
        declared: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.number += 1
        for clause in self.clauses:
            key = self._key(clause)
            failure = None
            if error is not None:
                failure = Failure(
                    signature=self._signature(key, error),
                    clause=clause.id,
                    statement=clause.statement,
                    property_name=self._name,
                    target=key.target,
                    listener=key.listener,
                    verdict=verdict.value,
                    kind=kind_of(error),
                    evidence=evidence_of(error),
                    message=message_of(error),
                    example=drawn,
                    steps=steps,
                    known_violation=declared.get(clause.id, ""),
                    role=self._recorder.role,
                    script=self._judged.script,
                    driver=_driver_of(self._judged),
                    reported=_reported(self._judged, clause.id, message_of(error)),
                    client_command=self._recorder.client_commands.get(client_of(self._recorder.role, key) or "", {}),
                    origin=origin_of(self._judged.target),
                )
            self._recorder.judged(
                JudgedExample(
                    key=key,
                    property_name=self._name,
                    number=self.number,
                    phase=phase,
                    verdict=verdict,
                    steps=steps,
                    failure=failure,
                    newer=self.newer,
                )
            )


def _driver_of(judged: JudgedTarget) -> str:
    """Return the lines of the driver that try an operation; empty for anything else that is judged."""
    if not isinstance(judged, Trial):
        return ""
    return driver_code(judged.chosen.client, judged.chosen.operation)


def _reported(judged: JudgedTarget, clause: str, message: str) -> str:
    """Return where a failure was already reported: to the maintainers of the client, for an operation."""
    owner = judged.chosen.client if isinstance(judged, Trial) else judged.target
    return reported_note(owner.reported, clause, message)
