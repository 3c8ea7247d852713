"""Turns each run of a property's body into a judged example.

Hypothesis calls the body once per example, through `PropertyJudge.judge`. The judge distinguishes violations
from harness errors, passes results to the recorder, and ends shrinking when its budget is spent. So a target that
violates everything costs little more time than a healthy one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from clauses.catalogue import Clause, Level
from conformance.assertions.judging import TargetEnded, Unjudged
from conformance.engine.crashes import (
    clause_of_crash,
    confirm_crash,
    crash_error,
    not_judgeable_after,
)
from conformance.engine.overlapping import EndedBesideOthers
from conformance.engine.repeating import FailingExample, Repeater, run_body
from conformance.engine.shrinking import Shrinking
from fixtures.client.greenlet_wait import is_aside
from fixtures.errors import BrokerGone, HarnessError, OutOfPatience
from fixtures.under_test.broker import Broker
from reports.records import Phase, Verdict
from reports.run.failures import Failure, signature_of
from reports.run.recorder import CellKey, JudgedExample, RunRecorder
from reports.verdict_labels import counted
from wire.exchange import Exchange, Step

JUDGE: ContextVar[PropertyJudge] = ContextVar("judge")
"""The judge of the current property."""

SEQUENCES_CLAUSE = "MODEL.sequence-agrees"
"""The clause violated by an example that passes on a connection of its own but fails on a borrowed one."""

BRIEF_S = 1.0
"""Wall time of a property on a listener that is not a target's first. Some releases take 0.3 s for every request
that is pipelined over TLS, and seconds for one that is throttled by a quota."""
TOO_SLOW = (
    "{run} of {drawn} drawn examples were run before the limit of {limit_s:g} s for this listener; "
    "every pinned example was run"
)
"""The text of a cell whose target is too slow for the remaining examples."""
OUT_OF_PATIENCE = "not judged after the first failures: the target used up the time that the property may wait for responses"
ENOUGH_DIFFERENCES = 3
"""Informational differences to find before a property ends. They are not failures, so Hypothesis would go on drawing;
if the difference is silence, each one costs the silence bound."""


class PropertyJudge:
    """Judges the examples of one property on one target.

    Attributes:
        failed_elsewhere: ids of further clauses that an example violated: by failing only after other requests, or by
            a crash.
    """

    def __init__(
        self,
        recorder: RunRecorder,
        broker: Broker,
        clauses: tuple[Clause, ...],
        name: str,
        *,
        is_brief: bool = False,
        pinned: int = 0,
        sequences: PropertyJudge | None = None,
    ) -> None:
        """Start without examples.

        Args:
            recorder: records every judged example.
            broker: the target.
            clauses: the clauses that the property judges.
            name: the property's name.
            is_brief: whether the property ends after `BRIEF_S`, however many examples are drawn.
            pinned: the number of pinned examples; they come first, and all of them run.
            sequences: the same property's judge for failures that occur only after other requests on one connection,
                which violate a separate clause. Without it no example borrows a connection.
        """
        self._began_at = time.monotonic()
        self._is_brief = is_brief
        self._recorder = recorder
        self._broker = broker
        self._clauses = clauses
        self._name = name
        self._pinned = pinned
        self._asked = 0
        self._too_late = 0
        self._number = 0
        self._shrinking = Shrinking()
        self._differences = 0
        self._has_found = False
        self._sequences = sequences
        self.failed_elsewhere: set[str] = set()
        self._lender = None if sequences is None else broker.lender()
        self._is_deadly = False
        self._stored = False
        self._harness_error: HarnessError | None = None
        self._first_error: AssertionError | None = None
        self._failing: dict[tuple[tuple[CellKey, str], ...], FailingExample] = {}

    def judge(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        """Run the property's body once on the drawn values, and record the result.

        Raises:
            AssertionError: the target violates the clause.
            HarnessError: the example could not be judged.
        """
        if self._harness_error is not None:
            # Further examples would only repeat it: a broker that is gone is gone for all of them.
            raise self._harness_error
        self._asked += 1
        if not self._stored and self._asked > self._pinned and self._is_enough():
            return
        drawn = self._drawn(values)
        patience = self._broker.patience
        if self._shrinking.is_over(drawn, patience_left_s=patience.left_s):
            return
        before = patience.now()
        try:
            self._run(body, values)
        except AssertionError as error:
            if self._record_difference(drawn, error):
                # A declared violation was expected, silence included, so its waiting time is refunded. Drawing goes on:
                # the next example may fail in another way, which the declaration must not hide.
                patience.forgive(before)
                self._first_error = self._first_error or error
            elif self._is_to_raise(error, FailingExample(body, values)):
                raise
        except HarnessError as error:
            if not self._stands_without(error):
                self._harness_error = error
                raise
        else:
            # Silence that was allowed does not count against the target's patience.
            patience.forgive(before)
            self._record(Verdict.CONFORMS)

    def _stands_without(self, error: HarnessError) -> bool:
        """Return whether what was found stands without the examples that cannot be judged, and say so on the cells."""
        stands = self._has_found and isinstance(error, OutOfPatience)
        if stands:
            self.leaves_out(OUT_OF_PATIENCE)
        return stands

    def _run(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        """Run the body; if that ends a target that we can restart, find out whether the example is the cause."""
        try:
            self._run_on_any_connection(body, values)
        except BrokerGone as gone:
            if not self._broker.can_restart:
                raise self.ends_for_good(gone, values) from gone
            self._broker.restart()
            if is_aside():
                raise EndedBesideOthers(str(gone)) from gone
            if not self._is_deadly:
                confirm_crash(self._broker, body, values, gone)
            self._is_deadly = True
            raise crash_error(gone) from gone

    def _run_on_any_connection(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        """Run the body, on a borrowed connection if possible; if it fails there, run it on one of its own."""
        lender = self._lender if is_aside() else None
        try:
            run_body(self._broker, body, values, lender=lender)
        except AssertionError as error:
            served, done = self._broker.served_before, self._broker.journal
            if not served:
                raise
            run_body(self._broker, body, values)
            requests = tuple(step.exchanges[0].request for step in served)
            example = FailingExample(body, values, served_before=requests)
            self._holds_alone(error, (*served, *done), example)

    def _holds_alone(
        self, error: AssertionError, steps: tuple[Step, ...], example: FailingExample
    ) -> None:
        """Record that an example passes on a connection of its own, but fails after requests of other examples."""
        assert self._sequences is not None
        # One such failure is enough evidence; with borrowed connections, more examples would have to run twice.
        self.close()
        served = counted(len(example.served_before), "request")
        after_others = AssertionError(
            f"after {served} that the connection had served well: {error}"
        )
        self.failed_elsewhere.add(SEQUENCES_CLAUSE)
        # Both judges record it under the same number, because it is the same example.
        self._sequences._number = self._number
        self._sequences.differs(after_others, steps, example)

    def close(self) -> None:
        """Close the connections that examples left open for others to borrow."""
        if self._lender is not None:
            self._lender.close()

    def judge_stored(self, body: Callable[..., None], values: Mapping[str, Any]) -> bool:
        """Judge an example that was not drawn: it is not shrunk, and later examples are judged even if it fails.

        Returns:
            Whether the target conforms; if not, `raise_first` raises the violation.

        Raises:
            HarnessError: the example could not be judged.
        """
        self._stored = True
        try:
            self.judge(body, values)
        except AssertionError as error:
            self._shrinking.end()
            self._first_error = self._first_error or error
            return False
        return True

    def conforms(self, exchanges: Sequence[Exchange]) -> None:
        """Record an example that was sent among others and conforms."""
        step = Step(connection=0, listener=self._broker.listener, exchanges=tuple(exchanges))
        self._record(Verdict.CONFORMS, steps=(step,))

    def differs(
        self, error: AssertionError, steps: tuple[Step, ...], example: FailingExample
    ) -> None:
        """Record an example that was sent among others and fails.

        Args:
            error: what is wrong; `raise_first` raises the first such error.
            steps: the steps that were taken.
            example: the example, for repeating it.
        """
        if isinstance(error, TargetEnded):
            self._blame_crash(error, steps, example.values)
        self._record_difference(
            self._drawn(example.values),
            error,
            steps=steps,
            served_before=len(example.served_before),
        )
        self._shrinking.end()
        if self._is_binding(error):
            self._failing[self._signatures(error)] = example
            self._first_error = self._first_error or error

    def notes(self, error: Unjudged, steps: tuple[Step, ...]) -> None:
        """Record something that cannot be judged, with the steps that show it, for readers of the grid."""
        self._record_difference("", error, steps=steps)

    def leaves_out(self, what: str) -> None:
        """Note in the property's cells what they leave out; the rest is judged as usual."""
        for clause in self._clauses:
            self._recorder.left_out(self._key(clause), what)

    def begin_again(self, reason: BaseException | None) -> None:
        """Start again with the property's first example.

        Args:
            reason: the error of an example that Hypothesis does not know about; `raise_first` raises it if it is a
                violation.
        """
        self._shrinking.end()
        self._began_at = time.monotonic()
        self._asked = self._too_late = 0
        if isinstance(reason, AssertionError):
            self._first_error = self._first_error or reason

    def raise_first(self) -> None:
        """End the property: record how much was run, and raise the first violation that Hypothesis does not know, if any."""
        if self._too_late:
            drawn = self._asked - self._pinned
            run = drawn - self._too_late
            self.leaves_out(TOO_SLOW.format(run=run, drawn=drawn, limit_s=BRIEF_S))
        if self._first_error is not None:
            raise self._first_error
        if self._sequences is not None:
            self._sequences.raise_first()

    def repeat_failures(self, repeater: Repeater) -> None:
        """Repeat each distinct failure alone, unless it is declared, and record how often it occurs again."""
        for signatures, example in self._failing.items():
            if all(self._recorder.cells[key].planned.known_violation for key, _ in signatures):
                continue
            repeats = repeater.repeat(self._broker, example)
            if repeats is not None:
                for key, signature in signatures:
                    self._recorder.repeated(key, signature, repeats)
        if self._sequences is not None:
            self._sequences.repeat_failures(repeater)

    def _is_to_raise(self, error: AssertionError, example: FailingExample) -> bool:
        """Keep a failing example; return whether Hypothesis gets the error."""
        binding = self._is_binding(error)
        if isinstance(error, TargetEnded):
            # A crash has already been repeated on a fresh target.
            self._blame_crash(error, tuple(self._broker.journal), example.values)
        elif binding:
            self._failing[self._signatures(error)] = example
        return binding

    def _blame_crash(
        self, error: TargetEnded, steps: tuple[Step, ...], values: Mapping[str, Any]
    ) -> None:
        """Record a crash as a violation of the clause about crashes, unless that is the property's own."""
        clause = clause_of_crash(steps)
        if clause not in self._clauses and self._key(clause) in self._recorder.cells:
            self._record_crash(clause, error, steps, self._drawn(values))

    def _record_crash(
        self, clause: Clause, error: TargetEnded, steps: tuple[Step, ...], drawn: str
    ) -> None:
        if clause not in self._clauses:
            self.failed_elsewhere.add(clause.id)
        crash = PropertyJudge(self._recorder, self._broker, (clause,), self._name)
        crash._number = self._number
        crash._record_difference(drawn, error, steps=steps)

    def ends_for_good(self, gone: BrokerGone, values: Mapping[str, Any]) -> BrokerGone:
        """Record the end of a target that cannot be started again, and end all judging of it.

        The latest example that sent anything is to blame: the current one, or the one before it.

        Args:
            gone: how it ended.
            values: those of the current example.

        Returns:
            Why nothing more can be judged; the reason names the violated clause.
        """
        broker = self._broker
        if isinstance(broker.unreadable, BrokerGone):
            return broker.unreadable
        steps = broker.last_sent
        if not steps:
            return gone
        clause = clause_of_crash(steps)
        if self._key(clause) not in self._recorder.cells:
            clause = self._clauses[0]
        drawn = self._drawn(values) if steps == tuple(broker.journal) else ""
        self._record_crash(clause, crash_error(gone), steps, drawn)
        broker.unreadable = not_judgeable_after(gone, clause)
        return broker.unreadable

    def _drawn(self, values: Mapping[str, Any]) -> str:
        return repr({name: value for name, value in values.items() if value is not self._broker})

    def _key(self, clause: Clause) -> CellKey:
        return CellKey(clause.id, self._broker.target.id, self._broker.listener)

    def _signatures(self, error: AssertionError) -> tuple[tuple[CellKey, str], ...]:
        """Return the cells that an error belongs to, each with the failure's signature."""
        return tuple(
            (self._key(clause), self._signature(self._key(clause), error))
            for clause in self._clauses
        )

    def _signature(self, key: CellKey, error: AssertionError) -> str:
        return signature_of(
            clause=key.clause,
            target=key.target,
            listener=key.listener,
            property_name=self._name,
            kind=type(error).__name__,
            message=str(error),
        )

    def _is_enough(self) -> bool:
        """Return whether further drawn examples are skipped."""
        if self._differences >= ENOUGH_DIFFERENCES:
            return True
        took_s = time.monotonic() - self._began_at
        is_late = self._is_brief and self._number > 0 and took_s > BRIEF_S
        if not is_late or self._shrinking.is_under_way:
            return False
        self._too_late += 1
        return True

    def _is_binding(self, error: AssertionError) -> bool:
        """Return whether an error is a violation; a PIN binds only Apache Kafka and the reference broker."""
        if isinstance(error, Unjudged):
            return False
        return self._broker.is_pinned or any(c.level is not Level.PIN for c in self._clauses)

    def _record_difference(
        self,
        drawn: str,
        error: AssertionError,
        *,
        steps: tuple[Step, ...] | None = None,
        served_before: int = 0,
    ) -> bool:
        """Record a difference; return whether it is declared for every clause of the property."""
        binding = self._is_binding(error)
        declared = {} if isinstance(error, Unjudged) else self._declared(error)
        is_declared = len(declared) == len(self._clauses)
        self._differences += not binding
        self._has_found |= not isinstance(error, Unjudged)
        self._record(
            Verdict.VIOLATES if binding else Verdict.INFORMATIONAL,
            error=error,
            drawn=drawn,
            steps=steps,
            served_before=served_before,
            declared=declared,
        )
        if binding and not is_declared:
            self._shrinking.failed(drawn)
        return is_declared

    def _declared(self, error: AssertionError) -> dict[str, str]:
        """Return the notes of the declared violations that match this failure, by clause."""
        target, listener = self._broker.target, self._broker.listener
        declared = {}
        for clause in self._clauses:
            matched = [
                known
                for known in target.known_violations
                if known.holds_on(clause.id, listener)
                and re.search(known.match, str(error), re.DOTALL)
            ]
            self._recorder.matched_expectations.update((target.id, known) for known in matched)
            if matched:
                declared[clause.id] = "; ".join(known.note for known in matched)
            else:
                self._recorder.not_covered(self._key(clause))
        return declared

    def _record(
        self,
        verdict: Verdict,
        *,
        error: AssertionError | None = None,
        drawn: str = "",
        steps: tuple[Step, ...] | None = None,
        served_before: int = 0,
        declared: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        # The first failure was drawn for judging; examples after it are part of shrinking.
        phase = Phase.SHRINK if self._shrinking.is_under_way else Phase.GENERATE
        self._number += 1
        for clause in self._clauses:
            key = self._key(clause)
            done = tuple(self._broker.journal) if steps is None else steps
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
                    kind=type(error).__name__,
                    message=str(error),
                    example=drawn,
                    steps=done,
                    served_before=served_before,
                    known_violation=declared.get(clause.id, ""),
                )
            self._recorder.judged(
                JudgedExample(
                    key=key,
                    property_name=self._name,
                    number=self._number,
                    phase=phase,
                    verdict=verdict,
                    steps=done,
                    failure=failure,
                )
            )
