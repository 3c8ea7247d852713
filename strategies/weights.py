"""Control over how often the branches of a strategy are drawn."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


def one_branch(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Return a strategy that counts as one branch when `|` combines it with others.

    Otherwise Hypothesis flattens the branches of both sides, and a strategy with many branches crowds out the other.
    """
    return st.builds(lambda value: value, strategy)
