"""Runs the properties of brokers and of clients without pytest.

Values are drawn once and used for many targets.

As long as no example fails, what Hypothesis draws next does not depend on a target's behaviour. So one sequence of
examples serves the reference broker and all its defects, and is drawn only once; likewise for the model client.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from clauses import marks
from conformance.assertions.errors import Unjudged
from conformance.assertions.violated_musts import ViolatesAnother
from conformance.engine.hypothesis_profiles import (
    DEEP_EXAMPLES_PER_PROPERTY,
    EXAMPLES_PER_PROPERTY,
    own_seed,
)
from conformance.engine.judge_interface import Judge
from conformance.engine.property_judge import JUDGE
from conformance.roles.broker import NEEDS, BrokerRole
from conformance.roles.client import ClientRole
from conformance.roles.role import property_modules
from conformance.roles.role_registry import EVERY_ROLE
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from fixtures.under_test.client import ClientUnderTest
from proposals import Proposal
from reference_model.profiles.listeners import UPSTREAM
from strategies.hypothesis_adapter import (
    StopDrawing,
    body_of,
    draw,
    is_drawn,
    max_examples_of,
    pinned_examples,
    strategies_of,
)

Values = Mapping[str, Any]
"""The values of one example, by parameter of the property; the target is not included."""

PARAMETERS = frozenset(role.parameter for role in EVERY_ROLE)
"""The names of the parameter that is the target."""


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
        return tuple(value for each in self.marks if each.name == mark for value in each.args)

    @property
    def marks(self) -> Sequence[pytest.Mark]:
        """The marks of the test function."""
        return getattr(self.function, "pytestmark", ())

    @property
    def clauses(self) -> tuple[str, ...]:
        """Ids of the clauses that the property judges."""
        return self._marked(marks.CLAUSE)

    @property
    def listeners(self) -> tuple[str, ...]:
        """The listeners that the property runs on; empty for all."""
        return self._marked(marks.LISTENERS)

    def listeners_of(self, broker: Broker) -> tuple[str, ...]:
        """Return the listeners of a broker that the property runs on, in the property's order.

        A listener on which a need of the property is not met is left out.
        """
        there = broker.running.addresses
        wanted = (name for name in dict.fromkeys(self.listeners or there) if name in there)
        return tuple(name for name in wanted if self._is_provided(broker.sibling(name)))

    def _is_provided(self, broker: Broker) -> bool:
        return all(NEEDS[name].is_met(broker) for name in self.needs)

    @property
    def is_deep(self) -> bool:
        """Whether the property takes too long for a standard run."""
        return any(mark.name == marks.DEEP for mark in self.marks)

    @property
    def is_about_proxies(self) -> bool:
        """Whether the property needs the upstream of a proxy."""
        return UPSTREAM in self.needs

    @property
    def max_examples(self) -> int:
        """The number of examples that a real run draws on a target's first listener, in the property's tier."""
        own = max_examples_of(self.function) or EXAMPLES_PER_PROPERTY
        return DEEP_EXAMPLES_PER_PROPERTY if self.is_deep and own == EXAMPLES_PER_PROPERTY else own

    @property
    def target(self) -> str:
        """The name of the parameter that is the target, one of `PARAMETERS`."""
        parameters = inspect.signature(self.body).parameters
        return next(name for name in parameters if name in PARAMETERS)

    @property
    def needs(self) -> tuple[str, ...]:
        """What a target must provide for the property."""
        return self._marked(marks.NEEDS)

    @property
    def body(self) -> Callable[..., None]:
        """The function that judges one example; it takes a target and the example's values."""
        return body_of(self.function)

    @property
    def is_drawn(self) -> bool:
        """Whether Hypothesis draws the examples; otherwise the property iterates over all cases itself."""
        return is_drawn(self.function)

    @property
    def pinned(self) -> tuple[Values, ...]:
        """The pinned examples; none if Hypothesis does not draw the property's examples."""
        return pinned_examples(self.function)

    def draw(self, take: Callable[[Values], None], *, seed: int, count: int) -> None:
        """Draw examples and pass each to `take`; a property that iterates over its cases itself is one example.

        Args:
            take: called with the values of each example. It raises `UnsatisfiedAssumption` to reject the example,
                and `StopDrawing` to stop drawing.
            seed: the random seed.
            count: the maximum number of examples, without rejected ones.
        """
        if not self.is_drawn:
            with contextlib.suppress(StopDrawing, UnsatisfiedAssumption):
                take({})
            return
        own = own_seed(self.name, seed) if self.target == "broker" else seed
        draw(strategies_of(self.function), take, seed=own, count=count)


def holds(
    judged: Property,
    target: Broker | ClientUnderTest,
    values: Values,
    *,
    contradicted: set[str] | None = None,
) -> bool:
    """Return whether a target conforms on one example.

    Args:
        judged: the property.
        target: the target.
        values: the example.
        contradicted: takes the id of another clause that the example violates; None if that does not matter.

    Raises:
        UnsatisfiedAssumption: the property rejects the example for this target.
        JudgedElsewhere: the example meets a fault that another clause judges.
    """
    target.begin_example()
    # Properties that iterate over a list themselves need a judge; this one records nothing.
    judge = Judge(target, judged.clauses)
    JUDGE.set(judge)
    try:
        judged.body(**{judged.target: target}, **values)
    except UnsatisfiedAssumption:
        raise
    except Unjudged:
        return True
    except (AssertionError, HarnessError) as error:
        reason = judge.elsewhere(error)
        if reason is not None:
            if contradicted is not None and isinstance(reason, ViolatesAnother):
                contradicted.add(reason.clause)
            raise reason from error
        if isinstance(error, HarnessError):
            raise
        violation = None if contradicted is None else judge.contradicted(error)
        if contradicted is not None and violation is not None:
            contradicted.add(violation.clause)
        return False
    return True


@functools.cache
def all_properties() -> Mapping[str, Property]:
    """Return every property of brokers, by name, except those of proxies and of proposals alone."""
    properties = properties_in(BrokerRole.folder)
    return {each.name: each for each in properties if not each.is_about_proxies}


@functools.cache
def proxy_properties() -> Mapping[str, Property]:
    """Return every property of proxies alone, by name."""
    return {each.name: each for each in properties_in(BrokerRole.folder) if each.is_about_proxies}


@functools.cache
def properties_of(proposal: Proposal) -> Mapping[str, Property]:
    """Return every property of brokers that a proposal brings, by name."""
    return {each.name: each for each in properties_in(proposal.properties(BrokerRole.folder.name))}


@functools.cache
def client_properties() -> Mapping[str, Property]:
    """Return every property of clients, by name."""
    return {each.name: each for folder in ClientRole.folders() for each in properties_in(folder)}


def properties_in(folder: Path) -> Iterator[Property]:
    """Yield the properties in a folder, in the order of its modules and of their tests."""
    for module in property_modules(folder):
        members = vars(importlib.import_module(module))
        for name, member in members.items():
            if name.startswith("test_") and callable(member):
                yield Property(name, member)
