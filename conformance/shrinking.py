"""How long Hypothesis may make a failure smaller."""

from __future__ import annotations

import time

SHRINK_BUDGET_S = 3.0
"""Wall time for making a failure smaller. Seen: requests of one kind are minimal after 0.3 s; a target that
falls silent costs a silence bound per try, so that a few tries must do."""
SHARE_OF_PATIENCE = 1 / 3
"""Share of the property's patience that making one failure smaller may cost, so that some is left for repeating it."""


class Shrinking:
    """What is known of a failure that is being made smaller, while there is one."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._failing: set[str] = set()

    @property
    def is_under_way(self) -> bool:
        """Whether an example has failed, so that Hypothesis draws smaller ones."""
        return self._since is not None

    def failed(self, drawn: str) -> None:
        """Note the drawn values of an example that failed; the first one begins it."""
        if self._since is None:
            self._since = time.monotonic()
        self._failing.add(drawn)

    def end(self) -> None:
        """Forget it: what comes next is drawn to judge."""
        self._since = None
        self._failing.clear()

    def is_over(self, drawn: str, *, patience_left_s: float) -> bool:
        """Tell whether an example is not to be judged, since it took long enough; what has failed goes on failing."""
        if self._since is None or drawn in self._failing:
            return False
        budget_s = min(SHRINK_BUDGET_S, patience_left_s * SHARE_OF_PATIENCE)
        return time.monotonic() - self._since > budget_s
