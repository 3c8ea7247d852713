"""Allows `assume` in property bodies that run outside Hypothesis: repeated, replayed, or judged after it has ended."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis.errors import HypothesisDeprecationWarning


@contextmanager
def assumptions_outside_hypothesis() -> Iterator[None]:
    """Allow a body to call `assume` inside the block; Hypothesis warns about assumptions outside its own runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisDeprecationWarning)
        yield
