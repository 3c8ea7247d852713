"""Judges each example while Hypothesis draws the next ones.

Drawing and answering take about as long, so that a property takes hardly more time than its drawing. What an
example comes to is then known some examples late. That is no matter while all of them hold; where one does not,
the property is judged again from its beginning, one example after the other, and shrunk as usual.

An answer that is read late says nothing about the target's latency. The first examples of a property are
therefore judged one by one, which also lets most failures be met where Hypothesis still knows about them.
"""

from __future__ import annotations

from collections import deque
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
AT_ONCE = 2
"""Examples that wait for their answers at the same time: with one, a broker that takes longer than the drawing is
waited for; more than two bring nothing."""


class OneByOne(BaseException):
    """An example that Hypothesis had gone on from does not hold, or was not to be judged.

    No `Exception`: Hypothesis would take it for a failure of the example that it draws at the moment.
    """


class EndedBesideOthers(Exception):
    """The target has ended while several examples were under way, and runs again; which of them ended it is not known."""


class Overlap:
    """Leaves each example to itself where it waits for an answer, and comes back to it before later ones."""

    def __init__(self, judge: Judge) -> None:
        """Begin with no example.

        Args:
            judge: judges one example.
        """
        self._judge = judge
        self._waiting: deque[Aside] = deque()
        self._one_by_one: float = ONE_BY_ONE_AT_FIRST

    def judge(self, body: Callable[..., None], values: Mapping[str, Any]) -> None:
        """Judge the one that has waited longest to its end, and the next one up to its first wait.

        Raises:
            OneByOne: one that waited does not hold.
            Exception: what the judge raises of the next one.
        """
        self._settle(leaving=0 if self._one_by_one else AT_ONCE - 1)
        if self._one_by_one:
            self._judge_alone(body, values)
        else:
            self._begin(Aside(partial(self._judge, body, values)))

    def end(self) -> None:
        """Judge the last examples to their end, behind everything that Hypothesis draws.

        Raises:
            OneByOne: one of them does not hold.
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

    def _begin(self, example: Aside) -> None:
        try:
            example.begin()
        except EndedBesideOthers as error:
            self._drop_all()
            raise OneByOne from error
        except AssertionError:
            # Hypothesis shrinks it now, for which it must know at once what each example comes to.
            self._one_by_one = inf
            raise
        self._waiting.append(example)

    def _settle(self, *, leaving: int) -> None:
        while len(self._waiting) > leaving:
            try:
                self._waiting.popleft().finish()
            except (AssertionError, UnsatisfiedAssumption, EndedBesideOthers) as error:
                self._drop_all()
                raise OneByOne from error

    def _drop_all(self) -> None:
        """Give up what waits, of which the rerun judges all again."""
        self._one_by_one = inf
        while self._waiting:
            self._waiting.popleft().drop()
