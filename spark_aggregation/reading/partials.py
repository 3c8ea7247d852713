"""Mergeable partial aggregates: what is left of 10^8 example rows after one pass.

The long form is intentional. Counts, the days on which a failure was seen and its smallest example are sums, minima and
maxima over the same few rows. Merging two nights is therefore one `groupBy`, and what a grid shows is derived later.
What examples reached is counted separately, per cell, and so are latencies, per column of the grid. As further keys
here they would turn one row into three and ten rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_aggregation.reading import file_contents

PARTIAL_KEYS = ("folder", *file_contents.PARTIAL_KEYS)


def partial_aggregates(contents: DataFrame) -> DataFrame:
    """Merge the partial aggregates of single files.

    Args:
        contents: as `run_files.read_tables` returns them.

    Returns:
        One row per distinct `PARTIAL_KEYS`, with `examples` (how many), `smallest_example` (the lowest
        example number), `first_seen` and `last_seen` (run dates).
    """
    per_file = contents.select("folder", F.inline("partials"))
    days = {"first_seen": F.col("run_date"), "last_seen": F.col("run_date")}
    return merge_partials(per_file.withColumns(days), PARTIAL_KEYS)


def counted_apart(contents: DataFrame, name: str) -> DataFrame:
    """Merge the other counts of single files.

    Args:
        contents: as `run_files.read_tables` returns them.
        name: which counts: `reached` or `latencies`.

    Returns:
        One row per `folder` and distinct keys of these counts (see `file_contents`), with `examples`.
    """
    per_file = contents.select("folder", F.inline(name))
    keys = [column for column in per_file.columns if column != "examples"]
    return per_file.groupBy(*keys).agg(F.sum("examples").alias("examples"))


def merge_partials(partials: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Merge partial aggregates to a coarser grain, in any order and any number of steps.

    Args:
        partials: the union of the aggregates to merge.
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


def parent(path: Column, *, levels: int) -> Column:
    """Cut the last `levels` names off a path."""
    return path.substr(
        F.lit(1), F.length(path) - F.length(F.substring_index(path, "/", -levels)) - 1
    )
