"""Items of a sweep that are tried at the same time: what conforms is taken, and all else is tried again alone."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.items import Item, Problem
from conformance.engine.sweeping import AT_ONCE, tried_ahead
from tests.conformance.test_sweeping import SweptBroker
from wire.exchange import Exchange, Outcome

ITEMS = [Item("Produce", 0, version) for version in range(AT_ONCE + 2)]
REJECTED, WRONG, ILL_FATED = ITEMS[1], ITEMS[2], ITEMS[3]


def test_near_target_is_tried_item_by_item() -> None:
    """Nothing is sent before the item's turn, and its check is the given one."""

    def check(*_: object) -> Exchange:
        raise AssertionError("too early")

    found = list(tried_ahead(SweptBroker(), ITEMS, check))  # type: ignore[arg-type]
    assert found == [(item, check) for item in ITEMS]


def test_only_what_conforms_is_taken_from_what_was_tried_together() -> None:
    """A whole batch waits at the same time; an item that fails, always or then only, is tried again on the broker itself."""
    broker = SweptBroker()
    broker.is_shared = True
    together = threading.Barrier(AT_ONCE)
    alone: list[Item] = []

    def check(used: Any, item: Item) -> Exchange:
        if used is broker:
            alone.append(item)
        elif item in ITEMS[:AT_ONCE]:
            together.wait(60)
        if item == REJECTED:
            raise UnsatisfiedAssumption
        if item == WRONG or (item == ILL_FATED and used is not broker):
            raise Problem("wrong", "")
        return used.note(Outcome.ANSWER)  # type: ignore[no-any-return]

    for item, check_now in tried_ahead(broker, ITEMS, check):  # type: ignore[arg-type]
        broker.begin_example()
        if item in (REJECTED, WRONG):
            with pytest.raises(UnsatisfiedAssumption if item == REJECTED else Problem):
                check_now(broker, item)  # type: ignore[arg-type]
        else:
            exchange = check_now(broker, item)  # type: ignore[arg-type]
            assert broker.journal[-1].exchanges == (exchange,)
    assert alone == [WRONG, ILL_FATED]
