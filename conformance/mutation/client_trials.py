"""Tries planted faults of the model client: which properties of clients catch them, and after how many examples.

Every play is in memory and in virtual time, so all faults, all properties and many seeds take about a minute. Each
function does one independent piece of work, and takes and returns plain values, so that it can be spread over processes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hypothesis.errors import UnsatisfiedAssumption

from conformance.engine.budgets import CLIENT_EXAMPLES
from conformance.engine.client_prerequisites import why_not_applicable
from conformance.mutation.properties import (
    Property,
    StopDrawing,
    Values,
    client_properties,
    holds,
)
from fixtures.errors import HarnessError
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.in_memory_client import in_memory_client
from strategies.hypothesis_adapter import assumptions_outside_hypothesis


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTrial:
    """The result of one property on the model client.

    Attributes:
        property_name: the property.
        fault: the client's planted fault; empty for the plain model client.
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


def client_trials(
    property_name: str, faults: Sequence[str], seeds: Sequence[int]
) -> list[ClientTrial]:
    """Run a property on clients: the pinned examples, and those that a real run draws with each seed.

    Args:
        property_name: the property.
        faults: names of faults; an empty name means the plain model client.
        seeds: the seeds.
    """
    judged = client_properties()[property_name]
    problems: dict[str, str] = {}
    pinned = _caught_by_pinned(judged, faults, problems)
    first = [_first_failures(judged, faults, seed, problems) for seed in seeds]
    return [
        ClientTrial(
            property_name=property_name,
            fault=fault,
            pinned=fault in pinned,
            examples=tuple(each.get(fault) for each in first),
            problem=problems.get(fault, ""),
        )
        for fault in faults
    ]


@functools.cache
def client_with(fault: str) -> ClientUnderTest:
    """Return the model client with a fault, or the plain one for an empty name."""
    return in_memory_client(fault)


def applies_to_model_client(judged: Property) -> bool:
    """Return whether a property can judge the model client."""
    return why_not_applicable(judged.needs, client_with("")) is None


def _caught_by_pinned(
    judged: Property, faults: Iterable[str], problems: dict[str, str]
) -> set[str]:
    with assumptions_outside_hypothesis():
        return {
            fault
            for fault in faults
            if any(_catches(judged, fault, values, problems) for values in judged.pinned)
        }


def _first_failures(
    judged: Property, faults: Iterable[str], seed: int, problems: dict[str, str]
) -> dict[str, int]:
    """Draw as many examples as a real run does; return the first that each fault fails on."""
    first: dict[str, int] = {}
    number = 0
    alive = list(faults)

    def take(values: Values) -> None:
        nonlocal number, alive
        # What a property rejects does not count, whichever client is judged.
        holds(judged, client_with(""), values)
        number += 1
        first.update(
            (fault, number) for fault in alive if _catches(judged, fault, values, problems)
        )
        alive = [fault for fault in alive if fault not in first]
        if not alive:
            raise StopDrawing

    judged.draw(take, seed=seed, count=CLIENT_EXAMPLES)
    return first


def _catches(judged: Property, fault: str, values: Values, problems: dict[str, str]) -> bool:
    """Return whether a fault violates the clause on an example; a rejected example does not count."""
    try:
        return not holds(judged, client_with(fault), values)
    except UnsatisfiedAssumption:
        return False
    except HarnessError as error:
        problems.setdefault(fault, f"{type(error).__name__}: {error}")
        return False
