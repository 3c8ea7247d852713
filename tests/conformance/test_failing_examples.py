"""A failure that comes by chance in one example is no reason to doubt another example that fails alike."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.engine.failing_examples import MOST_EXAMPLES, FailingExamples
from conformance.engine.repeating import FailingExample
from reports.run.repeats import Repeats, Tally

ALWAYS, NEVER = Repeats(used=Tally(2, 2)), Repeats(used=Tally(0, 3))
SIGNATURES: Any = (("cell", "signature"),)


class Case:
    """Failures, what their repeats are to show, and what was repeated and recorded.

    Attributes:
        failing: the failures.
        rounds: the numbers of the examples that were repeated together.
        found: what the repeats of each failure showed.
    """

    def __init__(self, *results: Repeats | None) -> None:
        self.cells = {"cell": SimpleNamespace(planned=SimpleNamespace(known_violation=None))}
        recorder: Any = self
        self.failing = FailingExamples(recorder)
        self.rounds: list[list[int]] = []
        self.found: list[Repeats] = []
        self._results = iter(results)

    def repeated(self, _key: str, _signature: str, repeats: Repeats) -> None:
        """Keep them."""
        self.found.append(repeats)

    def repeat(self) -> None:
        """Repeat the failures."""
        self.failing.repeat(self._repeat)

    def _repeat(self, examples: Sequence[FailingExample]) -> list[Repeats | None]:
        self.rounds.append([each.values["number"] for each in examples])
        return [next(self._results) for _ in examples]


def example(number: int) -> FailingExample:
    """Return an example."""
    return FailingExample(lambda **_: None, {"number": number})


@pytest.mark.parametrize("results", [[ALWAYS], [NEVER, ALWAYS], [NEVER, NEVER, NEVER]])
def test_next_example_is_repeated_if_one_leaves_the_failure_open(results: list[Repeats]) -> None:
    """The last repeats count; an example after one that recurs is not repeated."""
    case = Case(*results)
    for number in range(MOST_EXAMPLES + 2):
        case.failing.keep(SIGNATURES, example(number))
    case.repeat()
    assert case.found == results
    assert case.rounds == [[number] for number in range(len(results))]


def test_shrunk_example_replaces_those_before() -> None:
    """It is the smallest one."""
    case = Case(NEVER)
    case.failing.keep(SIGNATURES, example(0))
    case.failing.keep(SIGNATURES, example(1), is_shrunk=True)
    case.repeat()
    assert case.rounds == [[1]]


def test_example_that_cannot_be_repeated_is_recorded_as_nothing() -> None:
    """It stays a failure that was not repeated."""
    case = Case(None)
    case.failing.keep(SIGNATURES, example(0))
    case.repeat()
    assert not case.found


def test_failures_of_several_properties_are_repeated_together_and_once() -> None:
    """What was repeated is not repeated again after a later property."""
    case = Case(ALWAYS, ALWAYS)
    case.failing.keep(SIGNATURES, example(0))
    case.failing.keep((("cell", "of another property"),), example(1))  # type: ignore[arg-type]
    case.repeat()
    case.repeat()
    assert case.rounds == [[0, 1]]
    assert case.found == [ALWAYS, ALWAYS]
