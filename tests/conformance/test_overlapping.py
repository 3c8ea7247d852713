"""Examples that are judged while the next one is drawn have the same results as one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

from conformance.engine.overlapping import (
    AT_ONCE,
    ONE_BY_ONE_AT_FIRST,
    Overlap,
    RejudgeSequentially,
    TargetEndedWhileOverlapping,
)
from fixtures.client.greenlet_wait import yield_before_waiting
from tests.conformance.suite_runs import run_suite

FIRST = -1
"""Marks the examples that are judged before an overlap begins."""


class Judge:
    """Records the examples that it judges, and fails on the given ones."""

    def __init__(self, *, failing: Mapping[int, BaseException], waits: bool = True) -> None:
        self.begun: list[int] = []
        self.judged: list[int] = []
        self._failing = failing
        self._waits = waits

    def __call__(self, body: object, values: Mapping[str, Any]) -> None:
        """Judge one number."""
        number = values["number"]
        if number == FIRST:
            return
        self.begun.append(number)
        if self._waits:
            yield_before_waiting()
        if number in self._failing:
            raise self._failing[number]
        self.judged.append(number)


def overlap_of(judge: Callable[..., None]) -> Overlap:
    """Return an overlap that has already judged its first examples."""
    overlap = Overlap(judge)
    for _ in range(ONE_BY_ONE_AT_FIRST):
        overlap.judge(body, {"number": FIRST})
    return overlap


def body() -> None:
    """Do nothing: the judge decides."""


def test_first_examples_are_judged_one_by_one() -> None:
    """Each ends before the next is drawn, so that its latency is the target's."""
    judge = Judge(failing={})
    overlap = Overlap(judge)
    for number in range(ONE_BY_ONE_AT_FIRST):
        overlap.judge(body, {"number": number})
        assert judge.judged[-1] == number
    overlap.judge(body, {"number": 99})
    assert judge.begun[-1] == 99
    assert judge.judged[-1] != 99


def test_few_examples_wait_at_once() -> None:
    """Examples are judged in order, and the last ones at the end."""
    judge = Judge(failing={})
    overlap = overlap_of(judge)
    for number in range(4):
        overlap.judge(body, {"number": number})
        assert judge.begun == list(range(number + 1))
        assert judge.judged == list(range(number + 1 - AT_ONCE))
    overlap.end()
    assert judge.judged == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "error",
    [AssertionError("wrong"), UnsatisfiedAssumption(), TargetEndedWhileOverlapping()],
    ids=type,
)
def test_what_is_known_late_ends_the_overlap(error: BaseException) -> None:
    """The next draw raises the error, and from then on every example is judged at once."""
    judge = Judge(failing={1: error})
    overlap = overlap_of(judge)
    for number in range(AT_ONCE + 1):
        overlap.judge(body, {"number": number})
    with pytest.raises(RejudgeSequentially) as raised:
        overlap.judge(body, {"number": 98})
    assert raised.value.__cause__ is error
    assert judge.begun == list(range(AT_ONCE + 1))
    overlap.judge(body, {"number": 99})
    assert judge.judged == [0, 99], "examples that waited at the same time are left to the rerun"


def test_what_ends_the_target_beside_others_is_looked_for_one_by_one() -> None:
    """This also applies if the target ends before the first wait."""
    overlap = overlap_of(Judge(failing={0: TargetEndedWhileOverlapping()}, waits=False))
    with pytest.raises(RejudgeSequentially):
        overlap.judge(body, {"number": 0})


def test_the_last_example_of_all_is_not_forgotten() -> None:
    """A failure of the last example is found at the end."""
    overlap = overlap_of(Judge(failing={0: AssertionError("wrong")}))
    overlap.judge(body, {"number": 0})
    with pytest.raises(RejudgeSequentially):
        overlap.end()


def test_the_last_example_may_still_be_none() -> None:
    """An assumption that fails after the end of drawing is also reported."""

    def judge(body: object, values: Mapping[str, Any]) -> None:
        yield_before_waiting()
        if values["number"] != FIRST:
            assume(False)

    overlap = overlap_of(judge)
    overlap.judge(body, {"number": 0})
    with pytest.raises(RejudgeSequentially):
        overlap.end()


def test_hypothesis_lets_it_pass() -> None:
    """The exception leaves the property unchanged, and nothing has been shrunk by then."""
    judge = Judge(failing={number: AssertionError("wrong") for number in range(1, 100)})
    overlap = overlap_of(judge)

    @settings(database=None)
    @given(number=st.integers(0, 99))
    def judged(number: int) -> None:
        overlap.judge(body, {"number": number})

    with pytest.raises(RejudgeSequentially):
        judged()
    assert len(judge.begun) == len(judge.judged) + AT_ONCE


def test_what_fails_before_it_waits_is_shrunk_as_usual() -> None:
    """Hypothesis sees the failure at once, and every later example is also judged at once."""
    judge = Judge(
        failing={number: AssertionError("wrong") for number in range(10, 100)}, waits=False
    )
    overlap = Overlap(judge)

    @settings(database=None, max_examples=1000)
    @given(number=st.integers(0, 99))
    def judged(number: int) -> None:
        overlap.judge(body, {"number": number})

    with pytest.raises(AssertionError, match="wrong"):
        judged()
    assert judge.begun[-1] == 10


def test_a_violation_is_shrunk_all_the_same(tmp_path: Path) -> None:
    """A defect that the first examples miss is found, reproduced by the same example, and shrunk."""
    run = run_suite(
        *("--broker", "reference+v1-answers-name-a-feature", "--tier", "standard"),
        *("-k", "test_frame_holds_exactly_the_answer"),
        runs=tmp_path / "runs",
    )
    assert run.status == 1
    met = [row for row in run.rows() if row["verdict"] == "violates"]
    first, again, *smaller = sorted(row["example_number"] for row in met)
    assert first > ONE_BY_ONE_AT_FIRST
    assert again == 2 * first
    assert smaller
    assert {row["phase"] for row in met} == {"generate", "shrink"}
