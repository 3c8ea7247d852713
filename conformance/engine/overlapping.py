"""Judges each example while Hypothesis draws the next ones.

Drawing takes about as long as waiting for responses, so a property takes hardly longer than its drawing. An example's
result is then known some examples late. This does not matter while all examples pass. If one fails,
the property is judged again from its beginning, one example after the other, and shrunk as usual.

A response that is read late cannot be used to measure the target's latency. The first examples of a property are
therefore judged one by one. This also finds most failures while Hypothesis still runs the failing example.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from math import inf
from typing import Any, Protocol

from hypothesis.errors import UnsatisfiedAssumption

from fixtures.client.greenlet_wait import SuspendedCall
from strategies.hypothesis_adapter import assumptions_outside_hypothesis

Judge = Callable[[Callable[..., None], Mapping[str, Any]], None]

JUDGE_EXAMPLE: ContextVar[Judge] = ContextVar("judge_example")
"""The function that judges each example of the current property."""


ONE_BY_ONE_AT_FIRST = 10
AT_ONCE = 2
"""Examples that wait for responses at the same time if the target is near. With one, we wait whenever a broker takes longer than
drawing; more than two bring no gain."""


class RejudgeSequentially(BaseException):
    """An earlier example, from which Hypothesis has moved on, failed, was rejected, or ended the target.

    Not an `Exception`: Hypothesis would treat that as a failure of the example that it is drawing.
    """


class TargetEndedWhileOverlapping(Exception):
    """The target ended while several examples were in progress, and runs again; which example ended it is unknown."""


class Waiting(Protocol):
    """An example that has begun, and whose result is taken later."""

    def begin(self) -> None:
        """Run it up to its first wait; its exceptions before that are raised here."""

    def finish(self) -> None:
        """Run the rest of it; its exceptions are raised here."""

    def drop(self) -> None:
        """Leave it."""


class Overlap:
    """Takes the result of each example after later ones have begun, in the order in which they began."""

    def __init__(
        self,
        judge: Judge,
        *,
        awaited: Callable[[Callable[..., None], Mapping[str, Any]], Waiting] | None = None,
        at_once: int = AT_ONCE,
    ) -> None:
        """Start without examples.

        Args:
            judge: judges one example.
            awaited: returns an example that is judged while others wait; by default it is suspended while it waits for a response.
            at_once: how many examples wait for responses at the same time.
        """
        self._judge = judge
        self._awaited = self._suspended if awaited is None else awaited
        self._at_once = at_once
        self._waiting: deque[Waiting] = deque()
        self._one_by_one: float = ONE_BY_ONE_AT_FIRST

    def judge(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        """Finish the example that has waited longest, then run the next one up to its first wait.

        Raises:
            RejudgeSequentially: a waiting example failed.
            Exception: whatever the judge raises for the next example.
        """
        self._settle(leaving=0 if self._one_by_one else self._at_once - 1)
        if self._one_by_one:
            self._judge_alone(body, values)
        else:
            self._begin(self._awaited(body, values))

    def end(self) -> None:
        """Finish the waiting examples, after Hypothesis has drawn the last one.

        Raises:
            RejudgeSequentially: one of them failed.
        """
        with assumptions_outside_hypothesis():
            self._settle(leaving=0)

    def _judge_alone(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        try:
            self._judge(body, values)
        except AssertionError:
            self._one_by_one = inf
            raise
        self._one_by_one -= 1

    def _suspended(self, body: Callable[..., None], values: Mapping[str, Any]) -> Waiting:
        return SuspendedCall(partial(self._judge, body, values))

    def _begin(self, example: Waiting) -> None:
        try:
            example.begin()
        except TargetEndedWhileOverlapping as error:
            self._drop_all()
            raise RejudgeSequentially from error
        except AssertionError:
            # Hypothesis shrinks the failure now, so it must know each example's result at once.
            self._one_by_one = inf
            raise
        self._waiting.append(example)

    def _settle(self, *, leaving: int) -> None:
        while len(self._waiting) > leaving:
            try:
                self._waiting.popleft().finish()
            except (AssertionError, UnsatisfiedAssumption, TargetEndedWhileOverlapping) as error:
                self._drop_all()
                raise RejudgeSequentially from error

    def _drop_all(self) -> None:
        """Drop all waiting examples; the rerun judges them again."""
        self._one_by_one = inf
        while self._waiting:
            self._waiting.popleft().drop()
