"""How often the parts of a strategy are drawn."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


def as_one(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Return a strategy that counts as one branch where `|` puts it beside others.

    Hypothesis takes the branches of both sides for equals, so that a strategy of many crowds out the other.
    """
    return st.builds(lambda value: value, strategy)
