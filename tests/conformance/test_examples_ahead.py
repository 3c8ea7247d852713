"""Examples of a far target run at the same time and are judged in turn.

The results equal the results of a sequential run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import assume, reject
from hypothesis.errors import UnsatisfiedAssumption

from conformance.engine.examples_ahead import (
    MAX_AT_ONCE,
    ONE_BY_ONE_AT_FIRST,
    WORTH_AN_EXAMPLE_S,
    ExamplesAhead,
    RejudgeSequentially,
    examples_ahead,
    examples_at_once,
)
from fixtures.client.addresses import Address
from fixtures.client.transport import about_to_wait
from fixtures.errors import HarnessError
from fixtures.under_test.broker import Broker
from reports.records import Verdict
from reports.run.judged_examples import JudgedExample
from tests.conformance.judged_properties import JudgedBroker, declared, judged, target_with
from tests.fixtures.running_targets import running_at
from wire.exchange import Step

FAR_S = 0.4
"""A plain exchange at a round trip of 0.2 s."""
VALUES = range(ONE_BY_ONE_AT_FIRST + MAX_AT_ONCE)
PINNED = [{"value": number} for number in VALUES]
TIMEOUT_S = 60


@dataclass
class FarBroker(JudgedBroker):
    """A broker far away; its copies are for threads."""

    is_shared: bool = True
    distance_s: float = FAR_S
    is_copy: bool = False

    def apart(self) -> FarBroker:
        """Return a copy with a journal of its own."""
        return replace(self, journal=[], is_copy=True)


Run = Callable[[FarBroker, int], None]


@dataclass
class Far:
    """A property of a far target.

    Attributes:
        broker: the target.
        ahead: runs its examples.
        run: what an example does.
        alone: the values that ran on the broker itself.
        recorded: the value and verdict of each example that was recorded.
    """

    broker: FarBroker
    ahead: ExamplesAhead
    run: Run
    alone: list[int] = field(default_factory=list)
    recorded: list[tuple[int, Verdict]] = field(default_factory=list)

    def judge(self, *values: int) -> None:
        """Judge examples, each in its turn."""
        for value in values:
            self.ahead.judge(self._body, {"broker": self.broker, "value": value})

    def _body(self, broker: FarBroker, value: int) -> None:
        if broker is self.broker:
            self.alone.append(value)
        broker.journal.append(Step(connection=value))
        self.run(broker, value)


@contextmanager
def far(runs: Path, run: Run, broker: FarBroker | None = None) -> Iterator[Far]:
    """Begin a property with the pinned examples; `run` is what an example does."""
    broker = FarBroker() if broker is None else broker
    own = judged(runs, cast(JudgedBroker, broker), pinned=len(PINNED))
    at_once = examples_at_once(cast(Broker, broker))
    with examples_ahead(own.judge, cast(Broker, broker), PINNED, at_once=at_once) as ahead:
        assert ahead is not None
        case = Far(broker, ahead, run)

        def note(example: JudgedExample) -> None:
            case.recorded.append((example.steps[0].connection, example.verdict))

        own.recorder.judged = note  # type: ignore[method-assign]
        yield case


def conforming(*values: int) -> list[tuple[int, Verdict]]:
    """Return what is recorded about examples that conform."""
    return [(value, Verdict.CONFORMS) for value in values]


def test_pinned_examples_run_at_the_same_time_and_are_recorded_in_order(tmp_path: Path) -> None:
    """As many run before the first has ended as the distance deserves, and none runs on the broker itself."""
    together = threading.Barrier(MAX_AT_ONCE)

    def run(_: FarBroker, value: int) -> None:
        if value < MAX_AT_ONCE:
            together.wait(TIMEOUT_S)

    with far(tmp_path, run) as case:
        case.judge(*VALUES)
        case.ahead.end()
    assert case.recorded == conforming(*VALUES)
    assert case.alone == []


def test_drawn_examples_run_at_the_same_time_once_the_first_have_passed(tmp_path: Path) -> None:
    """Hypothesis draws on while they wait."""
    drawn = range(100, 100 + MAX_AT_ONCE)
    together = threading.Barrier(MAX_AT_ONCE)

    def run(_: FarBroker, value: int) -> None:
        if value in drawn:
            about_to_wait()
            together.wait(TIMEOUT_S)

    with far(tmp_path, run) as case:
        case.judge(*VALUES)
        case.judge(*drawn)
        case.ahead.end()
    assert case.recorded == conforming(*VALUES, *drawn)


def test_pinned_example_that_fails_is_judged_again_in_its_turn(tmp_path: Path) -> None:
    def run(broker: FarBroker, value: int) -> None:
        assert value != 3
        assert value != 1 or not broker.is_copy

    with far(tmp_path, run) as case:
        case.judge(0, 1, 2)
        with pytest.raises(AssertionError):
            case.judge(3)
    assert case.recorded == [*conforming(0, 1, 2), (3, Verdict.VIOLATES)]
    assert case.alone == [1, 3]


def test_failure_that_is_known_late_lets_the_property_begin_again(tmp_path: Path) -> None:
    """The examples before it are recorded a second time, as for a near target, and it is raised in its turn."""
    failing = ONE_BY_ONE_AT_FIRST + 1

    def run(_: FarBroker, value: int) -> None:
        assert value != failing

    with far(tmp_path, run) as case:
        case.judge(*VALUES[:-1])
        with pytest.raises(RejudgeSequentially):
            case.ahead.end()
        first = [*conforming(*range(failing)), (failing, Verdict.VIOLATES)]
        assert case.recorded == first
        case.ahead.begin_again()
        with pytest.raises(AssertionError):
            case.judge(*VALUES)
    assert case.recorded == first * 2


def test_example_that_is_rejected_before_it_waits_is_rejected_at_once(tmp_path: Path) -> None:
    """Hypothesis then draws another one in its place; one that is rejected later lets the property begin again."""
    answered = threading.Event()

    def run(_: FarBroker, value: int) -> None:
        assume(value != 100)
        if value == 101:
            about_to_wait()
            assert answered.wait(TIMEOUT_S)
            reject()

    with far(tmp_path, run) as case:
        case.judge(*VALUES)
        with pytest.raises(UnsatisfiedAssumption):
            case.judge(100)
        case.judge(101, 102)
        answered.set()
        with pytest.raises(RejudgeSequentially):
            case.ahead.end()
    assert case.alone == []


def test_declared_violation_is_taken_from_where_it_was_seen(tmp_path: Path) -> None:
    def run(_: FarBroker, value: int) -> None:
        assert value != 1, "as declared"

    broker = FarBroker(target=target_with(declared(match="as declared")))
    with far(tmp_path, run, broker) as case:
        case.judge(0, 1, 2)
    assert case.recorded == [(0, Verdict.CONFORMS), (1, Verdict.VIOLATES), (2, Verdict.CONFORMS)]
    assert case.alone == []


def test_example_that_cannot_be_judged_is_tried_again(tmp_path: Path) -> None:
    """If it cannot be judged alone either, no later one is."""

    def run(broker: FarBroker, value: int) -> None:
        if value == 2 or (value == 0 and broker.is_copy):
            raise HarnessError("no connection")

    with far(tmp_path, run) as case:
        case.judge(0, 1)
        for value in (2, 3):
            with pytest.raises(HarnessError):
                case.judge(value)
    assert case.recorded == conforming(0, 1)
    assert case.alone == [0, 2]


@pytest.mark.parametrize(
    ("exchange_s", "round_trip_s", "is_shared", "at_once"),
    [
        pytest.param(FAR_S, FAR_S / 2, False, 1, id="judged-by-one-process"),
        pytest.param(WORTH_AN_EXAMPLE_S / 2, 0.01, True, 1, id="near"),
        pytest.param(FAR_S, 0.0, True, 1, id="near-and-slow"),
        pytest.param(WORTH_AN_EXAMPLE_S * 2, 0.05, True, 3, id="in-the-region"),
        pytest.param(FAR_S, FAR_S / 2, True, MAX_AT_ONCE, id="far"),
    ],
)
def test_number_follows_the_time_of_an_exchange(
    exchange_s: float, round_trip_s: float, is_shared: bool, at_once: int
) -> None:
    """Nothing changes for a target that is near, or that one process judges."""
    broker = Broker(running_at(Address("127.0.0.1", 1)), "plaintext")
    broker.exchange_s = exchange_s
    broker.patience.round_trip_s = round_trip_s
    if is_shared:
        broker.share()
    assert examples_at_once(broker) == at_once
