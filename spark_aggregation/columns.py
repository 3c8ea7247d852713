"""Which run gives a column of the grid: the one place of this rule.

A column is one listener of one target in one role: a release is judged as a broker by some runs, and by others client
operations are tried on it. A run is about one role, that of its clauses. Runs are ranked by class: a whole run before a partial one (`whole` is
false where a part was chosen), and among equals a run of the standard or deep tier before any other. Then:

1. A run gives its column unless a run of a higher class started in the 14 days before it. A part, or a smoke
   run, so never displaces a whole standard run that is not older than that.
2. The newest run that gives a column is the one that the grid shows, by start and then by run id; it gives the
   whole column, never a mixture.
3. A run that a later one names in `corrects` gives no column that the later one planned too.

All three look at starts alone, not at the order in which runs were taken in: late runs and corrections come to
the same as if they had been there from the beginning.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

STANDING_DAYS = 14
_FULL_TIERS = ("standard", "deep")
_WHOLE, _FULL = 2, 1
_SECONDS_PER_DAY = 86_400
COLUMN = ("target", "listener")
"""What names a column inside a run."""
_ROLE_COLUMN = (*COLUMN, "role")


def columns_of_runs(headers: DataFrame) -> DataFrame:
    """Give the columns that runs planned.

    Args:
        headers: `run_id` and `header` of accepted runs.

    Returns:
        One row per run and column: `run_id`, `target`, `listener`, `role`, `started_at` (timestamp), `run_class`,
        `corrects` (run id or null).
    """
    whole = F.when(F.coalesce("header.whole", F.lit(True)), _WHOLE)
    full = F.when(F.col("header.tier").isin(*_FULL_TIERS), _FULL)
    return headers.select(
        "run_id",
        F.try_to_timestamp("header.started_at").alias("started_at"),
        (F.coalesce(whole, F.lit(0)) + F.coalesce(full, F.lit(0))).alias("run_class"),
        "header.corrects",
        F.get("header.clauses.role", F.lit(0)).alias("role"),
        F.inline(F.array_distinct(_planned_columns())),
    ).select("run_id", *_ROLE_COLUMN, "started_at", "run_class", "corrects")


def _planned_columns() -> Column:
    return F.expr("transform(header.planned_cells, cell -> struct(cell.target, cell.listener))")


def giving_columns(columns: DataFrame, *, since: int | None = None) -> DataFrame:
    """Say which runs give their columns, now or in the past.

    Args:
        columns: as `columns_of_runs` gives them, of all runs ever; further columns stay.
        since: where nothing is new of runs that started before it (seconds since 1970): they keep what they `gave`,
            so that a night costs the same however long the history is. None where all are looked at.

    Returns:
        The same rows with `gives`.
    """
    if since is None:
        return _with_gives(columns)
    started = F.unix_seconds("started_at")
    unchanged = columns.where(started < since).withColumn("gives", F.col("gave"))
    recent = columns.where(started >= since - STANDING_DAYS * _SECONDS_PER_DAY)
    return unchanged.unionByName(_with_gives(recent).where(started >= since))


def _with_gives(columns: DataFrame) -> DataFrame:
    seconds = F.unix_seconds("started_at")
    before = (
        Window.partitionBy(*_ROLE_COLUMN)
        .orderBy(seconds)
        .rangeBetween(-STANDING_DAYS * _SECONDS_PER_DAY, Window.currentRow)
    )
    valid = F.when(~F.col("withdrawn"), F.col("run_class"))
    return (
        columns.join(_withdrawn(columns), on=["run_id", *_ROLE_COLUMN], how="left")
        .withColumn("withdrawn", F.coalesce("withdrawn", F.lit(False)))
        .withColumn("highest", F.max(valid).over(before))
        .withColumn("gives", ~F.col("withdrawn") & (F.col("run_class") >= F.col("highest")))
        .drop("withdrawn", "highest")
    )


def _withdrawn(columns: DataFrame) -> DataFrame:
    """One row per run and column that a later run corrects."""
    corrections = columns.where("corrects IS NOT NULL").select(
        F.col("corrects").alias("run_id"),
        *_ROLE_COLUMN,
        F.struct("started_at", "run_id").alias("corrected_at"),
    )
    latest = corrections.groupBy("run_id", *_ROLE_COLUMN).agg(
        F.max("corrected_at").alias("corrected_at")
    )
    place = F.struct("started_at", "run_id")
    return (
        columns.join(latest, on=["run_id", *_ROLE_COLUMN], how="inner")
        .where(place < F.col("corrected_at"))
        .select("run_id", *_ROLE_COLUMN, F.lit(True).alias("withdrawn"))
    )


def shown_runs(columns: DataFrame, runs: DataFrame) -> DataFrame:
    """Choose the run that the grid shows in each column.

    Args:
        columns: with `gives`, as `giving_columns` gives them.
        runs: `run_id` and `kept` of all runs; a column whose run is not kept any more leaves the grid.

    Returns:
        One row per column: `target`, `listener`, `role`, `run_id`.
    """
    newest = F.max(F.struct("started_at", "run_id")).alias("newest")
    return (
        columns.where("gives")
        .groupBy(*_ROLE_COLUMN)
        .agg(newest)
        .select(*_ROLE_COLUMN, "newest.run_id")
        .join(runs.where("kept").select("run_id"), on="run_id", how="left_semi")
        .select(*_ROLE_COLUMN, "run_id")
    )
