"""Tries examples at the same time, for a target that is far away.

Each example runs in a thread of its own, on a copy of the broker, and mostly waits: for connections, handshakes and
responses. When its turn comes, what conforms is recorded in its place. What would be a violation is judged again then,
as for a near target, so no example fails because others ran next to it.

Pinned examples are known in advance, so they begin before Hypothesis reaches them. Drawn ones begin when they are
drawn, and their results are taken some examples later. If one of them fails then, Hypothesis has moved on: the property
is judged again from its beginning, one example after the other, and shrunk as usual. The first examples of a property
are judged one by one in any case. This finds most failures while Hypothesis still runs the failing example.

Properties that compare their examples (`in_order`) run one by one.

Examples of a near target do not overlap. A greenlet once waited for a response while Hypothesis drew the next example:
that saved 5 of at least 45 s of a standard run of one listener, with 7 % more processor time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

from conformance.engine.drawing import Body, run_body
from conformance.engine.property_judge import PropertyJudge
from fixtures.client.transport import notifying_of_first_wait
from fixtures.under_test.broker import Broker
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from wire.exchange import Step

MAX_AT_ONCE = 8
"""Examples of one property that run at the same time at most; several processes have as many each."""
WORTH_AN_EXAMPLE_S = 0.05
"""Seconds of a plain exchange for which one more example at the same time is worth it."""

ONE_BY_ONE_AT_FIRST = 10
"""Examples of a property that are judged one by one at first."""

Values = Mapping[str, Any]


class RejudgeSequentially(BaseException):
    """An earlier example, from which Hypothesis has moved on, failed or was rejected.

    Not an `Exception`: Hypothesis would treat that as a failure of the example that it is drawing.
    """


def examples_at_once(broker: Broker) -> int:
    """Return how many examples of a property should run at the same time; 1 for a target that is near."""
    return min(1 + int(broker.distance_s / WORTH_AN_EXAMPLE_S), MAX_AT_ONCE)


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


class _Attempt:
    """An example that runs in a thread."""

    def __init__(self, pool: Executor, broker: Broker, body: Body, values: Values) -> None:
        """Begin as soon as the pool has a thread for it."""
        self._apart = broker.apart()
        self._body = body
        self._values = {name: self._apart if value is broker else value for name, value in values.items()}
        self._has_begun = threading.Event()
        self._tried: _Tried | None = None
        self._end = pool.submit(self._run)

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


class ExamplesAhead:
    """Runs examples of one property in threads, and takes their results in the order in which they began."""

    def __init__(
        self,
        judge: PropertyJudge,
        broker: Broker,
        pool: Executor,
        *,
        pinned: Sequence[Values],
        at_once: int,
    ) -> None:
        """Begin nothing yet; the values of the pinned examples come in their order."""
        self._judge = judge
        self._broker = broker
        self._pool = pool
        self._pinned = pinned
        self._at_once = at_once
        self._one_by_one: float = ONE_BY_ONE_AT_FIRST
        self._waiting: deque[tuple[Body, Values, _Attempt]] = deque()
        self.begin_again()

    def begin_again(self) -> None:
        """Start again with the property's first example."""
        self._left = deque(self._pinned)
        self._begun: deque[_Attempt] = deque()

    def judge(self, body: Body, values: Values) -> None:
        """Take the result of the example that has waited longest, and begin the next one.

        Raises:
            RejudgeSequentially: an earlier example failed, or was rejected.
            AssertionError: the target violates the clause.
            UnsatisfiedAssumption: the property rejects the example before it waits for the target.
            HarnessError: an example could not be judged.
        """
        self._settle(leaving=0 if self._one_by_one else self._at_once - 1)
        attempt = self._attempt_at_pinned(body, values)
        if self._one_by_one:
            self._judge_now(body, values, attempt)
            return
        attempt = attempt or _Attempt(self._pool, self._broker, body, values)
        tried = attempt.await_first_wait()
        if tried is not None and isinstance(tried.error, UnsatisfiedAssumption):
            raise tried.error
        self._waiting.append((body, values, attempt))

    def end(self) -> None:
        """Take the results of the examples that wait, after Hypothesis has drawn the last one.

        Raises:
            RejudgeSequentially: one of them failed.
        """
        self._settle(leaving=0)

    def _judge_now(self, body: Body, values: Values, attempt: _Attempt | None) -> None:
        try:
            if attempt is None:
                self._judge.judge(body, values)
            else:
                self._take(body, values, attempt)
        except AssertionError:
            # Hypothesis shrinks the failure now, so it must know each example's result at once.
            self._one_by_one = inf
            raise
        self._one_by_one -= 1

    def _settle(self, *, leaving: int) -> None:
        while len(self._waiting) > leaving:
            try:
                self._take(*self._waiting.popleft())
            except (AssertionError, UnsatisfiedAssumption) as error:
                self._one_by_one = inf
                self._waiting.clear()
                raise RejudgeSequentially from error

    def _take(self, body: Body, values: Values, attempt: _Attempt) -> None:
        """Judge an example by what its attempt found."""
        tried = attempt.result()
        if tried.error is None:
            self._judge.judge_conforming(values, tried.steps)
        elif self._judge.is_expected(tried.error):
            self._judge.judge(tried.again(self._broker), values)
        else:
            self._judge.judge(body, values)

    def _attempt_at_pinned(self, body: Body, values: Values) -> _Attempt | None:
        """Return the attempt at the next pinned example, and begin those after it; None if all have had their turn."""
        while self._left and len(self._begun) < self._at_once:
            # What is not pinned is the same in each: the fixtures.
            self._begun.append(_Attempt(self._pool, self._broker, body, {**values, **self._left.popleft()}))
        return self._begun.popleft() if self._begun else None


@contextmanager
def examples_ahead(
    judge: PropertyJudge, broker: Broker, pinned: Sequence[Values], *, at_once: int
) -> Iterator[ExamplesAhead | None]:
    """Let examples of a property run ahead if several should run at once; no thread is left after the block."""
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
