"""The scripts that are played ahead are those that the properties then draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypothesis import example, given, seed, settings

from clauses.tiers import Tier
from conformance.engine.budgets import CLIENT_EXAMPLES, client_examples
from conformance.engine.drawing import examples_go_to
from conformance.roles.client import scripts_of
from fixtures.under_test.client import ClientUnderTest
from fixtures.under_test.in_memory_client import in_memory_client
from reference_model.clients.scripts.script import Script
from strategies.hypothesis_adapter import max_examples_changed
from strategies.nonsense_scripts import brokers_that_talk_nonsense, without_answer

PINNED = without_answer("close")


class PytestItem(NamedTuple):
    """The part of a pytest item that is used."""

    obj: Any


def property_that(body: Callable[..., None]) -> Any:
    """Return a property of this body."""
    drawn = given(script=brokers_that_talk_nonsense())(body)
    return seed(5)(settings(database=None)(example(script=PINNED)(drawn)))


def play(client: ClientUnderTest, script: Script) -> None:
    """Play the script."""
    client.play(script)


def test_same_scripts_are_drawn_when_they_are_judged() -> None:
    """Nothing is played while scripts are collected; each is there once, although two properties draw it."""
    client, tier = in_memory_client(), Tier.STANDARD
    property_ = property_that(play)
    items: Any = [PytestItem(property_), PytestItem(property_that(play))]
    ahead = scripts_of(items, client, tier=tier)
    assert client.script is None

    judged: dict[Script, None] = {}

    def take(_: object, values: Mapping[str, Script]) -> None:
        judged[values["script"]] = None

    with max_examples_changed(property_, client_examples), examples_go_to(take, property_):
        property_(client=client)
    assert tuple(judged) == ahead
    assert ahead[0] == PINNED
    assert 2 < len(ahead) <= 1 + CLIENT_EXAMPLES
