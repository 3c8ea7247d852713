"""What is done to frames whatever they hold: held to a schema, made empty, cut off from where they came from."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructField, StructType


def as_table(frame: DataFrame, schema: StructType) -> DataFrame:
    """Select a schema's columns, in its order and with its types; other columns are left out."""
    return frame.select(*(_typed(field) for field in schema))


def _typed(field: StructField) -> Column:
    column = F.col(field.name)
    # Spark does not cast what may be null inside to what may not, not even where all else is equal.
    if isinstance(field.dataType, (StructType, ArrayType, MapType)):
        return column
    return column.cast(field.dataType).alias(field.name)


def empty_frame(spark: SparkSession, schema: StructType) -> DataFrame:
    """Give a frame without rows; Spark's own way to one starts Python workers."""
    nulls = [F.lit(None).cast(field.dataType).alias(field.name) for field in schema]
    return spark.range(0).select(*nulls)


def settled(frame: DataFrame) -> DataFrame:
    """Compute a frame now, and forget how.

    Spark plans anew, at each step, all that a frame was ever made from: without this, planning the tables of
    one small run took 51 s, and with it less than 2.
    """
    return frame.localCheckpoint(eager=True)
