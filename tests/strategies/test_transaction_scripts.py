"""Scripts of clusters with finalized features: what is drawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.failures.drawn_values import read_values
from reference_model.clients.scripts.script import TRANSACTIONS, Answer, Script
from strategies.transaction_scripts import (
    AT_LEVEL_1,
    AT_LEVEL_2,
    CONTROL,
    WITHOUT_FEATURES,
    at_level_0,
    changed_level,
    clusters_below_level_2,
    clusters_that_change_a_level,
    clusters_with_an_older_epoch,
    clusters_with_transaction_v2,
    clusters_with_unknown_features,
    clusters_without_an_epoch,
    finalized,
    invalid_epoch,
    level_outside,
    levels_twice,
    nonsensical_features,
)
from tests.strategies.search import find_any

STRATEGIES = (
    clusters_below_level_2,
    clusters_that_change_a_level,
    clusters_with_an_older_epoch,
    clusters_with_transaction_v2,
    clusters_with_unknown_features,
    clusters_without_an_epoch,
    nonsensical_features,
)
EACH = pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: each.__name__)
Strategy = Callable[[], st.SearchStrategy[Script]]


def answers(script: Script) -> list[Answer]:
    """Return the responses of a script, by node and connection."""
    return [each.answers[0] for node in script.nodes for each in node.connections]


def levels(script: Script, name: str = "transaction.version") -> list[int | None]:
    """Return the level of a feature in each response."""
    return [{each[0]: each[1] for each in answer.finalized_features}.get(name) for answer in answers(script)]


def epochs(script: Script) -> list[int]:
    """Return the epoch of each response."""
    return [answer.finalized_features_epoch for answer in answers(script)]


@EACH
def test_script_can_be_read_back(strategy: Strategy) -> None:
    """The text with which a failure stores a script evaluates to the same script, whose client does transactions."""

    @given(script=strategy())
    def check(script: Script) -> None:
        assert read_values(repr({"script": script})) == {"script": script}
        assert script.options == (TRANSACTIONS,)

    check()


@pytest.mark.parametrize(
    ("strategy", "is_it"),
    [
        (clusters_below_level_2, lambda s: answers(s)[0] == at_level_0(max(epochs(s)[0], 0))),
        (clusters_below_level_2, lambda s: levels(s) == [1, 1]),
        (clusters_below_level_2, lambda s: levels(s) == [None] and levels(s, "group.version") == [1]),
        (clusters_below_level_2, lambda s: levels(s) == [1] and levels(s, "share.version") == [1]),
        (clusters_below_level_2, lambda s: levels(s) == [1] and levels(s, "share.version") == [2]),
        (clusters_below_level_2, lambda s: levels(s) == [1] and levels(s, "streams.version") == [1]),
        (clusters_below_level_2, lambda s: levels(s) == [1] and levels(s, "kraft.version") == [1]),
        (clusters_below_level_2, lambda s: s.nodes[0].connections[0].newest_version < 3),
        (clusters_with_transaction_v2, lambda s: levels(s)[0] == 2 and answers(s)[0].supported_features[0][2] > 2),
        (clusters_with_transaction_v2, lambda s: (levels(s)[0] or 0) > 1000),
        (clusters_with_unknown_features, lambda s: levels(s, "x.transaction.version")[0] is not None),
        (clusters_without_an_epoch, lambda s: epochs(s) == [-1]),
        (clusters_without_an_epoch, lambda s: len(s.nodes) == 2 and epochs(s)[1] == -1),
        (clusters_without_an_epoch, lambda s: levels(s) == [2, None] and answers(s)[1] == WITHOUT_FEATURES),
        (clusters_with_an_older_epoch, lambda s: len(s.nodes) == 1 and levels(s) == [1, 2]),
        (clusters_that_change_a_level, lambda s: len(s.nodes) == 2 and levels(s) == [2, 1]),
        (clusters_that_change_a_level, lambda s: len(answers(s)) == 3),
        (clusters_that_change_a_level, lambda s: levels(s) == [2, None]),
        (nonsensical_features, lambda s: len(answers(s)[0].finalized_features) == 2),
        (nonsensical_features, lambda s: (levels(s)[0] or 0) < 0),
        (nonsensical_features, lambda s: epochs(s)[0] < -1),
    ],
)
def test_extreme_is_drawn(strategy: Strategy, is_it: Callable[[Script], bool]) -> None:
    """The scripts that matter are among those that are drawn."""
    assert is_it(find_any(strategy(), is_it))


def test_epochs_follow_each_other() -> None:
    """An older epoch comes second where a broker is not up to date, and a newer one where a level changes."""

    @given(lagging=clusters_with_an_older_epoch(), changed=clusters_that_change_a_level())
    def check(lagging: Script, changed: Script) -> None:
        assert epochs(lagging)[0] > epochs(lagging)[-1]
        assert epochs(changed)[0] < epochs(changed)[-1]
        assert levels(lagging)[0] != levels(lagging)[-1]
        assert levels(changed)[0] != levels(changed)[-1]

    check()


def test_features_are_supported_from_level_1() -> None:
    """No broker lists level 0, so none needs the lowest level 0, which another clause is about."""
    assert AT_LEVEL_2.supported_features == (("transaction.version", 1, 2),)
    assert finalized(("x", 7)).supported_features == (("x", 1, 7),)
    assert at_level_0(7).supported_features == AT_LEVEL_2.supported_features
    assert levels(CONTROL) == [2]


def test_level_0_is_not_listed() -> None:
    """A cluster at level 0 has an epoch and no entry, whichever script has it."""
    assert (at_level_0(7).finalized_features, at_level_0(7).finalized_features_epoch) == ((), 7)

    @given(low=clusters_below_level_2())
    def check(low: Script) -> None:
        assert 0 not in levels(low)

    check()


def test_level_changes_after_a_transaction() -> None:
    """The first two connections have the old level, as a client needs one to learn of the cluster."""
    script = changed_level(1)
    assert levels(script) == [1, 1, 2]
    assert answers(script)[0] == AT_LEVEL_1
    assert [each.closes_after for each in script.nodes[0].connections] == [9, 9, None]


def test_contradictions() -> None:
    """A level stands twice, or outside the range of the broker."""
    assert [level for _, level, _ in answers(levels_twice(1, 2))[0].finalized_features] == [1, 2]
    assert answers(level_outside(3, 1, 2))[0].supported_features == (("transaction.version", 1, 2),)
    assert levels(level_outside(3, 1, 2)) == [3]
    assert (levels(invalid_epoch(2, -2)), epochs(invalid_epoch(2, -2))) == ([2], [-2])
