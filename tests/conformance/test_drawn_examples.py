"""Every property draws examples that it can judge on each kind of release; one that rejects all judges nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clauses.catalogue import load_catalogue
from conformance.brokers import test_version_negotiation
from conformance.mutation.properties import Property, all_properties, holds
from conformance.mutation.subjects import broker_with, listeners_in_memory
from fixtures.under_test.in_memory import InMemoryBroker
from strategies.hypothesis_adapter import StopDrawing, assumptions_outside_hypothesis

RELEASES = {"0.10.2.2": 0, "2.3.1": 2, "2.8.2": 3, "3.9.2": 4, "4.4.0": 5}
"""A release for each highest version of ApiVersions that a release serves."""
DRAWN = 30
NEGATIVE = "test_negative_version_gets_unsupported_version"
"""The property of refused versions that are below every range."""
CATALOGUE = load_catalogue()
PROPERTIES = [
    each
    for each in all_properties().values()
    if each.is_drawn and not each.is_deep and listeners_in_memory(each)
]


def broker_of(release: str) -> InMemoryBroker:
    """Return the reference broker with the table and the traits of a release."""
    return broker_with("", release=release)


def applies(judged: Property, release: str) -> bool:
    """Return whether a clause of the property applies to a release that meets the property's needs."""
    clauses = [CATALOGUE[each] for each in judged.clauses]
    return any(each.applies_at(RELEASES[release]) for each in clauses) and bool(
        judged.listeners_of(broker_of(release))
    )


def accepts_an_example(judged: Property, release: str) -> bool:
    """Return whether a property judges one of its drawn examples on a release, instead of rejecting them all.

    Raises:
        Unsatisfiable: Hypothesis gave up the property, as it does in a run.
    """
    broker = broker_of(release)
    listener = judged.listeners_of(broker)[0]
    accepted = False

    def take(values: Mapping[str, Any]) -> None:
        nonlocal accepted
        holds(judged, broker.sibling(listener), values)
        accepted = True
        raise StopDrawing

    with assumptions_outside_hypothesis():
        judged.draw(take, seed=1, count=DRAWN)
    return accepted


@pytest.mark.parametrize(("release", "highest"), RELEASES.items())
@pytest.mark.parametrize(
    "judged",
    [each for each in PROPERTIES if each.body.__module__ == test_version_negotiation.__name__],
    ids=lambda each: each.name,
)
def test_smoke_sends_the_version_after_the_highest_one(
    judged: Property, release: str, highest: int
) -> None:
    """Each pinned property about refused versions sends the first one that the release does not serve."""
    broker = broker_of(release)
    if judged.name == NEGATIVE or not applies(judged, release):
        return
    versions = set()
    for values in judged.pinned:
        with assumptions_outside_hypothesis():
            holds(judged, broker, values)
        versions |= {
            exchange.request.api_version for step in broker.journal for exchange in step.exchanges
        }
    assert highest + 1 in versions


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("judged", PROPERTIES, ids=lambda each: each.name)
def test_a_property_judges_some_of_what_it_draws(judged: Property, release: str) -> None:
    """A property that applies to a release accepts an example; otherwise its cells are inconclusive."""
    if applies(judged, release):
        assert accepts_an_example(judged, release)
