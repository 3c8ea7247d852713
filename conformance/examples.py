"""Turns each run of a property's body into a judged example.

Hypothesis calls the body once per example; `PropertyJudge.judge` stands between the two. It tells violations
from doubts, hands each to the recorder, and ends shrinking when its budget is spent, so that a target which
violates everything costs little more than a healthy one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

from clauses.catalogue import Clause, Level
from conformance.judging import StoppedServing
from fixtures.broker import Broker
from fixtures.errors import HarnessError
from reports.failures import Failure, signature_of
from reports.recorder import CellKey, JudgedExample, RunRecorder
from reports.records import Phase, Verdict

SHRINK_BUDGET_S = 3.0
"""Wall time for making a failure smaller. Seen: requests of one kind are minimal after 0.3 s; a target that
falls silent costs a silence bound per try, so that a few tries must do."""


@dataclass(slots=True)
class _Shrinking:
    """What is known once an example failed.

    Attributes:
        since: when that was, on the monotonic clock (seconds).
        failing: the drawn values of every example that failed.
    """

    since: float
    failing: set[str] = field(default_factory=set)


class PropertyJudge:
    """Judges the examples of one property on one target."""

    def __init__(
        self, recorder: RunRecorder, broker: Broker, clauses: tuple[Clause, ...], name: str
    ) -> None:
        """Begin with no example.

        Args:
            recorder: gets every judged example.
            broker: the target.
            clauses: what the property judges.
            name: the property's name.
        """
        self._recorder = recorder
        self._broker = broker
        self._clauses = clauses
        self._name = name
        self._number = 0
        self._shrinking: _Shrinking | None = None
        self._harness_error: HarnessError | None = None

    def judge(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        """Run the property's body once, on the values drawn, and record what came of it.

        Raises:
            AssertionError: the target violates the clause.
            HarnessError: we could not tell.
        """
        if self._harness_error is not None:
            # Drawing on would only repeat it: a broker that is gone is gone for every example.
            raise self._harness_error
        drawn = repr({name: value for name, value in values.items() if value is not self._broker})
        if self._budget_is_spent(drawn):
            return
        self._broker.forget()
        try:
            self._run(body, values)
        except UnsatisfiedAssumption:
            raise
        except AssertionError as error:
            self._record_difference(drawn, error)
            if self._is_binding():
                raise
        except HarnessError as error:
            self._harness_error = error
            raise
        else:
            self._record(Verdict.CONFORMS)

    def _run(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        try:
            body(**values)
        except StoppedServing:
            raise
        except AssertionError:
            # A broker that ended in the middle of an example said nothing about the clause.
            self._broker.check_alive()
            raise
        exchanges = (exchange for step in self._broker.journal for exchange in step.exchanges)
        if any(exchange.request.broken and not exchange.usable for exchange in exchanges):
            self._broker.check_alive()

    def _budget_is_spent(self, drawn: str) -> bool:
        shrinking = self._shrinking
        return (
            shrinking is not None
            and time.monotonic() - shrinking.since > SHRINK_BUDGET_S
            and drawn not in shrinking.failing
        )

    def _is_binding(self) -> bool:
        """A PIN binds Apache Kafka; what another implementation does instead is information."""
        return self._broker.is_pinned or any(c.level is not Level.PIN for c in self._clauses)

    def _record_difference(self, drawn: str, error: AssertionError) -> None:
        binding = self._is_binding()
        # The first failure was drawn to judge; what follows it is Hypothesis making it smaller.
        phase = Phase.GENERATE if self._shrinking is None else Phase.SHRINK
        self._record(
            Verdict.VIOLATES if binding else Verdict.INFORMATIONAL,
            phase=phase,
            error=error,
            drawn=drawn,
        )
        self._check_expectation(error)
        if binding:
            if self._shrinking is None:
                self._shrinking = _Shrinking(since=time.monotonic())
            self._shrinking.failing.add(drawn)

    def _check_expectation(self, error: AssertionError) -> None:
        """A declared violation covers just the failures that it matches."""
        for clause in self._clauses:
            declared = [k for k in self._broker.target.known_violations if k.clause == clause.id]
            if not any(re.search(known.match, str(error), re.DOTALL) for known in declared):
                key = CellKey(clause.id, self._broker.target.id, self._broker.listener)
                self._recorder.not_covered(key)

    def _record(
        self,
        verdict: Verdict,
        *,
        phase: Phase = Phase.GENERATE,
        error: AssertionError | None = None,
        drawn: str = "",
    ) -> None:
        if self._shrinking is not None:
            phase = Phase.SHRINK
        self._number += 1
        for clause in self._clauses:
            key = CellKey(clause.id, self._broker.target.id, self._broker.listener)
            failure = None
            if error is not None:
                failure = self._failure(clause, key, verdict, error, drawn)
            self._recorder.judged(
                JudgedExample(
                    key=key,
                    property_name=self._name,
                    number=self._number,
                    phase=phase,
                    verdict=verdict,
                    steps=tuple(self._broker.journal),
                    failure=failure,
                )
            )

    def _failure(
        self, clause: Clause, key: CellKey, verdict: Verdict, error: AssertionError, drawn: str
    ) -> Failure:
        kind, message = type(error).__name__, str(error)
        return Failure(
            signature=signature_of(
                clause=clause.id,
                target=key.target,
                listener=key.listener,
                property_name=self._name,
                kind=kind,
                message=message,
            ),
            clause=clause.id,
            statement=clause.statement,
            property_name=self._name,
            target=key.target,
            listener=key.listener,
            verdict=verdict.value,
            kind=kind,
            message=message,
            example=drawn,
            steps=tuple(self._broker.journal),
        )
