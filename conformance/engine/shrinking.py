"""Limits how long Hypothesis may shrink a failure."""

from __future__ import annotations

import time

SHRINK_BUDGET_S = 3.0
"""Wall time for shrinking one failure.

Measured: requests of one kind are minimal after 0.3 s. A target that falls silent costs a silence bound per attempt,
so a few attempts must be enough.
"""
SHARE_OF_PATIENCE = 1 / 3
"""Share of a property's patience that shrinking one failure may use, so that some is left for repeating it."""


class Shrinking:
    """The state of the failure that is being shrunk, if there is one."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._failing: set[str] = set()

    @property
    def is_under_way(self) -> bool:
        """Whether an example has failed, so that Hypothesis now draws smaller ones."""
        return self._since is not None

    def failed(self, drawn: str) -> None:
        """Record the drawn values of an example that failed; the first failure starts the clock."""
        if self._since is None:
            self._since = time.monotonic()
        self._failing.add(drawn)

    def end(self) -> None:
        """Forget the failure: the next examples are drawn for judging."""
        self._since = None
        self._failing.clear()

    def is_over(self, drawn: str, *, patience_left_s: float) -> bool:
        """Return whether the budget is spent, so that an example is not judged; one that has failed still fails."""
        if self._since is None or drawn in self._failing:
            return False
        budget_s = min(SHRINK_BUDGET_S, patience_left_s * SHARE_OF_PATIENCE)
        return time.monotonic() - self._since > budget_s
