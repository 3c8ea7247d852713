"""The distinct failures of a property, each with the example that is repeated."""

from __future__ import annotations

from collections.abc import Callable

from conformance.engine.example_recorder import Signatures
from conformance.engine.repeating import FailingExample
from reports.run.recorder import RunRecorder
from reports.run.repeats import Repeats

Repeat = Callable[[FailingExample], Repeats | None]
"""Repeats an example alone, and returns how often it failed; None if it cannot be repeated."""


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
        """Repeat each failure alone, unless it is declared, and record how often it occurs again."""
        for signatures, example in self._examples.items():
            if all(self._recorder.cells[key].planned.known_violation for key, _ in signatures):
                continue
            repeats = repeat(example)
            if repeats is not None:
                for key, signature in signatures:
                    self._recorder.repeated(key, signature, repeats)
