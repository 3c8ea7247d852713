"""Runs several small Spark queries at once, because planning each one takes longer than computing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from pyspark.sql import DataFrame

from spark_aggregation.reading.frames import checkpointed

_AT_ONCE = 4

T = TypeVar("T")
R = TypeVar("R")


def for_each(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Call a function that waits for Spark on each item, a few items at a time.

    Returns:
        Its results, in the order of the items.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(function, items))


def checkpointed_together(
    frames: Mapping[str, DataFrame], *, whole: bool = False
) -> dict[str, DataFrame]:
    """Checkpoint frames that do not depend on each other, a few at a time; see `frames.checkpointed`."""
    return dict(
        zip(frames, for_each(partial(checkpointed, whole=whole), frames.values()), strict=True)
    )
