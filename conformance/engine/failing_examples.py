"""The distinct failures of a property, or of several, each with the example that is repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.engine.example_recorder import Signatures
from conformance.engine.repeating import FailingExample
from reports.run.recorder import RunRecorder
from reports.run.repeats import Repeats

Repeat = Callable[[Sequence[FailingExample]], Sequence[Repeats | None]]
"""Repeats examples without those that ran before them, and returns how often each failed; None if it cannot be repeated."""

MOST_EXAMPLES = 3
"""Examples of one failure that are repeated at most: the next one only if the repeats of the one before leave it open."""


class FailingExamples:
    """Keeps the last example of each failure that was shrunk, which is the smallest, or else the first ones."""

    def __init__(self, recorder: RunRecorder) -> None:
        self._recorder = recorder
        self._examples: dict[Signatures, list[FailingExample]] = {}

    def keep(
        self, signatures: Signatures, example: FailingExample, *, is_shrunk: bool = False
    ) -> None:
        """Keep an example of a failure, in place of earlier ones if it came while they were shrunk."""
        kept = self._examples.setdefault(signatures, [])
        if is_shrunk:
            kept.clear()
        if len(kept) < MOST_EXAMPLES:
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
