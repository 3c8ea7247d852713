"""Turns each run of a property's body into a judged example.

Hypothesis calls the body once per example; `PropertyJudge.judge` stands between the two. It tells violations
from doubts, hands each to the recorder, and ends shrinking when its budget is spent, so that a target which
violates everything costs little more than a healthy one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from clauses.catalogue import Clause, Level, catalogue
from conformance.judging import TargetEnded, Unjudged, crash_in_words
from conformance.overlapping import EndedBesideOthers
from conformance.repeating import FailingExample, Repeater, run_body
from conformance.shrinking import Shrinking
from fixtures.broker import Broker
from fixtures.errors import BrokerGone, HarnessError, OutOfPatience
from fixtures.standing_aside import is_aside
from reports.failures import Failure, signature_of
from reports.recorder import CellKey, JudgedExample, RunRecorder
from reports.records import Phase, Verdict
from reports.words import counted
from wire.exchange import Exchange, Step

JUDGE: ContextVar[PropertyJudge] = ContextVar("judge")
"""The judge of the property that runs."""

SEQUENCES_CLAUSE = "MODEL.sequence-agrees"
"""What an example violates that holds on a connection of its own and not on a borrowed one."""
CRASH_OF_BROKEN = "PROTOCOL.malformed-hurts-nobody"
CRASH_OF_WELL_FORMED = "PROTOCOL.well-formed-never-closed"
"""What an example violates that ends the target, by whether anything of it was malformed."""

BRIEF_S = 1.0
"""Wall time of a property on a listener that is not a target's first: some releases take 0.3 s for every request
that is pipelined over TLS, and seconds for one that a quota holds back."""
TOO_SLOW = (
    f"drawn examples behind the first ones, which took more than {BRIEF_S:g} s on this listener; "
    "every pinned example was run"
)
OUT_OF_PATIENCE = "what comes after the first failures: the target kept the property waiting for responses until its time was used up"
ENOUGH_DIFFERENCES = 3
"""Differences that are only information are no failures, so that Hypothesis would go on to look for one; where
the difference is silence each costs the silence bound."""


class PropertyJudge:
    """Judges the examples of one property on one target.

    Attributes:
        failed_elsewhere: ids of clauses beside its own that an example violated: by what does not hold behind other
            requests alone, or by a crash.
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
        """Begin with no example.

        Args:
            recorder: gets every judged example.
            broker: the target.
            clauses: what the property judges.
            name: the property's name.
            is_brief: whether it ends after `BRIEF_S`, however many examples are drawn.
            pinned: how many examples are written down with the property; they come first, and all of them are run.
            sequences: judges, for the same property, what shows only behind other requests on one connection, which is
                the matter of a clause of its own; without it no example borrows a connection.
        """
        self._began_at = time.monotonic()
        self._is_brief = is_brief
        self._recorder = recorder
        self._broker = broker
        self._clauses = clauses
        self._name = name
        self._pinned = pinned
        self._asked = 0
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
        """Run the property's body once, on the values drawn, and record what came of it.

        Raises:
            AssertionError: the target violates the clause.
            HarnessError: we could not tell.
        """
        if self._harness_error is not None:
            # Drawing on would only repeat it: a broker that is gone is gone for every example.
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
                # What is declared was to be expected, silence from the beginning and all. The next example may
                # fail in another way, which the declaration must not hide.
                patience.forgive(before)
                self._first_error = self._first_error or error
            elif self._is_to_raise(error, FailingExample(body, values)):
                raise
        except OutOfPatience as error:
            if not self._has_found:
                self._harness_error = error
                raise
            self.leaves_out(OUT_OF_PATIENCE)
        except HarnessError as error:
            self._harness_error = error
            raise
        else:
            # Silence that was right is no reason to lose patience.
            patience.forgive(before)
            self._record(Verdict.CONFORMS)

    def _run(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        """Run the body; where that ends a target which we can start again, find out whether it is to blame."""
        try:
            self._run_on_any_connection(body, values)
        except BrokerGone as gone:
            if not self._broker.can_restart:
                raise
            self._broker.restart()
            if is_aside():
                raise EndedBesideOthers(str(gone)) from gone
            if not self._is_deadly:
                self._run_again(body, values, gone)
            self._is_deadly = True
            raise TargetEnded("\n".join(crash_in_words(str(gone)))) from gone

    def _run_on_any_connection(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        """Run the body, on a borrowed connection if it can be; what does not hold there is run on one of its own."""
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
        """Record that an example holds on a connection of its own, and does not behind what another one served."""
        assert self._sequences is not None
        # One tells it; every further example would be run twice.
        self.close()
        served = counted(len(example.served_before), "request")
        behind = AssertionError(f"behind {served} that the connection had served well: {error}")
        self.failed_elsewhere.add(SEQUENCES_CLAUSE)
        # It is the same example.
        self._sequences._number = self._number
        self._sequences.differs(behind, steps, example)

    def _run_again(
        self, body: Callable[..., None], values: Mapping[str, Any], gone: BrokerGone
    ) -> None:
        """Run the body on a fresh target; returns where it ends that one as well."""
        try:
            run_body(self._broker, body, values)
            # A process takes a moment to end of what it has answered or closed already.
            self._broker.await_end()
        except BrokerGone:
            # Where it does not come back, the next connection says so.
            with suppress(HarnessError):
                self._broker.restart()
            return
        raise HarnessError(f"{gone}; what was sent did not end a fresh one") from gone

    def close(self) -> None:
        """Close the connections that examples left for others."""
        if self._lender is not None:
            self._lender.close()

    def judge_stored(self, body: Callable[..., None], values: Mapping[str, Any]) -> bool:
        """Judge an example that was not drawn: nothing is made smaller, and the next one is judged all the same.

        Returns:
            Whether the target holds; `raise_first` raises what it did not.

        Raises:
            HarnessError: we could not tell.
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
        """Record an example that was sent among others and holds."""
        step = Step(connection=0, listener=self._broker.listener, exchanges=tuple(exchanges))
        self._record(Verdict.CONFORMS, steps=(step,))

    def differs(
        self, error: AssertionError, steps: tuple[Step, ...], example: FailingExample
    ) -> None:
        """Record an example that was sent among others and does not hold.

        Args:
            error: what is wrong with it; `raise_first` raises the first one.
            steps: what was done.
            example: how to do it again.
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
        """Record something that cannot be judged, for the reader of the grid, and the exchange that shows it."""
        self._record_difference("", error, steps=steps)

    def leaves_out(self, what: str) -> None:
        """Say of the property's cells what they leave out, without a doubt about the rest."""
        for clause in self._clauses:
            self._recorder.left_out(self._key(clause), what)

    def begin_again(self, reason: BaseException | None) -> None:
        """Expect the property's examples from the first one on.

        Args:
            reason: what an example came to that Hypothesis does not know of; `raise_first` raises a violation.
        """
        self._shrinking.end()
        self._began_at = time.monotonic()
        self._asked = 0
        if isinstance(reason, AssertionError):
            self._first_error = self._first_error or reason

    def raise_first(self) -> None:
        """Raise the first violation that Hypothesis was not told of, if any."""
        if self._first_error is not None:
            raise self._first_error
        if self._sequences is not None:
            self._sequences.raise_first()

    def repeat_failures(self, repeater: Repeater) -> None:
        """Repeat each distinct failure alone, and note how often it showed again; not where it is declared."""
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
        """Keep an example that does not hold; returns whether Hypothesis is told of it."""
        binding = self._is_binding(error)
        if isinstance(error, TargetEnded):
            # It has been repeated on a fresh one already.
            self._blame_crash(error, tuple(self._broker.journal), example.values)
        elif binding:
            self._failing[self._signatures(error)] = example
        return binding

    def _blame_crash(
        self, error: TargetEnded, steps: tuple[Step, ...], values: Mapping[str, Any]
    ) -> None:
        """Record a crash as a violation of the clause about it, whichever property met it."""
        broken = any(each.request.broken for step in steps for each in step.exchanges)
        clause = catalogue()[CRASH_OF_BROKEN if broken else CRASH_OF_WELL_FORMED]
        key = self._key(clause)
        if clause in self._clauses or key not in self._recorder.cells:
            return
        self.failed_elsewhere.add(clause.id)
        crash = PropertyJudge(self._recorder, self._broker, (clause,), self._name)
        crash._number = self._number
        crash._record_difference(self._drawn(values), error, steps=steps)

    def _drawn(self, values: Mapping[str, Any]) -> str:
        return repr({name: value for name, value in values.items() if value is not self._broker})

    def _key(self, clause: Clause) -> CellKey:
        return CellKey(clause.id, self._broker.target.id, self._broker.listener)

    def _signatures(self, error: AssertionError) -> tuple[tuple[CellKey, str], ...]:
        """Return the cells that an error is a failure of, each with the failure's signature."""
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
        """Tell whether no more of what Hypothesis draws is run."""
        if self._differences >= ENOUGH_DIFFERENCES:
            return True
        took_s = time.monotonic() - self._began_at
        is_late = self._is_brief and self._number > 0 and took_s > BRIEF_S
        if not is_late or self._shrinking.is_under_way:
            return False
        self.leaves_out(TOO_SLOW)
        return True

    def _is_binding(self, error: AssertionError) -> bool:
        """A PIN binds Apache Kafka; what another implementation does instead is information."""
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
        """Record what does not hold; returns whether that is declared."""
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
        """Return what is declared of just this failure, by the clause that it is declared for."""
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
        # The first failure was drawn to judge; what follows it is Hypothesis making it smaller.
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
