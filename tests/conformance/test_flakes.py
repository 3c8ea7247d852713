"""Failures are repeated alone and classified.

Intermittent failures still fail the run.

A failure that comes by chance in one example is no reason to doubt another example that fails alike.
"""

from __future__ import annotations

import itertools
import random
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from clauses.tiers import Tier
from conformance.engine.failing_examples import MAX_EXAMPLES, FailingExamples
from conformance.engine.repeating import REPEATS_IF_ALL_FAIL, FailingExample, Repeater
from fixtures.client.addresses import parse_address
from fixtures.client.patience import MIN_SILENCES
from fixtures.errors import BrokerDidNotStart, ConnectionFailed
from fixtures.launchers.address import address_target, launch_address
from fixtures.under_test.broker import Broker, SpareTarget
from fixtures.under_test.first_requests import MAX_SILENCE_BOUND_S
from reports.repeats import FailureClass, Repeats, Tally
from strategies.api_versions import build_request
from tests.conformance.fake_targets import (
    Behaviour,
    FakeTarget,
    close_at_once,
    reference_behaviour,
    reference_broker,
    serve,
)


def failing(fails: Callable[[], bool]) -> Behaviour:
    """Close the connection instead of answering when `fails` returns true."""
    broker, turn = reference_broker(), threading.Lock()

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        model = broker.connect()
        for data in target.reads(connection):
            with turn:
                if fails():
                    return
                model.receive_data(data)
                answers = model.data_to_send()
            connection.sendall(answers)

    return behave


def three_in_ten(seed: int, *, calm: int) -> Behaviour:
    """Fail three of ten requests at random, after some that are answered."""
    chance, answered = random.Random(seed), iter(range(calm))
    return failing(lambda: next(answered, None) is None and chance.random() < 0.3)


def after(requests: int) -> Behaviour:
    """Fail on every request after the first ones."""
    received = itertools.count()
    return failing(lambda: next(received) >= requests)


def is_held_open(connection: socket.socket) -> bool:
    """Return whether the peer has not yet closed the connection, according to the kernel."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def beside_others() -> Behaviour:
    """Fail while two other connections are open."""
    proper, accepted = reference_behaviour(), list[socket.socket]()

    def behave(target: FakeTarget, connection: socket.socket) -> None:
        accepted.append(connection)
        others = sum(is_held_open(other) for other in accepted) - 1
        (close_at_once if others >= 2 else proper)(target, connection)

    return behave


@contextmanager
def broker_of(behaviour: Behaviour) -> Iterator[Broker]:
    """Yield a broker with this behaviour."""
    with serve(behaviour) as fake:
        target = address_target({"plaintext": parse_address(fake.address)})
        with launch_address(target) as running:
            yield Broker(running, "plaintext")


class FakeSpare:
    """Provides a broker that was started earlier, or none."""

    def __init__(self, broker: Broker | None, *, starts: bool = True) -> None:
        self._broker = broker
        self._starts = starts

    def broker(self, listener: str) -> Broker | None:
        """Return the broker."""
        if not self._starts:
            raise BrokerDidNotStart("no complete response within 60 s")
        return self._broker


def repeater(fresh: Broker | None = None) -> Repeater:
    """Return a repeater with the given fresh broker."""
    return Repeater(cast(SpareTarget, FakeSpare(fresh)), tier=Tier.STANDARD)


def answered(broker: Broker) -> None:
    """Fail unless a plain request is answered."""
    assert broker.exchange(build_request(version=0)).payload is not None


def repeats_on(used: Broker, fresh: Broker | None = None, body: Callable[[Broker], None] = answered) -> Repeats:
    """Repeat an example that failed on a broker, on a fresh one as well if there is one."""
    repeats = repeater(fresh).repeat(used, FailingExample(body, {"broker": used}))
    assert repeats is not None
    return repeats


def test_failure_that_always_shows_is_deterministic() -> None:
    """A failure that shows every time on both brokers is repeated only a few times."""
    with broker_of(after(0)) as used, broker_of(after(0)) as fresh:
        repeats = repeats_on(used, fresh)
    assert repeats.failure_class is FailureClass.DETERMINISTIC
    assert repeats.used.repeats == REPEATS_IF_ALL_FAIL
    assert repeats.fresh == repeats.used


def test_failure_that_needs_what_went_before_is_of_order() -> None:
    """A failure on the judged broker but never on a fresh one depends on earlier requests."""
    with broker_of(after(0)) as used, broker_of(after(1000)) as fresh:
        repeats = repeats_on(used, fresh)
    assert repeats.failure_class is FailureClass.ORDER


def test_failure_under_load_is_of_load() -> None:
    """A failure that does not show alone, but next to other requests, is one of load."""
    with broker_of(beside_others()) as used:
        repeats = repeats_on(used)
    assert repeats.failure_class is FailureClass.LOAD


def test_failure_by_chance_is_flaky() -> None:
    """An intermittent failure has a rate, and an interval that contains the true one."""
    with (
        broker_of(three_in_ten(1, calm=1)) as used,
        broker_of(three_in_ten(2, calm=1)) as fresh,
    ):
        repeats = repeats_on(used, fresh)
    assert repeats.failure_class is FailureClass.FLAKY
    assert repeats.rate.low < 0.3 < repeats.rate.high


def test_target_that_gives_way_is_of_the_environment() -> None:
    """Without a connection nothing can be repeated, which says nothing about the target's answers."""

    def unreachable(broker: Broker) -> None:
        raise ConnectionFailed("no route")

    with broker_of(reference_behaviour()) as used:
        repeats = repeats_on(used, body=unreachable)
    assert repeats.failure_class is FailureClass.ENVIRONMENT
    assert "no route" in str(repeats)


def test_failure_that_took_all_waiting_time_is_repeated() -> None:
    """At a load of 30 a reference broker once answered none of 818 requests in time; nothing else would have excused
    it."""
    with broker_of(reference_behaviour()) as used:
        used.patience.left_s = 0.0
        repeats = repeats_on(used)
    assert repeats.leaves_open == f"it recurred in none of {repeats.rate.repeats} repeats"


def test_repeats_that_wait_in_vain_and_conform_excuse_the_failure() -> None:
    """Each tally has waiting time of its own, and what was repeated before it ends counts."""

    def waits(broker: Broker) -> None:
        broker.patience.check()
        broker.patience.wait_in_vain(0.7)

    with broker_of(reference_behaviour()) as used, broker_of(reference_behaviour()) as fresh:
        repeats = repeats_on(used, fresh, waits)
    assert (repeats.used.repeats, repeats.fresh, repeats.loaded) == (3, repeats.used, repeats.used)
    assert repeats.leaves_open == "it recurred in none of 6 repeats"


@pytest.mark.parametrize(
    ("fails_after", "reason"),
    [(1000, "it recurred in none of 40 repeats"), (20, ""), (0, None)],
)
def test_failure_after_the_time_for_repeats_counts_only_if_it_recurs(fails_after: int, reason: str | None) -> None:
    """A pause of the machine may make several properties fail, and the first one may use up that time."""
    repeats_none = Repeater(cast(SpareTarget, FakeSpare(None)), tier=Tier.SMOKE)
    repeats_none._spent_s = 1000.0
    with broker_of(after(fails_after)) as used:
        repeats = repeats_none.repeat(used, FailingExample(answered, {"broker": used}))
    assert (repeats.leaves_open if repeats else None) == reason


def test_fresh_broker_that_does_not_start_makes_no_failure_count() -> None:
    """A JVM may not start in time on a busy machine."""
    spare = FakeSpare(None, starts=False)
    with broker_of(reference_behaviour()) as used:
        repeats = Repeater(cast(SpareTarget, spare), tier=Tier.STANDARD).repeat(
            used, FailingExample(answered, {"broker": used})
        )
    assert repeats is not None
    assert repeats.leaves_open == "it recurred in none of 40 repeats"


def test_repeat_may_meet_silences_however_long_each_is() -> None:
    """Each tally has time for a few, which a request may get by right."""

    def meets_silences(broker: Broker) -> None:
        for _ in range(MIN_SILENCES):
            broker.patience.check()
            broker.patience.wait_in_vain(MAX_SILENCE_BOUND_S)

    with broker_of(reference_behaviour()) as used:
        used.patience.outlast_silences(MAX_SILENCE_BOUND_S)
        repeats = repeater().repeat(used, FailingExample(meets_silences, {"broker": used}))
    assert repeats is not None
    assert repeats.leaves_open == "it recurred in none of 1 repeats"


def test_failure_of_a_target_that_sent_too_much_has_no_class() -> None:
    """Nothing is repeated on it, which says nothing about the environment."""
    with broker_of(after(0)) as used:
        used.patience.large_bytes.value = -1
        assert repeater().repeat(used, FailingExample(answered, {"broker": used})) is None


ALWAYS, NEVER = Repeats(used=Tally(2, 2)), Repeats(used=Tally(0, 3))
SIGNATURES: Any = (("cell", "signature"),)


class Case:
    """Failures, what their repeats are to show, and what was repeated and recorded.

    Attributes:
        failing: the failures.
        rounds: the numbers of the examples that were repeated together.
        found: what the repeats of each failure showed.
    """

    def __init__(self, *results: Repeats | None) -> None:
        self.cells = {"cell": SimpleNamespace(planned=SimpleNamespace(known_violation=None))}
        recorder: Any = self
        self.failing = FailingExamples(recorder)
        self.rounds: list[list[int]] = []
        self.found: list[Repeats] = []
        self._results = iter(results)

    def repeated(self, _key: str, _signature: str, repeats: Repeats) -> None:
        """Keep them."""
        self.found.append(repeats)

    def repeat(self) -> None:
        """Repeat the failures."""
        self.failing.repeat(self._repeat)

    def _repeat(self, examples: Sequence[FailingExample]) -> list[Repeats | None]:
        self.rounds.append([each.values["number"] for each in examples])
        return [next(self._results) for _ in examples]


def example(number: int) -> FailingExample:
    """Return an example."""
    return FailingExample(lambda **_: None, {"number": number})


@pytest.mark.parametrize("results", [[ALWAYS], [NEVER, ALWAYS], [NEVER, NEVER, NEVER]])
def test_next_example_is_repeated_if_one_leaves_the_failure_open(results: list[Repeats]) -> None:
    """The last repeats count; an example after one that recurs is not repeated."""
    case = Case(*results)
    for number in range(MAX_EXAMPLES + 2):
        case.failing.keep(SIGNATURES, example(number))
    case.repeat()
    assert case.found == results
    assert case.rounds == [[number] for number in range(len(results))]


def test_shrunk_example_replaces_those_before() -> None:
    case = Case(NEVER)
    case.failing.keep(SIGNATURES, example(0))
    case.failing.keep(SIGNATURES, example(1), is_shrunk=True)
    case.repeat()
    assert case.rounds == [[1]]


def test_example_that_cannot_be_repeated_is_recorded_as_nothing() -> None:
    case = Case(None)
    case.failing.keep(SIGNATURES, example(0))
    case.repeat()
    assert not case.found


def test_failures_of_several_properties_are_repeated_together_and_once() -> None:
    """What was repeated is not repeated again after a later property."""
    case = Case(ALWAYS, ALWAYS)
    case.failing.keep(SIGNATURES, example(0))
    case.failing.keep((("cell", "of another property"),), example(1))  # type: ignore[arg-type]
    case.repeat()
    case.repeat()
    assert case.rounds == [[0, 1]]
    assert case.found == [ALWAYS, ALWAYS]
