"""Operations on frames of any content.

They apply a schema, make an empty frame, or cut off a frame's lineage.

Several small queries run at once, because planning each one takes longer than computing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

_AT_ONCE = 4
T = TypeVar("T")
R = TypeVar("R")


def as_table(frame: DataFrame, schema: StructType) -> DataFrame:
    """Select a schema's columns, in its order and with its types; other columns are left out."""
    # As SQL text, because each column built in Python takes ten calls to Java.
    return frame.selectExpr(*(_typed(field) for field in schema))


def _typed(field: StructField) -> str:
    # Spark does not cast a type that allows nulls inside to one that does not, even if they are otherwise equal.
    if isinstance(field.dataType, (StructType, ArrayType, MapType)):
        return f"`{field.name}`"
    return f"CAST(`{field.name}` AS {field.dataType.simpleString()}) AS `{field.name}`"


def empty_frame(spark: SparkSession, schema: StructType) -> DataFrame:
    """Return a frame without rows. Spark's own way to make one starts Python workers."""
    nulls = (f"CAST(NULL AS {field.dataType.simpleString()}) AS `{field.name}`" for field in schema)
    # The planner recognises a condition that is never true, unlike an empty range, and shortens queries.
    return spark.range(0).selectExpr(*nulls).where("false")


def checkpointed(frame: DataFrame, *, whole: bool = False) -> DataFrame:
    """Compute a frame now, and cut off its lineage.

    At each step Spark plans again everything that a frame was ever made from. Planning the tables of one small
    run took 51 s without this, and less than 2 s with it.

    Args:
        frame: the frame to compute.
        whole: whether to put it into one partition. This suits frames that stay small whatever is rolled up: frames
            made from one such frame need no shuffle. If the session shuffles into one partition anyway, every frame
            is put into one.
    """
    one = whole or frame.sparkSession.conf.get("spark.sql.shuffle.partitions") == "1"
    return (frame.coalesce(1) if one else frame).localCheckpoint(eager=True)


def for_each(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Call a function that waits for Spark on each item, a few items at a time.

    Returns:
        Its results, in the order of the items.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(function, items))


def checkpointed_together(frames: Mapping[str, DataFrame], *, whole: bool = False) -> dict[str, DataFrame]:
    """Checkpoint frames that do not depend on each other, a few at a time; see `frames.checkpointed`."""
    return dict(zip(frames, for_each(partial(checkpointed, whole=whole), frames.values()), strict=True))
