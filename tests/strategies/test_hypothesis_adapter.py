"""Tests of the facts about Hypothesis on which the adapter relies.

Hypothesis keeps the parts of a test where the adapter looks for them, and treats a body's results as the suite expects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import hypothesis
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.stateful import RuleBasedStateMachine, get_state_machine_test, rule

from strategies.hypothesis_adapter import (
    StopDrawing,
    assumptions_outside_hypothesis,
    body_of,
    body_replaced,
    draw,
    is_drawn,
    max_examples_changed,
    max_examples_of,
    pinned_examples,
    set_seed,
    strategies_of,
)

NUMBERS = st.integers(0, 1000)


@contextmanager
def relied_on(what: str) -> Iterator[None]:
    """Name the fact that no longer holds, and the module that has to change."""
    try:
        yield
    except (AssertionError, AttributeError, TypeError, ValueError) as error:
        pytest.fail(
            f"Hypothesis {hypothesis.__version__} changed something that strategies/hypothesis_adapter.py relies on: "
            f"{what} ({error!r})"
        )


def drawn_test(body: Callable[[int], None]) -> Any:
    """Return a `@given` test with two pinned examples, which draws 20 others."""

    @settings(max_examples=20, database=None)
    @given(number=NUMBERS)
    @example(number=-1)
    @example(number=-2)
    def test(number: int) -> None:
        body(number)

    return test


def drawn_from(seed: int, *, count: int = 20) -> list[tuple[int, bool]]:
    """Return what is drawn without a test."""
    taken: list[tuple[int, bool]] = []
    strategies = {"number": NUMBERS, "flag": st.booleans()}
    draw(
        strategies,
        lambda values: taken.append((values["number"], values["flag"])),
        seed=seed,
        count=count,
    )
    return taken


def test_a_seed_draws_the_same_examples_without_a_test() -> None:
    """As many as asked for, and fewer only if no more are different."""
    first = drawn_from(1)
    assert len(first) == 20
    assert drawn_from(1) == first
    assert drawn_from(1, count=10) == first[:10]
    assert drawn_from(2) != first


@pytest.mark.parametrize(
    ("error", "count"),
    [
        pytest.param(UnsatisfiedAssumption, 10, id="rejected-are-not-counted"),
        pytest.param(StopDrawing, 1, id="stopped"),
    ],
)
def test_examples_may_be_rejected_or_the_last(error: type[BaseException], count: int) -> None:
    """The body of an example says so by an error, and neither is a failure."""
    accepted: list[int] = []
    seen: list[int] = []

    def take(values: Mapping[str, Any]) -> None:
        seen.append(values["number"])
        if len(seen) % 2 == 0:
            raise error
        accepted.append(values["number"])

    draw({"number": NUMBERS}, take, seed=1, count=10)
    assert len(accepted) == count


def test_parts_of_a_test_are_where_the_adapter_looks() -> None:
    """Body, strategies, pinned examples and settings of a `@given` test are found; those of any other are none."""
    test = drawn_test(lambda number: None)
    with relied_on("a @given test keeps its body in `hypothesis.inner_test`"):
        assert is_drawn(test)
        assert body_of(test).__name__ == "test"
        assert body_of(test) is not test
    with relied_on("a @given test keeps its strategies in `hypothesis._given_kwargs`"):
        assert dict(strategies_of(test)) == {"number": NUMBERS}
    with relied_on("a test keeps its @example in `hypothesis_explicit_examples`, the last first"):
        assert pinned_examples(test) == ({"number": -1}, {"number": -2})
    with relied_on("a test keeps its settings in `_hypothesis_internal_use_settings`"):
        assert max_examples_of(test) == 20

    def other() -> None:
        pass

    assert not is_drawn(other)
    assert body_of(other) is other
    assert pinned_examples(other) == ()
    assert max_examples_of(other) is None
    with max_examples_changed(other, lambda own: own):
        assert max_examples_of(other) is None


def test_replaced_body_gets_every_example() -> None:
    """Hypothesis calls it with the pinned examples first."""
    seen: list[int] = []
    test = drawn_test(seen.append)
    before = body_of(test)

    def take(body: object, values: Mapping[str, int]) -> None:
        assert body is before
        seen.append(values["number"])

    with body_replaced(test, take):
        test()
    assert body_of(test) is before
    with relied_on("Hypothesis calls `hypothesis.inner_test` with each example"):
        assert seen[:2] == [-1, -2]
        assert len(seen) == 22


def test_fewer_examples_are_drawn_inside_the_block() -> None:
    """After the block the test draws its own number again."""
    seen: list[int] = []
    test = drawn_test(seen.append)
    with max_examples_changed(test, lambda own: own // 4):
        test()
    with relied_on("Hypothesis reads a test's settings when the test begins"):
        assert len(seen) == 2 + 5
        assert max_examples_of(test) == 20


def test_assumption_outside_of_hypothesis_only_rejects() -> None:
    """Warnings are errors in this project's tests, so a warning would fail this one."""
    with relied_on("`assume` works outside of Hypothesis, with a HypothesisDeprecationWarning"):
        with assumptions_outside_hypothesis():
            assume(True)
        with assumptions_outside_hypothesis(), pytest.raises(UnsatisfiedAssumption):
            assume(False)


def test_state_machine_runs_while_an_example_is_drawn() -> None:
    class NumberMachine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.steps: list[int] = []

        @rule(number=NUMBERS)
        def step(self, number: int) -> None:
            self.steps.append(number)

    loop = get_state_machine_test(NumberMachine, settings=settings(stateful_step_count=3))

    @st.composite
    def step_lists(draw: st.DrawFn) -> list[int]:
        body_of(loop)(draw(st.data()))
        machine: NumberMachine = draw(st.runner())
        return machine.steps

    seen: list[int] = []

    @settings(max_examples=20, database=None)
    @given(steps=step_lists())
    def test(steps: list[int]) -> None:
        seen.append(len(steps))

    with relied_on("the body of a state machine's test runs the machine on an example's data"):
        test()
        assert 0 < max(seen) <= 3


def test_base_exception_ends_drawing_at_once() -> None:
    """The suite stops drawing with one; Hypothesis neither repeats nor shrinks that example."""

    class Stop(BaseException):
        pass

    seen = []

    def stop(number: int) -> None:
        seen.append(number)
        raise Stop

    with relied_on("a BaseException passes through Hypothesis"):
        with pytest.raises(Stop):
            drawn_test(stop)()
        assert len(seen) == 1


def test_shrinking_ends_once_smaller_examples_pass() -> None:
    """The suite ends shrinking by passing every example that has not failed before; the failure is still raised."""
    failed: set[int] = set()

    def fail_once(number: int) -> None:
        if number in failed or (number > 100 and not failed):
            failed.add(number)
            raise AssertionError(f"seen {number}")

    with relied_on("Hypothesis raises the failure that it last saw fail"):
        with pytest.raises(AssertionError, match="seen"):
            drawn_test(fail_once)()
        assert len(failed) == 1


def test_the_seed_of_a_test_takes_precedence_until_it_is_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A test with a seed of its own draws what the seed decides, and without it what the run's seed decides."""
    drawn: list[int] = []
    test = drawn_test(drawn.append)

    def numbers(seed: str | None) -> list[int]:
        drawn.clear()
        set_seed(test, seed)
        test()
        return list(drawn)

    with relied_on("a @given test keeps its seed in `_hypothesis_internal_use_seed`"):
        monkeypatch.setattr("hypothesis.core.global_force_seed", 1)
        assert numbers("one") == numbers("one") != numbers("two")
        assert numbers(None) == numbers(None) != numbers("one")
