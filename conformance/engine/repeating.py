"""Repeats of a failing example alone.

They distinguish deterministic failures from intermittent ones.

The example runs first on the broker that was judged. If we started that broker, it then runs on a fresh one. If it
passes alone, it runs again while other connections send requests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.strategies import DataObject

from clauses.tiers import Tier
from conformance.engine.drawing import Body, run_body
from fixtures.errors import HarnessError, OutOfPatience
from fixtures.under_test.broker import Broker, SpareTarget
from fixtures.under_test.judged_target import JudgedTarget
from reports.repeats import Repeats, ShownBy, Tally
from strategies.hypothesis_adapter import assumptions_outside_hypothesis
from wire.exchange import probe_request

REPEATS_IF_ALL_FAIL = 10
"""Repeats if all of them fail.

A failure that occurs three times in ten would fail ten times in a row once in 170,000 tries.
"""
REPEATS_TO_ESTIMATE = 40
"""Repeats of an intermittent failure, to estimate its rate: the 95 % interval is then at most 0.3 wide."""
TALLY_BUDGET_S = 1.5
"""Wall time for the repeats of one tally. Only a target that falls silent, at 0.7 s each, gets fewer repeats."""
TARGET_BUDGET_S = {Tier.SMOKE: 2.0, Tier.STANDARD: 20.0, Tier.DEEP: 20.0}
"""Wall time for all repeats on one target, by tier.

A failure after that is not classified if it recurs at once, and counts as a violation.
"""
LOAD_CONNECTIONS = 4


@dataclass(frozen=True, slots=True)
class FailingExample:
    """A property's body with the values that it failed on.

    Attributes:
        body: the body.
        values: the values, by name.
        evidence: what shows the failure.
    """

    body: Body
    values: Mapping[str, Any]
    evidence: ShownBy = ShownBy.BYTES

    def on(self, used: Broker, other: Broker) -> FailingExample:
        """Return the same example on another broker."""
        values = {name: other if value is used else value for name, value in self.values.items()}
        return replace(self, values=values)


def run_again(judged: JudgedTarget, example: FailingExample) -> None:
    """Run a failing example alone.

    Raises:
        AssertionError: the target violates the clause again.
        UnsatisfiedAssumption: the property rejects the example for this target.
        HarnessError: the example could not be judged.
    """
    with assumptions_outside_hypothesis():
        run_body(judged, example.body, example.values)


def _fails(broker: Broker, example: FailingExample) -> bool:
    try:
        run_again(broker, example)
    except AssertionError:
        return True
    except UnsatisfiedAssumption:
        return False
    return False


def _tally(broker: Broker, example: FailingExample, *, ends_if_one_fails: bool = False) -> Tally:
    """Repeat until the result is clear: a few times if every repeat fails, many times if one passes."""
    failed = repeats = 0
    # A failure that took all of the property's waiting time may be that of a busy machine: it has to recur as well.
    broker.patience.begin_property(at_most_s=max(TALLY_BUDGET_S, broker.patience.silences_s))
    give_up_at = time.monotonic() + TALLY_BUDGET_S
    while repeats < (REPEATS_IF_ALL_FAIL if failed == repeats else REPEATS_TO_ESTIMATE):
        try:
            failed += _fails(broker, example)
        except OutOfPatience:
            if not repeats:
                raise
            break
        repeats += 1
        if time.monotonic() > give_up_at or (failed and ends_if_one_fails):
            break
    return Tally(failed, repeats)


def _few_repeats(broker: Broker, example: FailingExample) -> Repeats | None:
    """Repeat until one fails: a failure in a pause of the machine does not recur. None if the first repeat fails."""
    try:
        used = _tally(broker, example, ends_if_one_fails=True)
    except HarnessError:
        return None
    return None if used.always else Repeats(used=used)


@contextmanager
def _load(broker: Broker) -> Iterator[None]:
    """Send plain requests from other connections while the block runs."""
    ended = threading.Event()

    def send() -> None:
        # Each thread needs its own Broker, because a journal belongs to one thread.
        other = Broker(broker.running, broker.listener)
        while not ended.is_set():
            with suppress(HarnessError):
                other.exchange(probe_request(0))
            other.begin_example()

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
    """Repeats the failures of one target; `close` stops the broker that was started for it."""

    def __init__(self, spare: SpareTarget, *, tier: Tier) -> None:
        self._budget_s = TARGET_BUDGET_S[tier]
        self._spare = spare
        self._spent_s = 0.0

    def repeat(self, broker: Broker, example: FailingExample) -> Repeats | None:
        """Repeat a failing example; return how often and where it failed.

        Returns:
            None if the example cannot be repeated: it drew its values interactively, or the target may send no more
                bytes; or if
            it recurs at once, but the time to classify failures is used up.
        """
        if any(isinstance(value, DataObject) for value in example.values.values()):
            return None
        started = time.monotonic()
        try:
            if self._spent_s > self._budget_s:
                return _few_repeats(broker, example)
            return self._tallies(broker, example)
        except OutOfPatience:
            return None
        finally:
            self._spent_s += time.monotonic() - started

    def _tallies(self, broker: Broker, example: FailingExample) -> Repeats:
        used, fresh, loaded = Tally(0, 0), None, None
        try:
            used = _tally(broker, example)
            other = self._fresh(broker.listener)
            with suppress(OutOfPatience):
                fresh = None if other is None else _tally(other, example.on(broker, other))
            if used.failed == 0 and (fresh is None or fresh.failed == 0):
                with suppress(OutOfPatience), _load(broker):
                    loaded = _tally(broker, example)
        except OutOfPatience:
            raise
        except HarnessError as error:
            trouble = f"{type(error).__name__}: {error}"
            return Repeats(used=used, fresh=fresh, loaded=loaded, trouble=trouble)
        return Repeats(used=used, fresh=fresh, loaded=loaded)

    def _fresh(self, listener: str) -> Broker | None:
        """Return a fresh broker, or None if there is none.

        A broker that does not start, or not in time, says nothing about a failure.
        """
        with suppress(HarnessError):
            return self._spare.broker(listener)
        return None

    def close(self) -> None:
        """Stop the fresh broker, if one is running."""
        self._spare.close()
