"""Repeats a failing example alone, to tell what always fails from what comes and goes.

First on the broker that was judged, then, where we started it, on a fresh one. Where it holds alone, once more
with other requests beside it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.strategies import DataObject

from conformance.assumptions import assumptions_outside_hypothesis
from conformance.judging import StoppedServing
from fixtures.broker import Broker, probe_request
from fixtures.errors import HarnessError, OutOfPatience
from fixtures.lent_connections import Lender, LentConnection
from fixtures.spare_target import SpareTarget
from reports.repeats import Repeats, Tally
from wire.exchange import Request

FEW_REPEATS = 10
"""Enough where all of them fail: what fails three times in ten would do so once in 170,000 tries."""
MANY_REPEATS = 40
"""For the rate of what comes and goes: the 95 % interval is then at most 0.3 wide."""
PLACE_BUDGET_S = 1.5
"""Wall time for repeats in one place. Only a target that falls silent, 0.7 s each, makes fewer repeats in it."""
TARGET_BUDGET_S = {"smoke": 2.0, "gentle": 20.0, "standard": 20.0, "deep": 20.0}
"""Wall time for all repeats on one target, by tier; failures behind that are not classified, and count as violations."""
LOAD_CONNECTIONS = 4

Body = Callable[..., None]


@dataclass(frozen=True, slots=True)
class FailingExample:
    """A property's body with the values that it failed on.

    Attributes:
        body: the body.
        values: the values, by name.
        served_before: what the connection that it borrowed was asked by other examples.
    """

    body: Body
    values: Mapping[str, Any]
    served_before: tuple[Request, ...] = ()

    def on(self, used: Broker, other: Broker) -> FailingExample:
        """Return the same example on another broker."""
        values = {name: other if value is used else value for name, value in self.values.items()}
        return replace(self, values=values)


def run_body(
    broker: Broker, body: Body, values: Mapping[str, Any], *, lender: Lender | None = None
) -> None:
    """Run a property's body once, and look after the broker behind what was broken or went wrong.

    Args:
        broker: the target.
        body: the body.
        values: its values, by name.
        lender: lends the body its first connection; None where each of them is to be its own.

    Raises:
        AssertionError: the target violates the clause.
        HarnessError: we could not tell.
    """
    broker.forget(lender)
    try:
        body(**values)
    except StoppedServing:
        raise
    except AssertionError:
        # A broker that ended in the middle of an example said nothing about the clause.
        broker.check_alive()
        raise
    exchanges = (exchange for step in broker.journal for exchange in step.exchanges)
    if any(exchange.request.broken and not exchange.usable for exchange in exchanges):
        broker.check_alive()


@contextmanager
def lender_behind(broker: Broker, requests: Iterable[Request]) -> Iterator[Lender]:
    """Give what lends one connection, on which these requests were served before, each with its sentinel.

    Raises:
        HarnessError: they are not served now; also what is borrowed raises it where the connection is gone by then.
    """

    def not_again() -> NoReturn:
        raise HarnessError(
            f"{broker.target.id} does not serve again what it served before on the connection"
        )

    # Or who borrows might have to ask, on another connection before the lent one.
    broker.ask_for_table()
    broker.forget()
    with broker.connect(authenticate=False) as connection:
        if not all(connection.exchange(request).usable for request in requests):
            not_again()
        yield Lender(not_again, LentConnection(connection, tuple(broker.journal)))


def run_again(broker: Broker, example: FailingExample) -> None:
    """Run a failing example alone, on a connection that was asked the same before.

    Raises:
        AssertionError: the target violates the clause again.
        UnsatisfiedAssumption: the property leaves the example out for this target.
        HarnessError: we could not tell.
    """
    before = example.served_before
    with (
        assumptions_outside_hypothesis(),
        lender_behind(broker, before) if before else nullcontext() as lender,
    ):
        run_body(broker, example.body, example.values, lender=lender)


def _fails(broker: Broker, example: FailingExample) -> bool:
    try:
        run_again(broker, example)
    except AssertionError:
        return True
    except UnsatisfiedAssumption:
        return False
    return False


def _tally(broker: Broker, example: FailingExample) -> Tally:
    """Repeat until it is clear: few times where every repeat fails, many where one holds."""
    failed = repeats = 0
    give_up_at = time.monotonic() + PLACE_BUDGET_S
    while repeats < (FEW_REPEATS if failed == repeats else MANY_REPEATS):
        failed += _fails(broker, example)
        repeats += 1
        if time.monotonic() > give_up_at:
            break
    return Tally(failed, repeats)


@contextmanager
def _load(broker: Broker) -> Iterator[None]:
    """Send plain requests from other connections while the block runs."""
    ended = threading.Event()

    def send() -> None:
        # A broker of its own: the journal is that of one thread.
        other = Broker(broker.running, broker.listener)
        while not ended.is_set():
            with suppress(HarnessError):
                other.exchange(probe_request(0))
            other.forget()

    threads = [threading.Thread(target=send, daemon=True) for _ in range(LOAD_CONNECTIONS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


class Repeater:
    """Repeats the failures of one target; `close` ends what was started for it."""

    def __init__(self, spare: SpareTarget, *, tier: str) -> None:
        """Begin with the whole budget.

        Args:
            spare: the same target once more.
            tier: of the run.
        """
        self._budget_s = TARGET_BUDGET_S[tier]
        self.target = spare.target
        self._spare = spare
        self._spent_s = 0.0

    def repeat(self, broker: Broker, example: FailingExample) -> Repeats | None:
        """Repeat a failing example, and say how often it failed and where.

        Args:
            broker: the broker that was judged.
            example: what failed there, as small as it was made.

        Returns:
            None where it cannot be repeated: it drew its values as it went, or the target has used up
            its time.
        """
        interactive = any(isinstance(value, DataObject) for value in example.values.values())
        if interactive or self._spent_s > self._budget_s:
            return None
        started = time.monotonic()
        try:
            return self._tallies(broker, example)
        except OutOfPatience:
            return None
        finally:
            self._spent_s += time.monotonic() - started

    def _tallies(self, broker: Broker, example: FailingExample) -> Repeats:
        used, fresh, loaded = Tally(0, 0), None, None
        try:
            used = _tally(broker, example)
            other = self._spare.broker(broker.listener)
            if other is not None:
                fresh = _tally(other, example.on(broker, other))
            if used.failed == 0 and (fresh is None or fresh.failed == 0):
                with _load(broker):
                    loaded = _tally(broker, example)
        except OutOfPatience:
            raise
        except HarnessError as error:
            trouble = f"{type(error).__name__}: {error}"
            return Repeats(used=used, fresh=fresh, loaded=loaded, trouble=trouble)
        return Repeats(used=used, fresh=fresh, loaded=loaded)

    def close(self) -> None:
        """End the fresh broker, if one runs."""
        self._spare.close()
