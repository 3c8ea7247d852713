"""Mergeable partial aggregates: what is left of 10^8 example rows after one pass.

The long form is kept on purpose. Counts, the latency histogram, the days a failure was seen and its
smallest example are all sums, minima and maxima over the same few rows, so merging two nights is one
`groupBy`, and what a grid shows is read off afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

CELL = ("clause", "target", "listener")

PARTIAL_KEYS = (
    "folder",
    "run_id",
    "run_date",
    *CELL,
    "phase",
    "verdict",
    "failure_signature",
    "latency_bucket",
)


def partial_aggregates(examples: DataFrame) -> DataFrame:
    """Fold example rows, one shuffle for all that the roll-up ever asks of them.

    Args:
        examples: `folder` and the columns of `schema.EXAMPLES`.

    Returns:
        One row per distinct `PARTIAL_KEYS`, with `examples` (how many), `smallest_example` (the lowest
        example number), `first_seen` and `last_seen` (run dates).
    """
    single = examples.select(
        *PARTIAL_KEYS,
        F.lit(1).cast("long").alias("examples"),
        F.col("example_number").alias("smallest_example"),
        F.col("run_date").alias("first_seen"),
        F.col("run_date").alias("last_seen"),
    )
    return merge_partials(single, PARTIAL_KEYS)


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
