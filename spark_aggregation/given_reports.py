"""Tables from what other commands wrote: the mutation score, and the log of changes between releases."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from spark_aggregation.frames import as_table, empty_frame
from spark_aggregation.tables import TABLES


def _list_of(**columns: DataType) -> ArrayType:
    return ArrayType(StructType([StructField(name, type_) for name, type_ in columns.items()]))


_SCORE = StructType(
    [
        StructField("seeds", IntegerType()),
        StructField(
            "kills",
            _list_of(
                clause=StringType(),
                defect=StringType(),
                median=DoubleType(),
                percentile_95=DoubleType(),
                survived_seeds=IntegerType(),
                pinned=BooleanType(),
            ),
        ),
    ]
)
_CHANGES = StructType(
    [
        StructField(
            "changes",
            _list_of(
                listener=StringType(),
                before=StringType(),
                since=StringType(),
                was=StringType(),
                became=StringType(),
                clauses=ArrayType(StringType()),
                predicted=BooleanType(),
                inputs=IntegerType(),
                shortest=StringType(),
            ),
        )
    ]
)


def mutation_score(spark: SparkSession, path: str | None) -> DataFrame:
    """Read the mutation score.

    Args:
        spark: the session.
        path: the `mutation.json` that `kafka-conformance mutation --out` writes; None for an empty table.

    Returns:
        One row per clause and defect that breaks it: `clause`, `defect`, `seeds` (tried), `killed` (seeds whose
        generated examples caught it), `certain` (whether every run catches it), `median_examples`,
        `p95_examples` (generated examples until it was caught; null where too many seeds caught nothing).
    """
    if path is None:
        return empty_frame(spark, TABLES["mutation"])
    kills = _read(spark, path, _SCORE).select("seeds", F.inline("kills"))
    survived = F.col("survived_seeds")
    return kills.select(
        "clause",
        "defect",
        "seeds",
        (F.col("seeds") - survived).alias("killed"),
        (F.col("pinned") | (survived == 0)).alias("certain"),
        F.col("median").alias("median_examples"),
        F.col("percentile_95").alias("p95_examples"),
    )


def release_changes(spark: SparkSession, path: str | None) -> DataFrame:
    """Read the log of changes between releases.

    Args:
        spark: the session.
        path: the `changes.json` that `kafka-conformance changes --out` writes; None for an empty table.

    Returns:
        One row per group of inputs, step between adjacent releases, and clause that the change rests on:
        `listener`, `clause` (empty where it rests on none), `from_release`, `to_release` (target ids),
        `predicted`, `inputs` (how many changed so), `shortest` (hexadecimal), `before`, `after` (in words).
    """
    if path is None:
        return empty_frame(spark, TABLES["release_changes"])
    changes = _read(spark, path, _CHANGES).select(F.inline("changes"))
    named = F.when(F.size("clauses") > 0, F.col("clauses")).when(
        F.size("clauses") <= 0, F.array(F.lit(""))
    )
    renamed = changes.select(
        "listener",
        F.explode(named).alias("clause"),
        F.col("before").alias("from_release"),
        F.col("since").alias("to_release"),
        "predicted",
        "inputs",
        "shortest",
        F.col("was").alias("before"),
        F.col("became").alias("after"),
    )
    return as_table(renamed, TABLES["release_changes"])


def _read(spark: SparkSession, path: str, schema: StructType) -> DataFrame:
    return spark.read.schema(schema).option("multiLine", True).json(path)
