"""The distinct failures of a property, each with the example that is repeated."""

from __future__ import annotations

from conformance.engine.example_recorder import Signatures
from conformance.engine.repeating import FailingExample, Repeater
from fixtures.under_test.broker import Broker
from reports.run.recorder import RunRecorder


class FailingExamples:
    """Keeps the last example of each failure, which is the smallest once it is shrunk."""

    def __init__(self, recorder: RunRecorder, broker: Broker) -> None:
        """Start without failures.

        Args:
            recorder: holds the cells.
            broker: the target.
        """
        self._recorder = recorder
        self._broker = broker
        self._examples: dict[Signatures, FailingExample] = {}

    def keep(self, signatures: Signatures, example: FailingExample) -> None:
        """Keep an example of a failure in place of an earlier one."""
        self._examples[signatures] = example

    def repeat(self, repeater: Repeater) -> None:
        """Repeat each failure alone, unless it is declared, and record how often it occurs again."""
        for signatures, example in self._examples.items():
            if all(self._recorder.cells[key].planned.known_violation for key, _ in signatures):
                continue
            repeats = repeater.repeat(self._broker, example)
            if repeats is not None:
                for key, signature in signatures:
                    self._recorder.repeated(key, signature, repeats)
