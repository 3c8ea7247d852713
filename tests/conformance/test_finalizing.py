"""What is judged when the features of a running target are finalized."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.assertions.finalizing import assert_levels_follow, can_finalize, levels_of_release
from fixtures.client.patience import Patience
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.faults.broker import DEFECTS
from tests.conformance.in_memory_runs import broker_with

UPGRADE = 1


def broker_that(*names: str) -> InMemoryBroker:
    """Return the reference broker with planted defects."""
    return broker_with(*(DEFECTS[name].tampering for name in names), patience=Patience(100))


def test_levels_that_are_there_already_stay() -> None:
    """The reference broker has the levels of its release: nothing rises, and nothing else changes."""
    broker = broker_that()
    assert can_finalize(broker)
    assert assert_levels_follow(broker, UPGRADE) == set()
    assert levels_of_release(broker)["transaction.version"] == 2


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("a-newly-finalized-level-hides-an-api", "plaintext lists other versions once features are finalized"),
        ("a-newly-finalized-level-hides-the-newest-version", "of the APIs 0$"),
        ("a-newly-finalized-level-lists-one-more-api", "of the APIs 1234$"),
    ],
)
def test_a_table_that_changes_with_the_levels_is_a_violation(defect: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_levels_follow(broker_that(defect), UPGRADE)


def test_nobody_elses_broker_is_finalized() -> None:
    """A level cannot be taken back, so only a target that the suite started is changed."""
    broker = broker_that()
    assert not can_finalize(
        InMemoryBroker(replace(broker.running, launcher="address"), broker.listener, patience=Patience(100))
    )


def test_levels_rise_only_where_the_target_can_be_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay raised otherwise, and every later property would judge another target."""
    broker = broker_that("newer-versions-finalize-lower-levels")
    assert not can_finalize(broker)
    monkeypatch.setattr(InMemoryBroker, "can_restart", True)
    assert can_finalize(broker)
