"""Decides which of the examples that Hypothesis draws for a property are run."""

from __future__ import annotations

import time

from conformance.engine.example_recorder import Difference
from reports.records import Phase

SHRINK_BUDGET_S = 3.0
"""Wall time for shrinking one failure.

Measured: requests of one kind are minimal after 0.3 s. A target that falls silent costs a silence bound per attempt,
so a few attempts must be enough.
"""
SHARE_OF_PATIENCE = 1 / 3
"""Share of a property's patience that shrinking one failure may use, so that some is left for repeating it."""
SECONDARY_BUDGET_S = 1.0
"""Wall time of a property on a listener that is not a target's first. Some releases take 0.3 s for every request
that is pipelined over TLS, and seconds for one that is throttled by a quota."""
TOO_SLOW = (
    "{run} of {drawn} drawn examples were run before the limit of {limit_s:g} s for this listener; "
    "every pinned example was run"
)
"""The text of a cell whose target is too slow for the remaining examples."""
ENOUGH_DIFFERENCES = 3
"""Informational differences to find before a property ends. They are not failures, so Hypothesis would go on drawing;
if the difference is silence, each one costs the silence bound."""


class ExampleLimits:
    """Counts a property's examples and differences, and ends drawing and shrinking in time."""

    def __init__(self, *, is_secondary_listener: bool, pinned: int, distance_s: float = 0.0) -> None:
        """Start without examples.

        Args:
            is_secondary_listener: whether drawing ends after `SECONDARY_BUDGET_S`.
            pinned: the number of pinned examples; they come first, and all of them run.
            distance_s: seconds of each example that do not count, because the target is far away.
        """
        self._distance_s = distance_s
        self._is_secondary_listener = is_secondary_listener
        self._pinned = pinned
        self._failed: set[str] = set()
        self._differences = 0
        self.begin_again()

    def begin_again(self) -> None:
        """Start again with the property's first example; the differences found so far count."""
        self.end_shrinking()
        self._began_at = time.monotonic()
        self._drawn = self._too_late = 0

    def end_shrinking(self) -> None:
        """Count the next examples as drawn for judging."""
        self._shrinking_since: float | None = None
        """When the first failure started the clock; None while nothing is shrunk."""
        self._failed.clear()

    @property
    def phase(self) -> Phase:
        """Why the current example was drawn. The first failure was drawn for judging; examples after it shrink it."""
        return Phase.GENERATE if self._shrinking_since is None else Phase.SHRINK

    def skips(self, drawn: str, *, is_first: bool, patience_left_s: float) -> bool:
        """Count an example, and return whether it is not run.

        Args:
            drawn: the drawn values, as text.
            is_first: whether no example was recorded yet.
            patience_left_s: how long the target may still keep the property waiting.
        """
        self._drawn += 1
        if self._drawn > self._pinned:
            if self._differences >= ENOUGH_DIFFERENCES:
                return True
            if self._is_late() and not is_first and self._shrinking_since is None:
                self._too_late += 1
                return True
        return self._is_shrunk_enough(drawn, patience_left_s)

    def found(self, difference: Difference, drawn: str) -> None:
        """Count a difference; an undeclared violation is shrunk from now on."""
        self._differences += not difference.is_binding
        if difference.is_binding and not difference.is_declared:
            if self._shrinking_since is None:
                self._shrinking_since = time.monotonic()
            self._failed.add(drawn)

    def left_out(self) -> str:
        """Return how many examples were run if time ran out; empty if it did not."""
        if not self._too_late:
            return ""
        drawn = self._drawn - self._pinned
        return TOO_SLOW.format(run=drawn - self._too_late, drawn=drawn, limit_s=SECONDARY_BUDGET_S)

    def _is_shrunk_enough(self, drawn: str, patience_left_s: float) -> bool:
        """Return whether the budget is spent; an example that has failed is judged all the same, and still fails."""
        if self._shrinking_since is None or drawn in self._failed:
            return False
        budget_s = min(SHRINK_BUDGET_S, patience_left_s * SHARE_OF_PATIENCE)
        return time.monotonic() - self._shrinking_since > budget_s

    def _is_late(self) -> bool:
        on_the_way_s = (self._drawn - 1) * self._distance_s
        took_s = time.monotonic() - self._began_at - on_the_way_s
        return self._is_secondary_listener and took_s > SECONDARY_BUDGET_S
