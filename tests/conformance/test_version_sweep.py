"""Every version, one by one: on which broker, and in which batches."""

from __future__ import annotations

from unittest.mock import create_autospec

import pytest

from conformance.brokers.test_version_sweep import BATCH, ask_all
from conformance.examples import PropertyJudge
from fixtures.in_memory import InMemoryBroker, in_memory_target
from fixtures.launchers.built_in import reference_targets


class CountedBroker(InMemoryBroker):
    """The reference broker, which notes what was sent to it before each start.

    Attributes:
        used: how many steps there were before each.
        is_ours: whether it may be started again.
    """

    def __init__(self, *, is_ours: bool) -> None:
        self.is_ours = is_ours
        self.used: list[int] = []
        super().__init__(in_memory_target(reference_targets()[0], None), "plaintext")

    @property
    def can_restart(self) -> bool:
        """Whether it is ours."""
        return self.is_ours

    def restart(self) -> None:
        """Note it."""
        self.used.append(len(self.journal))


@pytest.mark.parametrize(("is_ours", "used"), [(True, [0]), (False, [])])
def test_sweep_has_a_fresh_broker_where_it_is_ours(is_ours: bool, used: list[int]) -> None:
    """A sweep starts the target anew once, before it asks; one that is not ours is asked as it is."""
    broker = CountedBroker(is_ours=is_ours)
    judge = create_autospec(PropertyJudge, instance=True)
    ask_all(judge, broker, range(100, 100 + 2 * BATCH))
    assert broker.used == used
    assert judge.conforms.call_count == 2
    judge.raise_first.assert_called_once_with()
