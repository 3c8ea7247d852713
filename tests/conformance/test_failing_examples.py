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


class FakeRecorder:
    """Keeps what the repeats of each failure showed."""

    def __init__(self) -> None:
        self.cells = {"cell": SimpleNamespace(planned=SimpleNamespace(known_violation=None))}
        self.found: list[Repeats] = []

    def repeated(self, _key: str, _signature: str, repeats: Repeats) -> None:
        """Keep them."""
        self.found.append(repeats)


def example(number: int) -> FailingExample:
    """Return an example."""
    return FailingExample(lambda **_: None, {"number": number})


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([ALWAYS], [ALWAYS]),
        ([NEVER, ALWAYS], [NEVER, ALWAYS]),
        ([NEVER, NEVER, NEVER], [NEVER, NEVER, NEVER]),
    ],
)
def test_next_example_is_repeated_if_one_leaves_the_failure_open(
    results: list[Repeats], expected: list[Repeats]
) -> None:
    """The last repeats count; an example after one that recurs is not repeated."""
    recorder: Any = FakeRecorder()
    failing = FailingExamples(recorder)
    for number in range(MOST_EXAMPLES + 2):
        failing.keep(SIGNATURES, example(number))
    repeated: list[int] = []

    def repeat(examples: Sequence[FailingExample]) -> list[Repeats | None]:
        (one,) = examples
        repeated.append(one.values["number"])
        return [results[len(repeated) - 1]]

    failing.repeat(repeat)
    assert recorder.found == expected
    assert repeated == list(range(len(results)))


def test_shrunk_example_replaces_those_before() -> None:
    """It is the smallest one."""
    recorder: Any = FakeRecorder()
    failing = FailingExamples(recorder)
    failing.keep(SIGNATURES, example(0))
    failing.keep(SIGNATURES, example(1), is_shrunk=True)
    repeated: list[FailingExample] = []

    def repeat(examples: Sequence[FailingExample]) -> list[Repeats | None]:
        repeated.extend(examples)
        return [NEVER]

    failing.repeat(repeat)
    assert [each.values["number"] for each in repeated] == [1]


def test_example_that_cannot_be_repeated_is_recorded_as_nothing() -> None:
    """It stays a failure that was not repeated."""
    recorder: Any = FakeRecorder()
    failing = FailingExamples(recorder)
    failing.keep(SIGNATURES, example(0))
    failing.repeat(lambda examples: [None] * len(examples))
    assert not recorder.found


def test_failures_of_several_properties_are_repeated_together_and_once() -> None:
    """What was repeated is not repeated again after a later property."""
    recorder: Any = FakeRecorder()
    failing = FailingExamples(recorder)
    rounds: list[list[int]] = []

    def repeat(examples: Sequence[FailingExample]) -> list[Repeats | None]:
        rounds.append([each.values["number"] for each in examples])
        return [ALWAYS] * len(examples)

    failing.keep(SIGNATURES, example(0))
    failing.keep((("cell", "of another property"),), example(1))  # type: ignore[arg-type]
    failing.repeat(repeat)
    failing.repeat(repeat)
    assert rounds == [[0, 1]]
    assert recorder.found == [ALWAYS, ALWAYS]
