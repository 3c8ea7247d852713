"""Turns each run of a property's body into a judged example.

Hypothesis calls the body once per example, through `PropertyJudge.judge`. The judge distinguishes violations
from harness errors. It leaves the details to `ExampleRecorder`, `ExampleLimits`, `CrashJudge` and `FailingExamples`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import Clause, catalogue
from clauses.tiers import Tier
from conformance.assertions.errors import JudgedElsewhere, TargetEnded, Unjudged
from conformance.assertions.evidence import evidence_of
from conformance.assertions.violated_musts import ViolatesAnother
from conformance.engine.crashes import CrashJudge
from conformance.engine.drawing import Body
from conformance.engine.example_limits import ExampleLimits
from conformance.engine.example_recorder import Difference, ExampleRecorder
from conformance.engine.failing_examples import FailingExamples, FurtherKinds, Repeat
from conformance.engine.judge_interface import Judge
from conformance.engine.repeating import FailingExample
from conformance.engine.second_plays import SecondPlays
from fixtures.client.patience import Patience
from fixtures.errors import BrokerGone, HarnessError, NoCredentials, OutOfPatience
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.judged_target import JudgedTarget
from reports.records import Phase
from reports.run.recorder import RunRecorder
from wire.exchange import Exchange, Step

JUDGE: ContextVar[Judge] = ContextVar("judge")
"""The judge of the current property."""

NEWER_EXAMPLE = "an example is newer than the set of clauses"
NOT_JUDGED = "not judged after the first failures: {error}"
OUT_OF_PATIENCE = (
    "not judged after the first failures: the target used up the time that the property may wait for responses"
)


class PropertyJudge(Judge):
    """Judges the examples of one property on one target, and records them.

    Attributes:
        crashes: records what the examples show about other clauses than the property's.
    """

    def __init__(
        self,
        recorder: RunRecorder,
        judged: JudgedTarget,
        clauses: tuple[Clause, ...],
        name: str,
        *,
        is_secondary_listener: bool = False,
        is_thorough: bool = True,
        distance_s: float = 0.0,
        pinned: int = 0,
        further_kinds: FurtherKinds | None = None,
        failing: FailingExamples | None = None,
        second_plays: SecondPlays | None = None,
        newer: Collection[Mapping[str, Any]] = (),
    ) -> None:
        """Start without examples.

        Args:
            recorder: records every judged example.
            judged: the target.
            clauses: the clauses that the property judges.
            name: the property's name.
            is_secondary_listener: whether the listener is not the target's first, so that drawing ends early.
            is_thorough: whether long lists are sent in any tier, because the run judges no listener before this one
                that differs in TLS alone.
            distance_s: seconds that an example takes in any case, because the target is far away.
            pinned: the number of pinned examples; they come first, and all of them run.
            further_kinds: finds further kinds of failures; None if the property ends with the first one.
            failing: keeps the failures of this property and others, to be repeated together; None to keep its own.
            second_plays: judges plays of a client again in which it was late; None if it is judged by no plays.
            newer: the values of its pinned examples that the run's set of clauses does not ask for.
        """
        super().__init__(judged, [clause.id for clause in clauses])
        self.keep_machine = recorder.keep_machine
        self._is_thorough = is_thorough or recorder.tier == Tier.DEEP
        self._examples = ExampleRecorder(recorder, judged, clauses, name)
        self._limits = ExampleLimits(is_secondary_listener=is_secondary_listener, pinned=pinned, distance_s=distance_s)
        self.crashes = CrashJudge(judged, self._examples)
        self._contradicted: set[str] = set()
        self._failing = failing or FailingExamples(recorder)
        self._further = further_kinds
        self._second_plays = second_plays
        self._newer = newer
        self._has_found = False
        self._harness_error: HarnessError | None = None
        self._lack: NoCredentials | None = None
        self._first_error: AssertionError | None = None

    @property
    def failed_elsewhere(self) -> set[str]:
        """Ids of further clauses that the examples violated.

        Causes include a crash, lost connections, an epoch that fell, and a deviation from the model.
        """
        return self.crashes.failed_elsewhere | self._contradicted

    @property
    def is_thorough(self) -> bool:
        """Whether a property that sends a list sends a long one."""
        return self._is_thorough

    def judge(self, body: Body, values: Mapping[str, Any]) -> None:
        """Judge a drawn example, unless it is over the property's limits.

        Raises:
            AssertionError: the target violates the clause.
            HarnessError: the example could not be judged.
        """
        if self._skips(values):
            return
        if self._further is None:
            self._run(body, values)
        else:
            self._run_on(self._further, body, values)

    def judge_conforming(self, values: Mapping[str, Any], steps: tuple[Step, ...]) -> None:
        """Judge a drawn example that conformed when it was run ahead, unless it is over the property's limits.

        Raises:
            HarnessError: an earlier example could not be judged.
        """
        if self._skips(values):
            return
        if self._harness_error is not None:
            raise self._harness_error
        self._examples.conforms(steps, self._limits.phase)

    def is_expected(self, error: Exception) -> bool:
        """Return whether an error of an example is no undeclared violation.

        The error rejects the example, is only noted, or is declared.
        """
        if isinstance(error, UnsatisfiedAssumption):
            return True
        if not isinstance(error, AssertionError) or isinstance(error, TargetEnded):
            return False
        return not self._examples.is_binding(error) or self._examples.is_declared(error)

    def _skips(self, values: Mapping[str, Any]) -> bool:
        drawn = self._examples.drawn(values)
        if self._further is not None and self._further.skips(drawn):
            return True
        return self._harness_error is None and self._limits.skips(
            drawn,
            is_first=self._examples.number == 0,
            patience_left_s=self._judged.patience.left_s,
        )

    def _run_on(self, further: FurtherKinds, body: Body, values: Mapping[str, Any]) -> None:
        """Run the property's body once; go on after a failure unless Hypothesis has to shrink it.

        Raises:
            AssertionError: a violation of a new kind, on a drawn example.
            HarnessError: the example could not be judged.
        """
        is_pinned = further.passes_pinned()
        try:
            self._run(body, values)
        except AssertionError as error:
            if further.ends_round(self._examples.signatures(error), is_pinned=is_pinned):
                raise
            if not further.is_shrinking:
                self._limits.end_shrinking()
            self._keep_first(error)

    def judge_stored(self, body: Body, values: Mapping[str, Any]) -> bool:
        """Judge and record an example that was not drawn."""
        try:
            self._run(body, values)
        except AssertionError as error:
            self._limits.end_shrinking()
            self._keep_first(error)
            return False
        return True

    def conforms(self, exchanges: Sequence[Exchange]) -> None:
        """Record an example that was sent among others and conforms."""
        step = Step(connection=0, listener=self._judged.listener, exchanges=tuple(exchanges))
        self._examples.conforms((step,), self._limits.phase)

    def differs(self, error: AssertionError, steps: tuple[Step, ...], example: FailingExample) -> None:
        """Record an example that was sent among others and fails; `raise_first` raises the first such error."""
        if isinstance(error, TargetEnded):
            self.crashes.blame(error, steps, example.values)
        difference = self._record(error, steps, self._examples.drawn(example.values))
        self._blame_contradicted(error, steps, example)
        self._limits.end_shrinking()
        if difference.is_binding:
            self._failing.keep(self._examples.signatures(error), example)
            self._keep_first(error)

    def notes(self, error: Unjudged, steps: tuple[Step, ...]) -> None:
        """Record something that cannot be judged, with the steps that show it, for readers of the grid."""
        self._record(error, steps, "")

    def leaves_out(self, what: str, *, may_hide: bool = False, is_bound: bool = False) -> None:
        """Note in the property's cells what they leave out."""
        self._examples.leaves_out(what, may_hide=may_hide, is_bound=is_bound)

    def blame_for_end(self, gone: BrokerGone, values: Mapping[str, Any]) -> BrokerGone:
        """Record the end of a target that cannot be started again; see `CrashJudge.blame_for_end`."""
        return self.crashes.blame_for_end(gone, values)

    def blame_for_stop(self, values: Mapping[str, Any]) -> bool:
        """Record that the target has stopped serving, if it has; see `CrashJudge.blame_for_stop`."""
        return self.crashes.blame_for_stop(values)

    def begin_again(self, reason: BaseException | None) -> None:
        """Start again with the property's first example.

        Args:
            reason: the error of an example that Hypothesis does not know about; `raise_first` raises it if it is a
                violation.
        """
        self._limits.begin_again()
        if isinstance(reason, AssertionError):
            self._keep_first(reason)

    def draws_on(self, error: AssertionError) -> bool:
        """Begin another round of drawing after a failure that Hypothesis has shrunk; return whether there is one.

        Args:
            error: the failure; `raise_first` raises it if it is the first one.
        """
        self._keep_first(error)
        if self._further is None or not self._further.begin_round():
            return False
        self._limits.begin_again()
        return True

    def raise_first(self) -> None:
        """End the property: record how much was run, and raise the first violation that Hypothesis did not raise.

        Raises:
            AssertionError: the violation.
            JudgedElsewhere: there is none, but some examples met a fault that another clause judges.
            NoCredentials: no example could be run without authentication.
        """
        left_out = self._limits.left_out()
        if left_out:
            self.leaves_out(left_out)
        if self._lack is not None:
            if not self._examples.number:
                raise self._lack
            self.leaves_out(str(self._lack))
        if self._first_error is not None:
            raise self._first_error
        super().raise_first()

    def repeat_failures(self, repeat: Repeat) -> None:
        """Repeat each distinct failure alone, and record how often it occurs again."""
        self._failing.repeat(repeat)

    def _run(self, body: Body, values: Mapping[str, Any]) -> None:
        """Run the property's body once, and record the result."""
        if self._harness_error is not None:
            # Further examples would only repeat it: a broker that is gone is gone for all of them.
            raise self._harness_error
        self._examples.newer = NEWER_EXAMPLE if self._is_newer(values) else ""
        patience = self._judged.patience
        before = patience.now()
        try:
            self._run_or_blame(body, values)
        except JudgedElsewhere as reason:
            self.judged_elsewhere(reason)
        except NoCredentials as lack:
            # Other examples of the property may need none.
            self._lack = lack
        except AssertionError as error:
            if self._failed(error, FailingExample(body, values), before):
                raise
        except HarnessError as error:
            if not self._keeps_findings(error):
                self._harness_error = error
                raise
        else:
            # Silence that was allowed does not count against the target's patience.
            patience.refund(before)
            self._examples.conforms(tuple(self._judged.journal), self._limits.phase)

    def _is_newer(self, values: Mapping[str, Any]) -> bool:
        return any(all(values.get(name) == value for name, value in newer.items()) for newer in self._newer)

    def _failed(self, error: AssertionError, example: FailingExample, before: Patience) -> bool:
        """Record an example that fails, and return whether Hypothesis has to know it."""
        steps = tuple(self._judged.journal)
        is_shrunk = self._limits.phase is Phase.SHRINK
        difference = self._record(error, steps, self._examples.drawn(example.values))
        contradicts = self._blame_contradicted(error, steps, example, is_shrunk=is_shrunk)
        if difference.is_declared and not contradicts:
            # A declared violation was expected, silence included, so its waiting time is refunded. Drawing goes on:
            # the next example may fail in another way, which the declaration must not hide.
            self._judged.patience.refund(before)
            self._keep_first(error)
            return False
        if isinstance(error, TargetEnded):
            # A crash has already been repeated on a fresh target.
            self.crashes.blame(error, steps, example.values)
        elif difference.is_binding:
            known = replace(example, evidence=evidence_of(error))
            self._failing.keep(self._examples.signatures(error), known, is_shrunk=is_shrunk)
        return difference.is_binding or contradicts

    def _blame_contradicted(
        self,
        error: AssertionError,
        steps: tuple[Step, ...],
        example: FailingExample,
        *,
        is_shrunk: bool = False,
    ) -> bool:
        """Record that a deviation from the model violates the MUST that it contradicts, if the run judges that.

        Returns:
            Whether it does, and is not declared.
        """
        violation = self.contradicted(error)
        if violation is None or not self._examples.is_planned(catalogue()[violation.clause]):
            return False
        examples = self._examples.for_clause(catalogue()[violation.clause])
        drawn = self._examples.drawn(example.values)
        difference = examples.differs(violation.error, steps, drawn=drawn, phase=self._limits.phase)
        self._contradicted.add(violation.clause)
        if difference.is_declared:
            return False
        self._failing.keep(examples.signatures(violation.error), example, is_shrunk=is_shrunk)
        self._limits.found(difference, drawn)
        self._keep_first(violation.error)
        return True

    def judged_elsewhere(self, reason: JudgedElsewhere) -> None:
        """Record an example that meets a fault of another clause: it leaves the property's own clauses inconclusive."""
        if isinstance(reason, ViolatesAnother):
            clause = catalogue()[reason.clause]
            if self._examples.may_violate(clause):
                steps = reason.steps or tuple(self._judged.journal)
                self.crashes.differs(clause, reason.violation, steps)
        self._examples.judged_elsewhere(str(reason), tuple(self._judged.journal), self._limits.phase)
        super().judged_elsewhere(reason)

    def _run_or_blame(self, body: Body, values: Mapping[str, Any]) -> None:
        try:
            self._run_or_play_again(body, values)
        except (AssertionError, HarnessError) as error:
            reason = self.elsewhere(error)
            if reason is None or self._stands(error, reason):
                raise
            raise reason from error

    def _run_or_play_again(self, body: Body, values: Mapping[str, Any]) -> None:
        try:
            self.crashes.run(body, values)
        except AssertionError as error:
            client, second_plays = self._judged, self._second_plays
            if second_plays is None or not isinstance(client, ClientUnderTest):
                raise
            signatures = self._examples.signatures(error)
            second_plays.judge(client, FailingExample(body, values), error, signatures)

    def _stands(self, error: Exception, reason: JudgedElsewhere) -> bool:
        """Return whether an error counts although a fault of another clause explains it."""
        if not isinstance(error, AssertionError):
            return False
        if isinstance(reason, ViolatesAnother):
            is_planned = self._examples.is_planned(catalogue()[reason.clause])
            return not is_planned or not self._examples.is_binding(error)
        return not self._examples.is_binding(error)

    def _record(self, error: AssertionError, steps: tuple[Step, ...], drawn: str) -> Difference:
        difference = self._examples.differs(error, steps, drawn=drawn, phase=self._limits.phase)
        self._limits.found(difference, drawn)
        self._has_found |= not isinstance(error, Unjudged)
        return difference

    def _keep_first(self, error: AssertionError) -> None:
        self._first_error = self._first_error or error

    def _keeps_findings(self, error: HarnessError) -> bool:
        """Return whether the findings so far count although no more examples can be judged; the cells then say so."""
        is_over = isinstance(error, OutOfPatience)
        keeps = self._has_found and (is_over or self._further is not None)
        if keeps:
            self.leaves_out(OUT_OF_PATIENCE if is_over else NOT_JUDGED.format(error=error))
        return keeps
