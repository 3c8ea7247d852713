"""Mergeable partial aggregates: what is left of 10^8 example rows after one pass.

The long form is kept on purpose. Counts, the latency histogram, the days a failure was seen and its
smallest example are all sums, minima and maxima over the same few rows, so merging two nights is one
`groupBy`, and what a grid shows is read off afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

CELL = ("clause", "target", "listener")

_ROW_KEYS = (
    "run_id",
    "run_date",
    *CELL,
    "property",
    "phase",
    "outcome",
    "error_code",
    "verdict",
    "failure_signature",
    "latency_bucket",
)
PARTIAL_KEYS = ("folder", *_ROW_KEYS)


def partial_aggregates(examples: DataFrame) -> DataFrame:
    """Fold example rows, in one pass for all that the roll-up ever asks of them.

    Args:
        examples: as `ingest.read_examples` gives them.

    Returns:
        One row per distinct `PARTIAL_KEYS`, with `examples` (how many), `smallest_example` (the lowest
        example number), `first_seen` and `last_seen` (run dates).
    """
    per_file = examples.groupBy("file", *_ROW_KEYS).agg(
        F.count(F.lit(1)).alias("examples"),
        F.min("example_number").alias("smallest_example"),
    )
    days = {"first_seen": F.col("run_date"), "last_seen": F.col("run_date")}
    return merge_partials(with_folder(per_file).withColumns(days), PARTIAL_KEYS)


def merge_partials(partials: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Merge partial aggregates to a coarser grain, in any order and any number of steps.

    Args:
        partials: the union of what is to be merged.
        keys: columns of the new grain, among `PARTIAL_KEYS`.

    Returns:
        One row per distinct `keys`, with the measures of `partial_aggregates`.
    """
    return partials.groupBy(*keys).agg(
        F.sum("examples").alias("examples"),
        F.min("smallest_example").alias("smallest_example"),
        F.min("first_seen").alias("first_seen"),
        F.max("last_seen").alias("last_seen"),
    )


def with_folder(rows: DataFrame) -> DataFrame:
    """Replace `file`, the URI of a row's Parquet file, by `folder`, that of its run.

    For rows that are aggregated already: on 10^8 of them this would cost more than the aggregation.
    """
    return rows.withColumn("file", parent(F.col("file"), levels=2)).withColumnRenamed(
        "file", "folder"
    )


def parent(path: Column, *, levels: int) -> Column:
    """Cut the last `levels` names off a path."""
    return path.substr(
        F.lit(1), F.length(path) - F.length(F.substring_index(path, "/", -levels)) - 1
    )
