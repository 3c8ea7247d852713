"""What a connection has carried before the judged request."""

from __future__ import annotations

import pytest
from hypothesis import find

from conformance.failures.drawn_values import read_values
from strategies.histories import (
    ALONE,
    MAX_EARLIER,
    ConnectionHistory,
    Earlier,
    after,
    histories,
    in_one_write_with,
)
from tests.strategies.search import find_any


def test_the_smallest_history_is_none() -> None:
    """A failure that needs no earlier request is shrunk to one without."""
    assert find(histories(), lambda _: True) == ALONE
    assert find(histories(), lambda drawn: bool(drawn.earlier)) == after(Earlier.V0)


@pytest.mark.parametrize("kind", list(Earlier), ids=lambda kind: kind.name)
def test_every_kind_is_drawn(kind: Earlier) -> None:
    """Each kind of an earlier request comes up."""
    find_any(histories(), lambda drawn: kind in drawn.earlier)


def test_histories_are_short_and_of_both_kinds() -> None:
    """Up to three requests come one by one, or in one write with the judged one."""
    find_any(histories(), lambda drawn: len(drawn.earlier) == MAX_EARLIER and drawn.at_once)
    find_any(histories(), lambda drawn: len(drawn.earlier) > 1 and not drawn.at_once)


@pytest.mark.parametrize(
    "history", [ALONE, after(Earlier.V0, Earlier.EMPTY_NAME), in_one_write_with(Earlier.OTHER_API)]
)
def test_a_stored_history_is_read_back(history: ConnectionHistory) -> None:
    """A failure is replayed with the earlier requests that it was found with."""
    assert read_values(repr({"history": history})) == {"history": history}
