"""Tries items of a sweep at the same time, for a target that is far away.

Only what conforms at once is taken, or what the clause is not about. Every other item is tried again in its turn, alone, as
for a near target. So no item fails because others were tried next to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice

from hypothesis.errors import UnsatisfiedAssumption

from conformance.assertions.items import Check, Item, Problem
from conformance.assertions.judging import Unjudged
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from wire.exchange import Exchange, Step

AT_ONCE = 32
"""Items that wait for their answers at the same time. A sweep of all versions has some 500; one by one they take 200 s at a
round trip of 0.2 s."""


def tried_ahead(
    broker: Broker, items: Iterable[Item], check: Check
) -> Iterator[tuple[Item, Check]]:
    """Yield each item with the check to call for it: the given one, or one that repeats what was found ahead.

    Args:
        broker: the target; only one that several processes judge is far away.
        items: the items.
        check: checks one of them.
    """
    if not broker.is_shared:
        yield from ((item, check) for item in items)
        return
    left = iter(items)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while batch := list(islice(left, AT_ONCE)):
            yield from zip(batch, list(pool.map(partial(_try, broker, check), batch)), strict=True)


def _try(broker: Broker, check: Check, item: Item) -> Check:
    """Check an item in a thread; return a check that says the same, or the given one if it is to be tried again."""
    apart = broker.apart()
    apart.begin_example()
    try:
        exchange = check(apart, item)
    except UnsatisfiedAssumption as rejected:
        return partial(_reject, rejected)
    except (Problem, Unjudged, HarnessError):
        return check
    return partial(_repeat, exchange, tuple(apart.journal))


def _reject(rejected: UnsatisfiedAssumption, broker: Broker, item: Item) -> Exchange:
    raise rejected


def _repeat(exchange: Exchange, steps: Sequence[Step], broker: Broker, item: Item) -> Exchange:
    broker.journal.extend(steps)
    return exchange
