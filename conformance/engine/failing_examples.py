"""The distinct failures of a property, each with the example that is repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.engine.example_recorder import Signatures
from conformance.engine.repeating import FailingExample
from reports.run.recorder import RunRecorder
from reports.run.repeats import Repeats

Repeat = Callable[[Sequence[FailingExample]], Sequence[Repeats | None]]
"""Repeats examples without those that ran before them, and returns how often each failed; None if it cannot be repeated."""


def one_by_one(repeat: Callable[[FailingExample], Repeats | None]) -> Repeat:
    """Return what repeats one example after the other."""
    return lambda examples: [repeat(each) for each in examples]


class FailingExamples:
    """Keeps the last example of each failure that was shrunk, which is the smallest, or else the first one."""

    def __init__(self, recorder: RunRecorder) -> None:
        """Start without failures.

        Args:
            recorder: holds the cells.
        """
        self._recorder = recorder
        self._examples: dict[Signatures, FailingExample] = {}

    def keep(
        self, signatures: Signatures, example: FailingExample, *, is_shrunk: bool = False
    ) -> None:
        """Keep an example of a failure, in place of an earlier one if it came while that one was shrunk."""
        if is_shrunk or signatures not in self._examples:
            self._examples[signatures] = example

    def repeat(self, repeat: Repeat) -> None:
        """Repeat each failure, unless it is declared, and record how often it occurs again."""
        undeclared = {
            signatures: example
            for signatures, example in self._examples.items()
            if not all(self._recorder.cells[key].planned.known_violation for key, _ in signatures)
        }
        every = repeat(list(undeclared.values()))
        for signatures, repeats in zip(undeclared, every, strict=True):
            if repeats is not None:
                for key, signature in signatures:
                    self._recorder.repeated(key, signature, repeats)
