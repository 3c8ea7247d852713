"""A figure equal to its goal meets the goal, any larger figure misses it, and missed goals are named."""

from __future__ import annotations

import pytest

from benchmarks.goals import Goal, last_line, missed_goals

NIGHT = Goal(name="night", most=1.2)
MEMORY = Goal(name="memory", most=6, unit="GiB")


@pytest.mark.parametrize(
    ("figure", "missed"),
    [
        pytest.param(1.07, [], id="met"),
        pytest.param(1.2, [], id="borderline"),
        pytest.param(1.204, ["night 1.204, goal <= 1.2"], id="missed-by-what-tables-round-away"),
        pytest.param(3.0, ["night 3.000, goal <= 1.2"], id="missed"),
    ],
)
def test_goal_is_missed_by_more_than_it(figure: float, missed: list[str]) -> None:
    """Measured figures are compared unrounded."""
    assert missed_goals([(NIGHT, figure)]) == missed


def test_last_line_names_what_was_missed() -> None:
    """The line lists each missed goal with its figure and unit, and no other goal."""
    assert last_line(missed_goals([(NIGHT, 1.5), (MEMORY, 6.5)])) == (
        "missed: night 1.500, goal <= 1.2; memory 6.500 GiB, goal <= 6 GiB"
    )
    assert last_line(missed_goals([(NIGHT, 1.0), (MEMORY, 6.0)])) == "every goal measured was met"
