"""Search for one value of a strategy that meets a condition.

It also finds the smallest such value.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from typing import TypeVar

from hypothesis import Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning, NoSuchExample

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

REACH = settings(max_examples=2000, derandomize=True, database=None, phases=(Phase.generate,))
"""Far more than the 100 examples of a property: a miss means that a region is never drawn."""
SHRINK = settings(REACH, phases=(Phase.generate, Phase.shrink))


def _anything(_: object) -> bool:
    return True


def find_any(strategy: st.SearchStrategy[T], condition: Callable[[T], bool] = _anything) -> T:
    """Return a value that meets the condition.

    Raises:
        NoSuchExample: no such value was drawn.
    """
    return _find(strategy, condition, REACH)


def minimal(strategy: st.SearchStrategy[T], condition: Callable[[T], bool] = _anything) -> T:
    """Return the value that a value that meets the condition shrinks to."""
    return _find(strategy, condition, SHRINK)


def unmet(strategy: st.SearchStrategy[T], conditions: Mapping[K, Callable[[T], object]]) -> set[K]:
    """Return the names of the conditions that no value meets of those among which `find_any` looks.

    The values are drawn once for all conditions, until each of them is met.
    """
    left = dict(conditions)

    def meets_the_last(value: T) -> bool:
        for name in [name for name, condition in left.items() if condition(value)]:
            del left[name]
        return not left

    with suppress(NoSuchExample):
        find_any(strategy, meets_the_last)
    return set(left)


def _find(strategy: st.SearchStrategy[T], condition: Callable[[T], bool], chosen: settings) -> T:
    with warnings.catch_warnings():
        # The longest values trigger a warning about their printed size, but nothing prints them here.
        warnings.simplefilter("ignore", HypothesisWarning)
        return find(strategy, condition, settings=chosen)
