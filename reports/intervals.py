"""The 95 % interval of a rate by Wilson's formula, valid also for few repeats and for rates near 0."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def middle_and_half(failed: Any, repeats: Any) -> tuple[Any, Any]:
    """Return the middle of the interval, and half its width.

    Args:
        failed: how many repeats failed: a number or a column of Spark.
        repeats: how many there were, more than 0: of the same type.
    """
    rate, weight = failed / repeats, _Z * _Z / repeats
    half = (weight * (rate * (1 - rate) + weight / 4)) ** 0.5 / (1 + weight)
    return (rate + weight / 2) / (1 + weight), half


def wilson_interval(failed: int, repeats: int) -> tuple[float, float]:
    """Return both ends of the interval, within 0 and 1; it is all of them if nothing was repeated."""
    if repeats == 0:
        return 0.0, 1.0
    middle, half = middle_and_half(failed, repeats)
    return max(middle - half, 0.0), min(middle + half, 1.0)
