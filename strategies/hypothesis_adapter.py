"""Draws examples without a test, through undocumented parts of Hypothesis.

No other module uses what Hypothesis does not document: where a `@given` test keeps its parts.

`tests/strategies/test_hypothesis_adapter.py` fails if a release of Hypothesis keeps them elsewhere.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import HypothesisDeprecationWarning

_HANDLE = "hypothesis"
_SETTINGS = "_hypothesis_internal_use_settings"
_PINNED = "hypothesis_explicit_examples"
_SEED = "_hypothesis_internal_use_seed"
_SINCE = "pinned_since_sets"

Test = Callable[..., Any]


class StopDrawing(BaseException):
    """Stops drawing. A `BaseException`, because Hypothesis treats an `Exception` as a failure of the example."""


def draw(
    strategies: Mapping[str, Any],
    take: Callable[[Mapping[str, Any]], None],
    *,
    seed: str | int,
    count: int,
) -> None:
    """Draw examples without a test and pass each to `take`; a seed always draws the same ones.

    Args:
        strategies: what to draw, by name.
        take: called with the values of each example. It raises `UnsatisfiedAssumption` to reject the example, and
            `StopDrawing` to stop drawing.
        seed: the random seed.
        count: the maximum number of examples, without rejected ones.
    """

    @hypothesis.seed(seed)
    @settings(
        max_examples=count,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(**strategies)
    def pass_on(**values: Any) -> None:
        take(values)

    with contextlib.suppress(StopDrawing):
        pass_on()


def is_drawn(test: Test) -> bool:
    """Return whether Hypothesis draws a test's examples."""
    return hasattr(test, _HANDLE)


def body_of(test: Test) -> Test:
    """Return the function that a `@given` test calls with each example; any other function is its own body."""
    return getattr(test, _HANDLE).inner_test if is_drawn(test) else test


@contextmanager
def body_replaced(test: Test, take: Callable[[Test, Mapping[str, Any]], None]) -> Iterator[None]:
    """Let a `@given` test pass its body and each example's values to `take` in the block.

    Any other test is left alone.
    """
    if not is_drawn(test):
        yield
        return
    handle = getattr(test, _HANDLE)
    body = handle.inner_test

    # Hypothesis reads the signature.
    @functools.wraps(body)
    def pass_on(**values: Any) -> None:
        take(body, values)

    handle.inner_test = pass_on
    try:
        yield
    finally:
        handle.inner_test = body


def strategies_of(test: Test) -> Mapping[str, Any]:
    """Return the strategies of a `@given` test, by parameter."""
    return getattr(test, _HANDLE)._given_kwargs  # type: ignore[no-any-return]


def pinned_examples(test: Test) -> tuple[Mapping[str, Any], ...]:
    """Return the values of each `@example` of a test, by parameter, in the order of the source."""
    # The decorator nearest to the function is applied first.
    return tuple(example.kwargs for example in reversed(getattr(test, _PINNED, ())))


def example_since(clause_set: str, **values: Any) -> Callable[[Test], Test]:
    """Pin an example as `@example` does; it fails no run by a set of clauses before this one, such as "0.2"."""

    def pinned(test: Test) -> Test:
        setattr(test, _SINCE, (*examples_since(test), (clause_set, values)))
        return hypothesis.example(**values)(test)

    return pinned


def examples_since(test: Test) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Return the pinned examples of a test that count only from a set of clauses on, each after the set's name."""
    return getattr(test, _SINCE, ())


def max_examples_of(test: Test) -> int | None:
    """Return the number of examples that Hypothesis draws for a test; None if it draws none."""
    own = getattr(test, _SETTINGS, None)
    return None if own is None else int(own.max_examples)


def set_seed(test: Test, seed: str | None) -> None:
    """Set the seed of a `@given` test, which takes precedence over the run's; None removes it."""
    setattr(test, _SEED, seed)


@contextmanager
def max_examples_changed(test: Test, change: Callable[[int], int]) -> Iterator[None]:
    """Let a `@given` test draw another number of examples inside the block.

    Args:
        test: the test; one that is not drawn is left alone.
        change: returns the number to draw, given the number that the test would draw.
    """
    own = getattr(test, _SETTINGS, None)
    if own is None:
        yield
        return
    setattr(test, _SETTINGS, settings(own, max_examples=change(own.max_examples)))
    try:
        yield
    finally:
        setattr(test, _SETTINGS, own)


@contextmanager
def assumptions_outside_hypothesis() -> Iterator[None]:
    """Allow a body to call `assume` inside the block; Hypothesis warns about assumptions outside its own runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisDeprecationWarning)
        yield
