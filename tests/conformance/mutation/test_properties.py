"""Properties without pytest: found by marks, pinned, or drawn from a seed.

Each draws examples that it can judge on each kind of release; one that rejects all judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clauses.catalogue import load_catalogue
from conformance.assertions.errors import Unjudged
from conformance.brokers import test_version_negotiation
from conformance.engine.property_judge import JUDGE
from conformance.mutation.properties import (
    Property,
    all_properties,
    client_properties,
    holds,
    properties_of,
    proxy_properties,
)
from conformance.mutation.subjects import broker_with, listeners_in_memory
from fixtures.under_test.broker import Broker
from fixtures.under_test.in_memory import InMemoryBroker
from proposals import proposals
from strategies.hypothesis_adapter import StopDrawing, assumptions_outside_hypothesis
from tests.clauses.properties import properties_in

CORRELATION_ID = "test_correlation_id_comes_back"
DRAWN = 20


def drawn_from(name: str, *, seed: int, count: int = DRAWN) -> list[str]:
    """Return the examples drawn from a seed, as text."""
    taken: list[str] = []
    all_properties()[name].draw(lambda values: taken.append(repr(values)), seed=seed, count=count)
    return taken


def test_every_property_is_found() -> None:
    """The properties are those in the source, each with its clauses."""
    everything = {
        **all_properties(),
        **proxy_properties(),
        **{name: found for each in proposals() for name, found in properties_of(each).items()},
        **client_properties(),
    }
    found = {name: each.clauses for name, each in everything.items()}
    # Operations get their rows from the plugin.
    assert found == {each.name: each.clauses for each in properties_in() if each.clauses}


def test_pinned_examples_are_those_of_the_source() -> None:
    """Every property that draws has pinned examples, with a value for each parameter except the broker."""
    for each in all_properties().values():
        assert bool(each.pinned) == each.is_drawn, each.name
    assert {tuple(values) for values in all_properties()[CORRELATION_ID].pinned} == {("sent", "history")}


def test_a_seed_gives_the_same_examples() -> None:
    first = drawn_from(CORRELATION_ID, seed=1)
    assert len(first) == DRAWN
    assert drawn_from(CORRELATION_ID, seed=1) == first
    assert drawn_from(CORRELATION_ID, seed=2) != first


@pytest.mark.slow
def test_properties_with_one_strategy_draw_different_examples() -> None:
    """With one seed, no two properties that draw several values draw the same ones."""
    drawn = {
        each.name: tuple(drawn_from(each.name, seed=1))
        for each in all_properties().values()
        if each.is_drawn and not each.is_deep
    }
    several = [examples for examples in drawn.values() if len(set(examples)) > 3]
    assert len(several) > 40
    assert len(set(several)) == len(several)


def test_what_cannot_be_judged_is_no_failure() -> None:
    """A property that notes the other reading of a source catches no defect by that."""

    def notes(broker: Broker) -> None:
        raise Unjudged("the other reading")

    def fails(broker: Broker) -> None:
        raise AssertionError("wrong")

    assert holds(Property("notes", notes), broker_with(""), {})
    assert not holds(Property("fails", fails), broker_with(""), {})


def test_property_may_leave_something_out() -> None:
    """What it sends to a model is all that it has, but it does not know that it is judged outside a run."""

    def spares(broker: Broker) -> None:
        JUDGE.get().leaves_out("not requested", may_hide=True)

    assert holds(Property("spares", spares), broker_with(""), {})


@pytest.mark.parametrize(
    ("name", "examples"),
    [
        ("test_correlation_id_comes_back", 100),
        ("test_open_connections_are_counted_by_software", 4),
        ("test_limited_client_is_told_before_it_is_held_back", 2),
    ],
)
def test_budgets_are_those_of_a_real_run(name: str, examples: int) -> None:
    """A defect that needs ten times as many examples would pass in a real run."""
    assert all_properties()[name].max_examples == examples


RELEASES = {"0.10.2.2": 0, "2.3.1": 2, "2.8.2": 3, "3.9.2": 4, "4.4.0": 5}
"""A release for each highest version of ApiVersions that a release serves."""
MAX_DRAWN = 30
NEGATIVE = "test_negative_version_gets_unsupported_version"
"""The property of refused versions that are below every range."""
CATALOGUE = load_catalogue()
PROPERTIES = [
    each for each in all_properties().values() if each.is_drawn and not each.is_deep and listeners_in_memory(each)
]


def broker_of(release: str) -> InMemoryBroker:
    """Return the reference broker with the table and the traits of a release."""
    return broker_with("", release=release)


def applies(judged: Property, release: str) -> bool:
    """Return whether a clause of the property applies to a release that meets the property's needs."""
    clauses = [CATALOGUE[each] for each in judged.clauses]
    return any(each.applies_at(RELEASES[release]) for each in clauses) and bool(judged.listeners_of(broker_of(release)))


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
        judged.draw(take, seed=1, count=MAX_DRAWN)
    return accepted


@pytest.mark.parametrize(("release", "highest"), RELEASES.items())
@pytest.mark.parametrize(
    "judged",
    [each for each in PROPERTIES if each.body.__module__ == test_version_negotiation.__name__],
    ids=lambda each: each.name,
)
def test_smoke_sends_the_version_after_the_highest_one(judged: Property, release: str, highest: int) -> None:
    """Each pinned property about refused versions sends the first one that the release does not serve."""
    broker = broker_of(release)
    if judged.name == NEGATIVE or not applies(judged, release):
        return
    versions = set()
    for values in judged.pinned:
        with assumptions_outside_hypothesis():
            holds(judged, broker, values)
        versions |= {exchange.request.api_version for step in broker.journal for exchange in step.exchanges}
    assert highest + 1 in versions


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("judged", PROPERTIES, ids=lambda each: each.name)
def test_a_property_judges_some_of_what_it_draws(judged: Property, release: str) -> None:
    """A property that applies to a release accepts an example; otherwise its cells are inconclusive."""
    if applies(judged, release):
        assert accepts_an_example(judged, release)
