"""Judges each example while Hypothesis draws the next one.

Drawing and answering take about as long, so that a property takes hardly more time than its drawing. What an
example comes to is then known one example late. That is no matter while all of them hold; where one does not,
the property is judged again from its beginning, one example after the other, and shrunk as usual.

An answer that is read late says nothing about the target's latency. The first examples of a property are
therefore judged one by one, which also lets most failures be met where Hypothesis still knows about them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from math import inf
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption

from conformance.assumptions import assumptions_outside_hypothesis
from fixtures.standing_aside import Aside

Judge = Callable[[Callable[..., None], Mapping[str, Any]], None]

JUDGE_EXAMPLE: ContextVar[Judge] = ContextVar("judge_example")
"""What gets each example of the property that runs."""


ONE_BY_ONE_AT_FIRST = 10


class OneByOne(BaseException):
    """An example that Hypothesis had gone on from does not hold, or was not to be judged.

    No `Exception`: Hypothesis would take it for a failure of the example that it draws at the moment.
    """


class Overlap:
    """Leaves each example to itself where it waits for an answer, and comes back to it before the next."""

    def __init__(self, judge: Judge) -> None:
        """Begin with no example.

        Args:
            judge: judges one example.
        """
        self._judge = judge
        self._waiting: Aside | None = None
        self._one_by_one: float = ONE_BY_ONE_AT_FIRST

    def judge(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        """Judge the example that waits to its end, and the next one up to its first wait.

        Raises:
            OneByOne: the one that waited does not hold.
            Exception: what the judge raises of the next one.
        """
        self._settle()
        try:
            if self._one_by_one:
                self._judge(body, values)
                self._one_by_one -= 1
            else:
                self._waiting = Aside(partial(self._judge, body, values))
                self._waiting.begin()
        except AssertionError:
            # Hypothesis shrinks it now, for which it must know at once what each example comes to.
            self._one_by_one = inf
            raise

    def end(self) -> None:
        """Judge the last example to its end, behind everything that Hypothesis draws.

        Raises:
            OneByOne: it does not hold.
        """
        with assumptions_outside_hypothesis():
            self._settle()

    def _settle(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return
        try:
            waiting.finish()
        except (AssertionError, UnsatisfiedAssumption) as error:
            self._one_by_one = inf
            raise OneByOne from error
