"""Drawing and shrinking end in time, and no pinned example is left out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.engine import example_limits
from conformance.engine.example_limits import SECONDARY_BUDGET_S
from reports.records import Verdict
from tests.conformance.judged_properties import JudgedBroker, judged, violate


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which goes on only as a test says."""
    now = [0.0]
    monkeypatch.setattr(example_limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_spent_budget_ends_shrinking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the budget is spent, only examples that failed before run, so that shrinking ends."""
    case = judged(tmp_path, JudgedBroker())
    with pytest.raises(AssertionError):
        case.run(violate, 1)
    monkeypatch.setattr(example_limits, "SHRINK_BUDGET_S", -1.0)
    case.run(violate, 2)
    with pytest.raises(AssertionError):
        case.run(violate, 1)
    assert case.ran == [1, 1]


def test_secondary_listener_begins_nothing_late(tmp_path: Path, now: list[float]) -> None:
    """After its time is up, only the first example runs, also after the property begins again."""
    case = judged(tmp_path, JudgedBroker(), is_secondary_listener=True)
    ran: list[int] = []
    now[0] += 2 * SECONDARY_BUDGET_S
    case.run(ran.append, 1)
    case.run(ran.append, 2)
    case.judge.begin_again(None)
    case.run(ran.append, 3)
    assert ran == [1, 3]


def test_distance_takes_no_time_of_a_secondary_listener(tmp_path: Path, now: list[float]) -> None:
    """The target has its own time for each example, however long requests are under way."""
    distance_s = 2 * SECONDARY_BUDGET_S
    case = judged(tmp_path, JudgedBroker(), is_secondary_listener=True, distance_s=distance_s)
    ran: list[int] = []
    for number in range(3):
        case.run(ran.append, number)
        now[0] += distance_s
    case.run(ran.append, 3)
    now[0] += distance_s + 2 * SECONDARY_BUDGET_S
    case.run(ran.append, 4)
    assert ran == [0, 1, 2, 3]


def test_no_pinned_example_is_ever_dropped(tmp_path: Path, now: list[float]) -> None:
    """They all run, however late; the cell says that drawn examples were dropped."""
    case = judged(tmp_path, JudgedBroker(), is_secondary_listener=True, pinned=3)
    ran: list[int] = []

    def late(value: int) -> None:
        ran.append(value)
        now[0] += SECONDARY_BUDGET_S + 1

    for value in range(3):
        case.run(late, value)
    case.judge.raise_first()
    assert case.recorder.cells[case.key].reason == ""
    for value in range(3, 7):
        case.run(late, value)
    case.judge.raise_first()
    assert ran == [0, 1, 2]
    assert case.recorder.cells[case.key].reason == (
        "0 of 4 drawn examples were run before the limit of 1 s for this listener; "
        "every pinned example was run"
    )
    assert case.verdict is Verdict.CONFORMS


def test_cell_says_how_many_drawn_examples_were_run(tmp_path: Path, now: list[float]) -> None:
    """How many were drawn is known at the end alone; what is judged again one by one is counted again."""
    case = judged(tmp_path, JudgedBroker(), is_secondary_listener=True, pinned=1)

    def slow(value: int) -> None:
        now[0] += 0.4 * SECONDARY_BUDGET_S

    for _ in range(2):
        case.judge.begin_again(None)
        for value in range(11):
            case.run(slow, value)
    case.judge.raise_first()
    assert case.recorder.cells[case.key].reason.startswith("2 of 10 drawn examples were run ")
