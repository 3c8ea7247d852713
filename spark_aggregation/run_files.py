"""Reads what run folders hold: headers, and the rows of their tables.

Nothing read here fails the job. A damaged file loses its rows in silence (`ignoreCorruptFiles`), and the footer's
row counts then say so by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_aggregation.partials import parent, with_folder
from spark_aggregation.schema import ANSWERS, EXAMPLES, EXCHANGES, HEADER


def read_headers(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """Read every `run.json` under `roots`, one row each, readable or not; Spark skips empty files.

    Args:
        spark: the session.
        roots: run folders, or folders of them at any depth; any Hadoop URI.

    Returns:
        `folder`, `text` (the file; empty where it is no UTF-8), `sha256` (of the file), and `header` (the file
        parsed as `schema.HEADER`, with null fields where it does not follow that).
    """
    files = (
        spark.read.format("binaryFile")
        .option("recursiveFileLookup", True)
        .option("pathGlobFilter", "run.json")
        .load(list(roots))
    )
    # The text source would put replacement characters where a file is no UTF-8.
    text = F.coalesce(F.try_validate_utf8(F.col("content").cast("string")), F.lit(""))
    return files.select(
        parent(F.col("_metadata.file_path"), levels=1).alias("folder"),
        text.alias("text"),
        F.sha2("content", 256).alias("sha256"),
        F.from_json(text, HEADER).alias("header"),
    )


def read_examples(
    spark: SparkSession, roots: Sequence[str], without: Sequence[str] = ()
) -> DataFrame:
    """Read every example row under `roots`: `file` (its URI) and the columns of `schema.EXAMPLES`.

    Args:
        spark: the session.
        roots: run folders, or folders of them at any depth; any Hadoop URI.
        without: run folders that are left out, as `read_headers` names them.
    """
    return _read_rows(spark, roots, "examples", EXAMPLES, without)


def read_exchanges(
    spark: SparkSession, roots: Sequence[str], without: Sequence[str] = ()
) -> DataFrame:
    """Read every exchange row under `roots`, as `read_examples` does: the columns of `schema.EXCHANGES`."""
    return _read_rows(spark, roots, "exchanges", EXCHANGES, without)


def read_answers(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """Read every answer under `roots`, as `read_examples` does: the columns of `schema.ANSWERS`."""
    return _read_rows(spark, roots, "answers", ANSWERS, ())


def count_exchanges(exchanges: DataFrame) -> DataFrame:
    """Count exchange rows: `folder`, `exchange_rows`; no row where there are none."""
    per_file = exchanges.groupBy("file").agg(F.count("step").alias("exchange_rows"))
    return (
        with_folder(per_file).groupBy("folder").agg(F.sum("exchange_rows").alias("exchange_rows"))
    )


def _read_rows(
    spark: SparkSession,
    roots: Sequence[str],
    table: str,
    schema: StructType,
    without: Sequence[str],
) -> DataFrame:
    path = F.col("_metadata.file_path")
    rows = (
        spark.read.option("recursiveFileLookup", True)
        .option("pathGlobFilter", "*.parquet")
        .option("ignoreCorruptFiles", True)
        .schema(schema)
        .parquet(*roots)
        .where(F.substring_index(path, "/", -2).startswith(f"{table}/"))
    )
    if without:
        rows = rows.where(~parent(path, levels=2).isin(list(without)))
    return rows.select(path.alias("file"), *schema.fieldNames())
