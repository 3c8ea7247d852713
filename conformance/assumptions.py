"""Assumptions of properties whose bodies run outside of Hypothesis: repeated, replayed, or judged after its end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis.errors import HypothesisDeprecationWarning


@contextmanager
def assumptions_outside_hypothesis() -> Iterator[None]:
    """Let a body assume inside the block; Hypothesis warns of an assumption outside of its own runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisDeprecationWarning)
        yield
