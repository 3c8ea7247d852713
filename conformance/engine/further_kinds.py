"""Finds further kinds of failures of one property, which the first kind would hide.

Hypothesis ends a property at its first failure. A client's plays are known ahead, so its pinned examples are all judged,
and after a failure of a drawn one, which Hypothesis shrinks, the rest is drawn in another round. Kinds differ in their
signatures: a failure of a kind that is known already does not end a round.
"""

from __future__ import annotations

from conformance.engine.example_recorder import Signatures

MOST_ROUNDS = 4
"""Rounds of drawing, so that a client that fails differently each time is judged to an end."""


class FurtherKinds:
    """The kinds of failures that a property has found, and the examples that need no second judging."""

    def __init__(self, *, pinned: int) -> None:
        """Begin the first round.

        Args:
            pinned: the number of pinned examples; they come first.
        """
        self._pinned_left = pinned
        self._rounds = 1
        self._known: set[Signatures] = set()
        self._shrunk: Signatures | None = None
        self._judged: set[str] = set()
        self._drawn: set[str] = set()
        self._latest = ""

    @property
    def is_shrinking(self) -> bool:
        """Whether Hypothesis shrinks a failure of this round."""
        return self._shrunk is not None

    def skips(self, drawn: str) -> bool:
        """Count an example, and return whether an earlier round has judged it."""
        self._latest = drawn
        self._drawn.add(drawn)
        return drawn in self._judged

    def passes_pinned(self) -> bool:
        """Count an example that is judged, and return whether it is one of the pinned ones."""
        self._pinned_left -= 1
        return self._pinned_left >= 0

    def ends_round(self, signatures: Signatures, *, is_pinned: bool) -> bool:
        """Note a failure, and return whether Hypothesis has to know it: a drawn one of the first new kind of this round.

        A failure of another kind that comes up while it is shrunk is left to the next round.
        """
        if is_pinned:
            self._known.add(signatures)
        if signatures in self._known:
            return False
        self._shrunk = self._shrunk or signatures
        if signatures != self._shrunk:
            self._drawn.discard(self._latest)
        return signatures == self._shrunk

    def begin_round(self) -> bool:
        """Begin another round if the last one ended with a new kind; return whether it did."""
        if self._shrunk is None or self._rounds == MOST_ROUNDS:
            return False
        self._rounds += 1
        self._known.add(self._shrunk)
        self._judged |= self._drawn
        self._shrunk = None
        return True
