"""Tries planted defects one by one: which properties catch them, and after how many examples.

The brokers run in this process unless the caller passes others. Each function does one independent piece of work, and
takes and returns plain values, so that the work can be spread over processes.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.judging import JudgedElsewhere
from conformance.engine.budgets import examples_on
from conformance.mutation.properties import Property, StopDrawing, Values, all_properties, holds
from fixtures.client.patience import Patience
from fixtures.errors import HarnessError
from fixtures.launchers.built_in import reference_targets
from fixtures.under_test.broker import Broker
from fixtures.under_test.in_memory import InMemoryBroker, in_memory_target
from reference_model.faults.broker import DEFECTS
from reference_model.profiles.listeners import PLAINTEXT
from reference_model.profiles.profile import KRAFT, NEWEST_RELEASE, REFERENCE
from strategies.hypothesis_adapter import assumptions_outside_hypothesis

BrokerWith = Callable[[str], Broker]
"""Returns the reference broker with a defect, or the plain one for an empty name; the same name returns the same instance."""

Killed = Mapping[tuple[str, int], Mapping[str, int | None]]
"""By property and seed: the number of examples it took to catch each defect."""

FIRST_SEED = 1
BLAME_SEED = 0
"""The seed of `blame`, which draws a single sequence of examples, as a run of the suite does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of one property on one broker.

    Attributes:
        property_name: the property.
        defect: the broker's planted defect; empty for the plain reference.
        pinned: whether a pinned example fails.
        generated: the number of the first generated example that fails, counted from 1; None if none fails.
        problem: why the property could not judge; empty if it could.
    """

    property_name: str
    defect: str
    pinned: bool
    generated: int | None
    problem: str = ""

    @property
    def caught(self) -> bool:
        """Whether any example fails."""
        return self.pinned or self.generated is not None


@functools.cache
def broker_with(
    defect: str, *, release: str = NEWEST_RELEASE, quorum: str = KRAFT
) -> InMemoryBroker:
    """Return the reference broker with a defect, or the plain one for an empty name.

    Args:
        defect: the defect's name.
        release: the release whose table and traits it has.
        quorum: "kraft" or "zookeeper"; the tables of a release differ by it.
    """
    targets = {target.id: target for target in reference_targets()}
    target = targets[f"{REFERENCE}+{defect}" if defect else REFERENCE]
    tampering = DEFECTS[defect].tampering if defect else None
    running = in_memory_target(
        dataclasses.replace(target, release=release, quorum=quorum), tampering
    )
    # In memory nothing takes time, so a defect may keep properties waiting as often as it likes.
    return InMemoryBroker(running, PLAINTEXT, patience=Patience(math.inf))


def listeners_in_memory(judged: Property) -> tuple[str, ...]:
    """Return the listeners on which a property can judge without a socket; none if it needs one."""
    return _listeners(judged, broker_with(""))


def _listeners(judged: Property, broker: Broker) -> tuple[str, ...]:
    listeners = judged.listeners_of(broker)
    return listeners[:1] if judged.is_deep else listeners


def _fails(judged: Property, broker: Broker, values: Values) -> bool:
    """Return whether a broker violates the clause on an example; a rejected one, or a fault of another clause, does not count."""
    try:
        return not holds(judged, broker, values)
    except (UnsatisfiedAssumption, JudgedElsewhere):
        return False


def blame(property_name: str, defects: Sequence[str], count: int) -> list[Trial]:
    """Run a property on every broker: the pinned examples, and `count` generated ones.

    Args:
        property_name: the property.
        defects: names of defects; an empty name means the plain reference.
        count: how many examples to generate.
    """
    judged = all_properties()[property_name]
    problems: dict[str, str] = {}
    pinned = _caught_by_pinned(judged, defects, problems)
    generated = _first_failures(judged, defects, seed=BLAME_SEED, count=count, problems=problems)
    return [
        Trial(
            property_name=property_name,
            defect=defect,
            pinned=defect in pinned,
            generated=generated.get(defect),
            problem=problems.get(defect, ""),
        )
        for defect in defects
    ]


def caught_by_pinned(property_name: str, defects: Iterable[str], brokers: BrokerWith) -> set[str]:
    """Return the defects that a pinned example of the property catches.

    Raises:
        HarnessError: the property could not judge one of them.
    """
    problems: dict[str, str] = {}
    caught = _caught_by_pinned(all_properties()[property_name], defects, problems, brokers)
    _refuse(property_name, problems)
    return caught


def _caught_by_pinned(
    judged: Property,
    defects: Iterable[str],
    problems: dict[str, str],
    brokers: BrokerWith = broker_with,
) -> set[str]:
    listeners = _listeners(judged, brokers(""))
    with assumptions_outside_hypothesis():
        return {
            defect
            for defect in defects
            if any(
                _catches(judged, defect, values, _on(brokers(defect), listeners), problems)
                for values in judged.pinned
            )
        }


def examples_to_kill(
    property_name: str,
    defects: Sequence[str],
    seed: int,
    brokers: BrokerWith = broker_with,
) -> dict[str, int | None]:
    """Count the generated examples that a property takes to catch each defect; None if a real run's are not enough.

    Raises:
        HarnessError: the property could not judge one of the defects, which does not count as survival.
    """
    judged = all_properties()[property_name]
    problems: dict[str, str] = {}
    first = _first_failures(
        judged,
        defects,
        seed=seed,
        count=judged.max_examples,
        problems=problems,
        brokers=brokers,
    )
    _refuse(property_name, problems)
    return {defect: first.get(defect) for defect in defects}


def _refuse(property_name: str, problems: Mapping[str, str]) -> None:
    if problems:
        details = "; ".join(f"with {defect} {problem}" for defect, problem in problems.items())
        raise HarnessError(
            f"{property_name} could not judge a defect while its examples were counted: {details}"
        )


def seeds_of(property_name: str, seeds: int) -> range:
    """Return the seeds that a property is tried with; only one if it draws nothing."""
    drawn = all_properties()[property_name].is_drawn
    return range(FIRST_SEED, FIRST_SEED + (seeds if drawn else 1))


def largest_budget(property_names: Iterable[str]) -> int:
    """Return the largest number of examples that a real run draws for any of the given properties."""
    return max((all_properties()[name].max_examples for name in property_names), default=0)


def fewest_examples(
    killed: Killed, property_names: Iterable[str], defect: str, seeds: int
) -> tuple[int | None, ...]:
    """Return, seed by seed, how many examples the fastest of the given properties took; None if none caught it."""
    names = tuple(property_names)
    return tuple(
        _fewest(_count(killed, name, seed, defect) for name in names)
        for seed in range(FIRST_SEED, FIRST_SEED + seeds)
    )


def _count(killed: Killed, name: str, seed: int, defect: str) -> int | None:
    # A property that draws nothing was tried with one seed, which stands for all.
    counts = killed.get((name, seed)) or killed.get((name, FIRST_SEED), {})
    return counts.get(defect)


def _fewest(counts: Iterable[int | None]) -> int | None:
    return min((count for count in counts if count is not None), default=None)


def _first_failures(
    judged: Property,
    defects: Iterable[str],
    *,
    seed: int,
    count: int,
    problems: dict[str, str],
    brokers: BrokerWith = broker_with,
) -> Mapping[str, int]:
    """Draw until every defect is caught or `count` examples are drawn; return the first that each defect fails on."""
    first: dict[str, int] = {}
    alive = list(defects)
    number = 0
    healthy = brokers("")
    budgets = {
        listener: examples_on(listener, healthy.target.listeners, max_examples=count)
        for listener in _listeners(judged, healthy)
    }

    def take(values: Values) -> None:
        nonlocal alive, number
        # As in a run of the suite, listeners after the first get only a share of the examples.
        listeners = [listener for listener, budget in budgets.items() if number < budget]
        if not listeners:
            raise StopDrawing
        accepting = _accepting_listeners(judged, values, healthy, listeners)
        number += 1
        caught = [
            each
            for each in alive
            if _catches(judged, each, values, _on(brokers(each), accepting), problems)
        ]
        first.update(dict.fromkeys(caught, number))
        alive = [defect for defect in alive if defect not in first and defect not in problems]
        if not alive:
            raise StopDrawing

    judged.draw(take, seed=seed, count=count)
    return first


def _on(broker: Broker, listeners: Iterable[str]) -> Iterator[Broker]:
    return (broker.sibling(listener) for listener in listeners)


def _accepting_listeners(
    judged: Property, values: Values, healthy: Broker, listeners: Sequence[str]
) -> tuple[str, ...]:
    """Return the listeners on which a healthy broker does not reject an example.

    Raises:
        UnsatisfiedAssumption: there is no such listener.
    """
    accepting = []
    for broker in _on(healthy, listeners):
        try:
            holds(judged, broker, values)
        except UnsatisfiedAssumption:
            continue
        accepting.append(broker.listener)
    if not accepting:
        raise UnsatisfiedAssumption
    return tuple(accepting)


def _catches(
    judged: Property,
    defect: str,
    values: Values,
    brokers: Iterable[Broker],
    problems: dict[str, str],
) -> bool:
    try:
        return any(_fails(judged, broker, values) for broker in brokers)
    except HarnessError as error:
        problems.setdefault(defect, f"{type(error).__name__}: {error}")
        return False
