"""What is done to frames whatever they hold: held to a schema, made empty, cut off from where they came from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructField, StructType


def as_table(frame: DataFrame, schema: StructType) -> DataFrame:
    """Select a schema's columns, in its order and with its types; other columns are left out."""
    # As text, since each column that is built in Python takes ten calls to Java.
    return frame.selectExpr(*(_typed(field) for field in schema))


def _typed(field: StructField) -> str:
    # Spark does not cast what may be null inside to what may not, not even where all else is equal.
    if isinstance(field.dataType, (StructType, ArrayType, MapType)):
        return f"`{field.name}`"
    return f"CAST(`{field.name}` AS {field.dataType.simpleString()}) AS `{field.name}`"


def empty_frame(spark: SparkSession, schema: StructType) -> DataFrame:
    """Give a frame without rows; Spark's own way to one starts Python workers."""
    nulls = (f"CAST(NULL AS {field.dataType.simpleString()}) AS `{field.name}`" for field in schema)
    # Other than an empty range, a condition that never holds is seen when queries are planned, and shortens them.
    return spark.range(0).selectExpr(*nulls).where("false")


def frame_of(
    spark: SparkSession, rows: Sequence[Mapping[str, object]], type_: ArrayType
) -> DataFrame:
    """Give a frame of a few rows that are known here, as a text; Spark's own way starts Python workers.

    Args:
        spark: the session.
        rows: what JSON can hold.
        type_: of all rows, as an array of structs.
    """
    return spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(rows)), type_)))


def settled(frame: DataFrame, *, whole: bool = False) -> DataFrame:
    """Compute a frame now, and forget how.

    Spark plans anew, at each step, all that a frame was ever made from: without this, planning the tables of
    one small run took 51 s, and with it less than 2.

    Args:
        frame: what is computed.
        whole: whether it is put into one partition, as befits what is small whatever was rolled up: of what is made
            from one such frame nothing is shuffled any more. Everything is where a session shuffles into one partition
            anyway.
    """
    one = whole or frame.sparkSession.conf.get("spark.sql.shuffle.partitions") == "1"
    return (frame.coalesce(1) if one else frame).localCheckpoint(eager=True)
