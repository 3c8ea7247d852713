"""The properties of `conformance/brokers`, run without pytest: on values that are drawn once for many brokers.

What Hypothesis draws next does not depend on what a broker answers, as long as no example fails. So one
sequence of examples serves the reference broker and all its defects, and drawing costs its time once.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import UnsatisfiedAssumption

import conformance.brokers
from conformance.budgets import SETTINGS_OF_A_TEST
from conformance.examples import JUDGE
from conformance.hypothesis_profiles import DEEP_EXAMPLES_PER_PROPERTY, EXAMPLES_PER_PROPERTY
from conformance.needs import NEEDS
from fixtures.broker import Broker
from wire.exchange import Exchange

Values = Mapping[str, Any]
"""What one example is made of, by parameter of the property; the broker is not among them."""


class Enough(BaseException):
    """Nothing more is to be drawn. Hypothesis takes an `Exception` for a failure of the property."""


@dataclass(frozen=True, slots=True)
class Property:
    """One property.

    Attributes:
        name: the test function's name.
        function: the test function, as Hypothesis made it.
    """

    name: str
    function: Callable[..., None]

    def _marked(self, mark: str) -> tuple[str, ...]:
        return tuple(value for each in self._marks if each.name == mark for value in each.args)

    @property
    def _marks(self) -> Sequence[pytest.Mark]:
        return getattr(self.function, "pytestmark", ())

    @property
    def clauses(self) -> tuple[str, ...]:
        """Ids of the clauses that it judges."""
        return self._marked("clause")

    @property
    def listeners(self) -> tuple[str, ...]:
        """The listeners that it is about; empty for all."""
        return self._marked("listeners")

    def listeners_of(self, broker: Broker) -> tuple[str, ...]:
        """Return the listeners that a broker has and the property runs on; none where a need is not met."""
        if not all(NEEDS[name].is_met(broker) for name in self._marked("needs")):
            return ()
        there = broker.running.addresses
        return tuple(name for name in there if not self.listeners or name in self.listeners)

    @property
    def is_deep(self) -> bool:
        """Whether it takes too long for a standard run."""
        return any(mark.name == "deep" for mark in self._marks)

    @property
    def max_examples(self) -> int:
        """How many examples a real run draws on a target's first listener, in the tier that has the property."""
        chosen = getattr(self.function, SETTINGS_OF_A_TEST, None)
        own = EXAMPLES_PER_PROPERTY if chosen is None else int(chosen.max_examples)
        return DEEP_EXAMPLES_PER_PROPERTY if self.is_deep and own == EXAMPLES_PER_PROPERTY else own

    @property
    def body(self) -> Callable[..., None]:
        """What judges one example: takes a broker and the example's values."""
        return self.function.hypothesis.inner_test if self.is_drawn else self.function  # type: ignore[attr-defined]

    @property
    def is_drawn(self) -> bool:
        """Whether Hypothesis draws its examples; else it goes through all that there is by itself."""
        return hasattr(self.function, "hypothesis")

    @property
    def pinned(self) -> tuple[Values, ...]:
        """The examples that are written down with the property; none where it goes by itself."""
        if not self.is_drawn:
            return ()
        examples = getattr(self.function, "hypothesis_explicit_examples", ())
        # The decorator nearest to the function is applied first and run last.
        return tuple(example.kwargs for example in reversed(examples))

    def draw(self, take: Callable[[Values], None], *, seed: int, count: int) -> None:
        """Draw examples, and hand each over; a property that goes by itself is one example.

        Args:
            take: gets the values of each example; `UnsatisfiedAssumption` rejects it, `Enough` ends the drawing.
            seed: of the chance.
            count: how many examples that are not rejected are drawn at most.
        """
        if not self.is_drawn:
            with contextlib.suppress(Enough, UnsatisfiedAssumption):
                take({})
            return
        signature = inspect.signature(self.body)

        def taken(*arguments: Any, **values: Any) -> None:
            drawn = signature.bind(*arguments, **values).arguments
            take({name: value for name, value in drawn.items() if name != "broker"})

        taken.__signature__ = signature  # type: ignore[attr-defined]
        strategies = self.function.hypothesis._given_kwargs  # type: ignore[attr-defined]
        chosen = settings(
            max_examples=count,
            phases=(Phase.generate,),
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        test = chosen(hypothesis.seed(seed)(given(**strategies)(taken)))
        try:
            test(broker=None)
        except Enough:
            return


class _Judge:
    """Stands where a run of the suite has its `PropertyJudge`: the first failure ends the property."""

    def conforms(self, exchanges: Sequence[Exchange]) -> None:
        """Go on."""

    def differs(self, error: AssertionError, *how: object) -> None:
        """Fail."""
        raise error

    def judge_stored(self, body: Callable[..., None], values: Values) -> bool:
        """Run what is stored; it fails by itself."""
        body(**values)
        return True

    def notes(self, error: AssertionError, steps: object) -> None:
        """Go on: what cannot be judged is no failure."""

    def leaves_out(self, what: str) -> None:
        """Go on: what is left out is no failure."""

    def raise_first(self) -> None:
        """Go on: nothing has failed."""


def holds(judged: Property, broker: Broker, values: Values) -> bool:
    """Tell whether a broker conforms on one example.

    Raises:
        UnsatisfiedAssumption: the example says nothing about this broker.
    """
    broker.forget()
    # What goes through a list by itself asks for a judge, who writes nothing down here.
    JUDGE.set(_Judge())  # type: ignore[arg-type]
    try:
        judged.body(broker=broker, **values)
    except UnsatisfiedAssumption:
        raise
    except AssertionError:
        return False
    return True


@functools.cache
def all_properties() -> Mapping[str, Property]:
    """Return every property of `conformance/brokers`, by name."""
    return {found.name: found for found in _search()}


def _search() -> Iterator[Property]:
    for module in pkgutil.iter_modules(conformance.brokers.__path__):
        members = vars(importlib.import_module(f"{conformance.brokers.__name__}.{module.name}"))
        for name, member in members.items():
            if name.startswith("test_") and callable(member):
                yield Property(name, member)
