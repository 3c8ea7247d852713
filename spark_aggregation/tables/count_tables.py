"""Tables of counts: reach of examples, response times, run speed, flaky cells."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from reports.records import NOT_RECORDED, NOTHING
from reports.repeats import middle_and_half
from reports.run_folders.file_contents import CELL
from spark_aggregation.tables.run_selection import COLUMN, of_columns

_DIGITS = 4
_OUTCOMES = {
    "answer": "answered",
    "closed": "closed",
    "ignored": "ignored",
    "silent": "silent",
    NOTHING: "none",
}
"""The column that counts each outcome of an example."""


def coverage(shown: DataFrame, reached: DataFrame) -> DataFrame:
    """Count what the examples of each property reached, without shrinking.

    Args:
        shown: the runs that the grid shows, as `run_selection.shown_runs` returns them.
        reached: as `facts.Facts.reached`, of at least these runs.

    Returns:
        One row per `clause`, `property`, `listener` and `request`, as `Coverage` in `reports.tables` says.
    """
    per_outcome = [
        F.coalesce(F.sum(F.when(F.col("outcome") == outcome, F.col("examples"))), F.lit(0)).alias(name)
        for outcome, name in _OUTCOMES.items()
    ]
    return (
        of_columns(reached, shown)
        .fillna(NOT_RECORDED, "request")
        .groupBy("clause", "property", "listener", "request")
        .agg(
            F.size(F.collect_set("target")).alias("targets"),
            F.sum("examples").alias("examples"),
            *per_outcome,
            F.array_sort(F.collect_set("error_code")).alias("error_codes"),
        )
    )


def latency(shown: DataFrame, latencies: DataFrame) -> DataFrame:
    """Count first responses by latency, without shrinking.

    Args:
        shown: the runs that the grid shows, as `run_selection.shown_runs` returns them.
        latencies: as `facts.Facts.latencies`, of at least these runs.

    Returns:
        One row per `target`, `listener` and `bucket`, as `Latency` in `reports.tables` says.
    """
    timed = latencies.join(shown, on=["run_id", *COLUMN], how="left_semi")
    return timed.groupBy(*COLUMN, F.col("latency_bucket").alias("bucket")).agg(F.sum("examples").alias("examples"))


def speed(headers: DataFrame, cells: DataFrame) -> DataFrame:
    """Compute how fast runs were.

    Args:
        headers: `run_id` and `header` of accepted runs.
        cells: their judged cells.

    Returns:
        One row per run and target, as `Speed` in `reports.tables` says.
    """
    started = F.try_to_timestamp("header.started_at")
    finished = F.try_to_timestamp("header.footer.finished_at")
    targets = headers.select(
        "run_id",
        "header.tier",
        started.alias("started_at"),
        (F.unix_micros(finished) - F.unix_micros(started)).alias("duration_us"),
        F.inline("header.targets"),
    ).withColumnRenamed("id", "target")
    counted = cells.groupBy("run_id", "target").agg(F.sum("examples").alias("examples"))
    duration = F.col("duration_us") / 1e6
    rate = F.when(duration > 0, F.col("examples") / duration)
    return targets.join(counted, on=["run_id", "target"], how="inner").select(
        "run_id",
        "target",
        "tier",
        "launcher",
        "started_at",
        duration.alias("duration_s"),
        "examples",
        F.coalesce(rate, F.lit(0.0)).alias("examples_per_s"),
    )


def flaky_cells(headers: DataFrame) -> DataFrame:
    """Return the flaky cells: their failures were repeated, and did not occur every time.

    Returns:
        One row per run and such cell: `run_id`, `clause`, `target`, `listener`, `failed`, `repeats`.
    """
    cells = headers.select("run_id", F.inline("header.planned_cells"))
    return cells.where("flaky IS NOT NULL").select("run_id", *CELL, "flaky.failed", "flaky.repeats")


def flake_rates(repeated: DataFrame, columns: DataFrame, runs: DataFrame) -> DataFrame:
    """Sum up how often failures occurred again, with the 95 % interval of the rate (Wilson).

    Args:
        repeated: as `flaky_cells` returns them, of all runs.
        columns: with `supplies`; a run that never supplied its column, or was corrected, does not count.
        runs: `run_id` and `kept` of all runs.

    Returns:
        One row per cell that was ever flaky, as `Flakes` in `reports.tables` says.
    """
    counting = columns.where("supplies").join(runs.where("kept").select("run_id"), on="run_id", how="left_semi")
    summed = (
        of_columns(repeated, counting)
        .groupBy(*CELL)
        .agg(
            F.sum("failed").cast("long").alias("failed"),
            F.sum("repeats").cast("long").alias("repeats"),
            F.size(F.collect_set("run_id")).alias("runs"),
        )
    )
    middle, half = middle_and_half(F.col("failed").cast("double"), F.col("repeats").cast("double"))
    low, high = F.greatest(middle - half, F.lit(0.0)), F.least(middle + half, F.lit(1.0))
    rate = F.col("failed") / F.col("repeats")
    return summed.select(
        *CELL,
        "failed",
        "repeats",
        F.round(rate, _DIGITS).alias("rate"),
        F.round(low, _DIGITS).alias("low"),
        F.round(high, _DIGITS).alias("high"),
        "runs",
    )
