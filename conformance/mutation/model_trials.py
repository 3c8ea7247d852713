"""Tries planted faults of a model: which properties catch them, and after how many examples.

Everything is in memory and in virtual time, so all faults, all properties and many seeds take about a minute. Each
function does one independent piece of work, and takes and returns plain values, so that it can be spread over processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hypothesis.errors import UnsatisfiedAssumption

from conformance.mutation.model_subjects import SUBJECTS, Subject
from conformance.mutation.properties import (
    Property,
    StopDrawing,
    Values,
    holds,
)
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from fixtures.under_test.client import ClientUnderTest
from strategies.hypothesis_adapter import assumptions_outside_hypothesis


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrial:
    """The result of one property on a model.

    Attributes:
        property_name: the property.
        fault: the planted fault; empty for the plain model.
        pinned: whether a pinned example fails.
        examples: seed by seed, the number of the first generated example that fails, counted from 1; None if none fails.
        problem: why the property could not judge; empty if it could.
    """

    property_name: str
    fault: str
    pinned: bool
    examples: tuple[int | None, ...]
    problem: str = ""

    @property
    def caught(self) -> bool:
        """Whether any example fails."""
        return self.pinned or any(each is not None for each in self.examples)


def model_trials(
    model: str, property_name: str, faults: Sequence[str], seeds: Sequence[int]
) -> list[ModelTrial]:
    """Run a property on models: the pinned examples, and those that a real run draws with each seed.

    Args:
        model: id of the model, one of `SUBJECTS`.
        property_name: the property.
        faults: names of faults; an empty name means the plain model.
        seeds: the seeds.
    """
    subject = SUBJECTS[model]
    judged = subject.properties()[property_name]
    problems: dict[str, str] = {}
    pinned = _caught_by_pinned(subject, judged, faults, problems)
    first = [_first_failures(subject, judged, faults, seed, problems) for seed in seeds]
    return [
        ModelTrial(
            property_name=property_name,
            fault=fault,
            pinned=fault in pinned,
            examples=tuple(each.get(fault) for each in first),
            problem=problems.get(fault, ""),
        )
        for fault in faults
    ]


def _caught_by_pinned(
    subject: Subject, judged: Property, faults: Iterable[str], problems: dict[str, str]
) -> set[str]:
    with assumptions_outside_hypothesis():
        return {
            fault
            for fault in faults
            if any(_catches(subject, judged, fault, values, problems) for values in judged.pinned)
        }


def _first_failures(
    subject: Subject, judged: Property, faults: Iterable[str], seed: int, problems: dict[str, str]
) -> dict[str, int]:
    """Draw as many examples as a real run does; return the first that each fault fails on."""
    first: dict[str, int] = {}
    number = 0
    alive = list(faults)

    def take(values: Values) -> None:
        nonlocal number, alive
        # What a property rejects does not count, whichever model is judged.
        holds(judged, _model(subject, judged, ""), values)
        number += 1
        first.update(
            (fault, number) for fault in alive if _catches(subject, judged, fault, values, problems)
        )
        alive = [fault for fault in alive if fault not in first]
        if not alive:
            raise StopDrawing

    judged.draw(take, seed=seed, count=subject.examples_of(judged))
    return first


def _model(subject: Subject, judged: Property, fault: str) -> Broker | ClientUnderTest:
    """Return the model with a fault; of a broker, the first listener that the property runs on."""
    model = subject.with_fault(fault)
    if not isinstance(model, Broker) or model.listener in (judged.listeners or (model.listener,)):
        return model
    return model.sibling(judged.listeners_of(model)[0])


def _catches(
    subject: Subject, judged: Property, fault: str, values: Values, problems: dict[str, str]
) -> bool:
    """Return whether a fault violates the clause on an example; a rejected example does not count."""
    try:
        if not subject.applies(judged, fault):
            return False
        return not holds(judged, _model(subject, judged, fault), values)
    except UnsatisfiedAssumption:
        return False
    except HarnessError as error:
        problems.setdefault(fault, f"{type(error).__name__}: {error}")
        return False
