"""Tries examples at the same time, for a target that is far away.

Each example runs in a thread of its own, on a copy of the broker, and mostly waits: for connections, handshakes and responses.
When its turn comes, what conforms is recorded in its place. What would be a violation is judged again then, as for a
near target, so no example fails because others ran next to it. Pinned examples are known in advance, so they
begin before Hypothesis reaches them; drawn ones begin when they are drawn, and `overlapping.Overlap` takes their results later.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

from conformance.engine.property_judge import PropertyJudge
from conformance.engine.repeating import Body, run_body
from fixtures.client.first_wait import notifying_of_first_wait
from fixtures.under_test.broker import Broker
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from wire.exchange import Step

MOST_AT_ONCE = 8
"""Examples of one property that run at the same time at most; several processes have as many each."""
WORTH_AN_EXAMPLE_S = 0.05
"""Seconds of a plain exchange for which one more example at the same time is worth it."""

Values = Mapping[str, Any]


def examples_at_once(broker: Broker) -> int:
    """Return how many examples of a property should run at the same time; 1 for a target that is near."""
    return min(1 + int(broker.distance_s / WORTH_AN_EXAMPLE_S), MOST_AT_ONCE)


@dataclass(frozen=True, slots=True)
class _Tried:
    """What became of an example that ran ahead.

    Attributes:
        steps: its steps.
        error: what it raised; None if it conforms.
    """

    steps: tuple[Step, ...]
    error: Exception | None

    def again(self, broker: Broker) -> Body:
        """Return a body that does the same without the target."""

        def repeat(**_: Any) -> None:
            broker.journal.extend(self.steps)
            if self.error is not None:
                raise self.error

        return repeat


class _Trial:
    """An example that runs in a thread."""

    def __init__(self, pool: Executor, broker: Broker, body: Body, values: Values) -> None:
        """Begin as soon as the pool has a thread for it."""
        self._apart = broker.apart()
        self._body = body
        self._values = {
            name: self._apart if value is broker else value for name, value in values.items()
        }
        self._has_begun = threading.Event()
        self._tried: _Tried | None = None
        self._end = pool.submit(copy_context().run, self._run)

    def await_first_wait(self) -> _Tried | None:
        """Wait until it first waits for the target; return what became of it if it is over by then."""
        self._has_begun.wait()
        return self._tried

    def result(self) -> _Tried:
        """Wait until it is over, and return what became of it."""
        self._end.result()
        assert self._tried is not None
        return self._tried

    def _run(self) -> None:
        error = None
        with notifying_of_first_wait(self._has_begun.set):
            try:
                run_body(self._apart, self._body, self._values)
            except Exception as raised:  # noqa: BLE001
                # Whatever it is, it is raised again in the example's turn.
                error = raised
        self._tried = _Tried(tuple(self._apart.journal), error)
        self._has_begun.set()


class _Awaited:
    """A drawn or pinned example whose result is taken later; see `overlapping.Waiting`."""

    def __init__(self, ahead: ExamplesAhead, trial: _Trial, body: Body, values: Values) -> None:
        self._ahead = ahead
        self._trial = trial
        self._body = body
        self._values = values

    def begin(self) -> None:
        """Wait until it first waits for the target; raise if it is rejected before."""
        tried = self._trial.await_first_wait()
        if tried is not None and isinstance(tried.error, UnsatisfiedAssumption):
            raise tried.error

    def finish(self) -> None:
        """Judge it by what became of it."""
        self._ahead.take(self._body, self._values, self._trial)

    def drop(self) -> None:
        """Leave the result; it ends by itself."""


class ExamplesAhead:
    """Runs examples of one property in threads.

    Attributes:
        at_once: how many.
    """

    def __init__(
        self,
        judge: PropertyJudge,
        broker: Broker,
        pool: Executor,
        *,
        pinned: Sequence[Values],
        at_once: int,
    ) -> None:
        """Begin nothing yet.

        Args:
            judge: judges the property.
            broker: the target.
            pool: has the threads.
            pinned: the values of the pinned examples, in their order.
            at_once: how many examples should run at the same time.
        """
        self.at_once = at_once
        self._judge = judge
        self._broker = broker
        self._pool = pool
        self._pinned = pinned
        self.begin_again()

    def begin_again(self) -> None:
        """Start again with the property's first example."""
        self._left = deque(self._pinned)
        self._begun: deque[_Trial] = deque()

    def judge(self, body: Body, values: Values) -> None:
        """Judge an example now; a pinned one by its trial, which began earlier.

        Raises:
            AssertionError: the target violates the clause.
            HarnessError: the example could not be judged.
        """
        trial = self._trial_of_pinned(body, values)
        if trial is None:
            self._judge.judge(body, values)
        else:
            self.take(body, values, trial)

    def awaited(self, body: Body, values: Values) -> _Awaited:
        """Begin an example whose result is taken later."""
        trial = self._trial_of_pinned(body, values)
        if trial is None:
            trial = _Trial(self._pool, self._broker, body, values)
        return _Awaited(self, trial, body, values)

    def take(self, body: Body, values: Values, trial: _Trial) -> None:
        """Judge an example by its trial; raises as `judge` does."""
        tried = trial.result()
        if tried.error is None:
            self._judge.judge_conforming(values, tried.steps)
        elif self._judge.is_expected(tried.error):
            self._judge.judge(tried.again(self._broker), values)
        else:
            self._judge.judge(body, values)

    def _trial_of_pinned(self, body: Body, values: Values) -> _Trial | None:
        """Return the trial of the next pinned example, and begin those after it; None if all have had their turn."""
        while self._left and len(self._begun) < self.at_once:
            # What is not pinned is the same in each: the fixtures.
            self._begun.append(
                _Trial(self._pool, self._broker, body, {**values, **self._left.popleft()})
            )
        return self._begun.popleft() if self._begun else None


@contextmanager
def examples_ahead(
    judge: PropertyJudge, broker: Broker, pinned: Sequence[Values]
) -> Iterator[ExamplesAhead | None]:
    """Let examples of a property run ahead if the target is far away; no thread is left after the block.

    Args:
        judge: judges the property.
        broker: the target.
        pinned: the values of the pinned examples, in their order.
    """
    at_once = examples_at_once(broker)
    if at_once == 1:
        yield None
        return
    pool = ThreadPoolExecutor(at_once)
    try:
        # Hypothesis does not know of examples in other threads.
        with assumptions_outside_hypothesis():
            yield ExamplesAhead(judge, broker, pool, pinned=pinned, at_once=at_once)
    finally:
        pool.shutdown(cancel_futures=True)
