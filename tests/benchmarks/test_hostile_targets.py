"""A run on a hostile target has its bounds from a run on a healthy one."""

from __future__ import annotations

import pytest

from benchmarks.hostile_targets import LAST_WAIT_S, Cost, is_bounded

HEALTHY = Cost(status=0, seconds=20, mib=200)


@pytest.mark.parametrize(
    ("seconds", "mib", "bounded"),
    [
        pytest.param(60, 400, True, id="at-both"),
        pytest.param(60.1, 200, False, id="too-slow"),
        pytest.param(20, 400.1, False, id="too-large"),
    ],
)
def test_run_takes_three_times_as_long_and_twice_the_memory(
    seconds: float, mib: float, bounded: bool
) -> None:
    """Both bounds hold at once, however much patience there is below three times as long."""
    cost = Cost(status=1, seconds=seconds, mib=mib)
    assert is_bounded(cost, HEALTHY, patience_s=30) is bounded


def test_run_may_take_the_patience_of_its_tier_longer() -> None:
    """Where a healthy run takes less than half of that."""
    healthy, patience_s = Cost(status=0, seconds=3, mib=200), 4.0
    most_s = healthy.seconds + patience_s + LAST_WAIT_S
    assert is_bounded(Cost(status=1, seconds=most_s, mib=200), healthy, patience_s)
    assert not is_bounded(Cost(status=1, seconds=most_s + 0.1, mib=200), healthy, patience_s)
