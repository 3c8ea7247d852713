"""Properties without pytest: found by their marks, with pinned examples and draws from a seed."""

from __future__ import annotations

import pytest

from conformance.assertions.judging import Unjudged
from conformance.engine.property_judge import JUDGE
from conformance.mutation.properties import (
    Property,
    all_properties,
    client_properties,
    holds,
    properties_of,
    proxy_properties,
)
from conformance.mutation.subjects import broker_with
from fixtures.under_test.broker import Broker
from proposals import proposals
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
    assert {tuple(values) for values in all_properties()[CORRELATION_ID].pinned} == {("sent",)}


def test_a_seed_gives_the_same_examples() -> None:
    """One seed always draws the same examples, and another seed draws others."""
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
