"""Tries planted faults one by one.

The result says which properties catch each fault, and after how many examples.

The models run in this process unless the subject brings others. Each function does one independent piece of work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.errors import JudgedElsewhere
from conformance.engine.hypothesis_profiles import examples_on
from conformance.mutation.properties import Property, Values, holds
from conformance.mutation.subjects import Subject
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from strategies.hypothesis_adapter import StopDrawing, assumptions_outside_hypothesis

Killed = Mapping[tuple[str, int], Mapping[str, int | None]]
"""By property and seed: the number of examples it took to catch each fault."""

FIRST_SEED = 1
BLAME_SEED = 0
"""The seed of `blame`, which draws a single sequence of examples, as a run of the suite does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedFault:
    """The result of one property on one model.

    Attributes:
        property_name: the property.
        fault: the planted fault; empty for the plain model.
        pinned: whether a pinned example fails.
        generated: the number of the first generated example that fails, counted from 1; None if none fails, or if a
            pinned example fails and none was generated.
        problem: why the property could not judge; empty if it could.
        contradicted: ids of the MUSTs that a deviation from the model contradicts, if the property is about the model.
    """

    property_name: str
    fault: str
    pinned: bool
    generated: int | None
    problem: str = ""
    contradicted: frozenset[str] = frozenset()

    @property
    def caught(self) -> bool:
        """Whether any example fails."""
        return self.pinned or self.generated is not None


def blame(subject: Subject, property_name: str, faults: Sequence[str], count: int) -> list[TriedFault]:
    """Run a property on a model with each fault.

    All faults get the pinned examples. Faults that no pinned example catches also get `count` generated examples.

    Args:
        subject: the model.
        property_name: the property.
        faults: names of faults; an empty name means the plain model.
        count: how many examples to generate.
    """
    judging = _Judging(subject, property_name)
    pinned = judging.caught_by_pinned(faults)
    left = [fault for fault in faults if fault not in pinned]
    generated = judging.first_failures(left, seed=BLAME_SEED, count=count)
    return [
        TriedFault(
            property_name=property_name,
            fault=fault,
            pinned=fault in pinned,
            generated=generated.get(fault),
            problem=judging.problems.get(fault, ""),
            contradicted=frozenset(judging.contradicted[fault]),
        )
        for fault in faults
    ]


def caught_by_pinned(subject: Subject, property_name: str, faults: Iterable[str]) -> set[str]:
    """Return the faults that a pinned example of the property catches.

    Raises:
        HarnessError: the property could not judge one of them.
    """
    judging = _Judging(subject, property_name)
    caught = judging.caught_by_pinned(faults)
    judging.refuse_problems()
    return caught


def examples_to_kill(subject: Subject, property_name: str, faults: Sequence[str], seed: int) -> dict[str, int | None]:
    """Count the generated examples that a property takes to catch each fault; None if a real run's are not enough.

    Raises:
        HarnessError: the property could not judge one of the faults, which does not count as survival.
    """
    judging = _Judging(subject, property_name)
    first = judging.first_failures(faults, seed=seed, count=subject.examples_of(judging.judged))
    judging.refuse_problems()
    return {fault: first.get(fault) for fault in faults}


def seeds_of(subject: Subject, property_name: str, seeds: int) -> range:
    """Return the seeds that a property is tried with; only one if it draws nothing."""
    drawn = subject.properties()[property_name].is_drawn
    return range(FIRST_SEED, FIRST_SEED + (seeds if drawn else 1))


def largest_budget(subject: Subject, property_names: Iterable[str]) -> int:
    """Return the largest number of examples that a real run draws for any of the given properties."""
    properties = subject.properties()
    return max((subject.examples_of(properties[name]) for name in property_names), default=0)


def fewest_examples(killed: Killed, property_names: Iterable[str], fault: str, seeds: int) -> tuple[int | None, ...]:
    """Return, seed by seed, how many examples the fastest of the given properties took; None if none caught it."""
    names = tuple(property_names)
    counts = ([_count(killed, name, seed, fault) for name in names] for seed in range(FIRST_SEED, FIRST_SEED + seeds))
    return tuple(min((each for each in ours if each is not None), default=None) for ours in counts)


def _count(killed: Killed, name: str, seed: int, fault: str) -> int | None:
    # A property that draws nothing was tried with one seed, which stands for all.
    counts = killed.get((name, seed)) or killed.get((name, FIRST_SEED), {})
    return counts.get(fault)


class _Judging:
    """One property that judges one model, with any fault.

    Attributes:
        judged: the property.
        problems: by fault, why the property could not judge it.
        contradicted: by fault, ids of the MUSTs that its deviations from the model contradict.
    """

    def __init__(self, subject: Subject, property_name: str) -> None:
        self.judged: Property = subject.properties()[property_name]
        self.problems: dict[str, str] = {}
        self.contradicted: dict[str, set[str]] = defaultdict(set)
        self._subject = subject

    def refuse_problems(self) -> None:
        """Raise `HarnessError` if a fault could not be judged."""
        if self.problems:
            details = "; ".join(f"with {name} {why}" for name, why in self.problems.items())
            raise HarnessError(
                f"{self.judged.name} could not judge a defect while its examples were counted: {details}"
            )

    def caught_by_pinned(self, faults: Iterable[str]) -> set[str]:
        """Return the faults that a pinned example catches."""
        listeners = self._subject.listeners(self.judged)
        with assumptions_outside_hypothesis():
            return {
                fault
                for fault in faults
                if any(self._catches(fault, values, listeners) for values in self.judged.pinned)
            }

    def first_failures(self, faults: Iterable[str], *, seed: int, count: int) -> Mapping[str, int]:
        """Draw until every fault is caught or `count` examples are drawn; return the first that each fault fails on."""
        first: dict[str, int] = {}
        alive = list(faults)
        number = 0
        listeners = self._subject.listeners(self.judged)
        budgets = {listener: self._budget(listener, count) for listener in listeners}

        def take(values: Values) -> None:
            nonlocal alive, number
            # As in a run of the suite, listeners after the first get only a share of the examples.
            left = [listener for listener, budget in budgets.items() if number < budget]
            if not left:
                raise StopDrawing
            accepting = self._accepting_listeners(values, left)
            number += 1
            caught = [fault for fault in alive if self._catches(fault, values, accepting)]
            first.update(dict.fromkeys(caught, number))
            alive = [each for each in alive if each not in first and each not in self.problems]
            if not alive:
                raise StopDrawing

        self.judged.draw(take, seed=seed, count=count)
        return first

    def _budget(self, listener: str, count: int) -> int:
        model = self._subject.at("", listener)
        if not self._subject.is_judged_over_tcp or not isinstance(model, Broker):
            return count
        return examples_on(listener, model.target.listeners, max_examples=count)

    def _accepting_listeners(self, values: Values, listeners: Iterable[str]) -> list[str]:
        """Return the listeners on which the plain model does not reject an example.

        Raises:
            UnsatisfiedAssumption: there is no such listener.
        """
        accepting = []
        for listener in listeners:
            try:
                holds(self.judged, self._subject.at("", listener), values)
            except UnsatisfiedAssumption:
                continue
            accepting.append(listener)
        if not accepting:
            raise UnsatisfiedAssumption
        return accepting

    def _catches(self, fault: str, values: Values, listeners: Iterable[str]) -> bool:
        try:
            return self._subject.applies(self.judged, fault) and any(
                self._fails(fault, values, listener) for listener in listeners
            )
        except HarnessError as error:
            self.problems.setdefault(fault, f"{type(error).__name__}: {error}")
            return False

    def _fails(self, fault: str, values: Values, listener: str) -> bool:
        """Return whether a fault violates the clause on an example.

        A rejected example does not count, and neither does a fault of another clause.
        """
        try:
            target, contradicted = self._subject.at(fault, listener), self.contradicted[fault]
            return not holds(self.judged, target, values, contradicted=contradicted)
        except (UnsatisfiedAssumption, JudgedElsewhere):
            return False
