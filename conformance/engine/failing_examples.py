"""The distinct failures of a property, and the example of each that is repeated.

The first failure would hide the further kinds of failures.

Hypothesis ends a property at its first failure. A client's plays are known ahead, so its pinned examples are all
judged, and after a failure of a drawn one, which Hypothesis shrinks, the rest is drawn in another round. Kinds differ
in their signatures: a failure of a kind that is known already does not end a round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.engine.example_recorder import Signatures
from conformance.engine.repeating import FailingExample
from reports.repeats import Repeats
from reports.run.recorder import RunRecorder

Repeat = Callable[[Sequence[FailingExample]], Sequence[Repeats | None]]
"""Repeats examples without those that ran before them, and returns how often each failed; None if it cannot be
repeated."""

MAX_EXAMPLES = 3
"""Examples of one failure that are repeated at most: the next one only if the repeats of the one before leave it
open."""


MAX_ROUNDS = 4
"""Rounds of drawing, so that a client that fails differently each time is judged to an end."""


class FailingExamples:
    """Store of failing examples for one property, or for several.

    For each failure it keeps the last example that was shrunk, which is the smallest, or else the first examples.
    """

    def __init__(self, recorder: RunRecorder) -> None:
        self._recorder = recorder
        self._examples: dict[Signatures, list[FailingExample]] = {}

    def keep(self, signatures: Signatures, example: FailingExample, *, is_shrunk: bool = False) -> None:
        """Keep an example of a failure, in place of earlier ones if it came while they were shrunk."""
        kept = self._examples.setdefault(signatures, [])
        if is_shrunk:
            kept.clear()
        if len(kept) < MAX_EXAMPLES:
            kept.append(example)

    def repeat(self, repeat: Repeat) -> None:
        """Repeat each failure once, unless it is declared, and record how often it occurs again."""
        left = {
            signatures: list(examples)
            for signatures, examples in self._examples.items()
            if not all(self._recorder.cells[key].planned.known_violation for key, _ in signatures)
        }
        self._examples.clear()
        while left:
            latest = [examples[0] for examples in left.values()]
            every = dict(zip(left, repeat(latest), strict=True))
            for signatures, repeats in every.items():
                self._record(signatures, repeats)
            left = {
                signatures: left[signatures][1:]
                for signatures, repeats in every.items()
                if repeats is not None and repeats.leaves_open and left[signatures][1:]
            }

    def _record(self, signatures: Signatures, repeats: Repeats | None) -> None:
        if repeats is not None:
            for key, signature in signatures:
                self._recorder.repeated(key, signature, repeats)


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
        """Note a failure, and return whether Hypothesis has to know it.

        Hypothesis has to know a drawn failure of the first new kind in this round.

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
        if self._shrunk is None or self._rounds == MAX_ROUNDS:
            return False
        self._rounds += 1
        self._known.add(self._shrunk)
        self._judged |= self._drawn
        self._shrunk = None
        return True
