"""The rule that decides which run supplies a column of the grid.

No other module repeats the rule.

A column is one listener of one target in one role. Some runs judge a release as a broker; others try client operations
on it. Each run has one role, that of its clauses. Operations have a column per client as well: a run that tries other
clients on the same release adds to the grid and replaces nothing. Runs are ranked by class. A complete run ranks above
a partial one (`whole` is false if only a part was selected); among equals, a run of the standard or deep tier ranks
above any other. Then:

1. A run supplies its column unless a run of a higher class started in the 14 days before it. A partial run or a
   smoke run therefore never displaces a complete standard run that is at most 14 days old.
2. The grid shows the newest run that supplies a column, by start and then by run id. This run supplies the
   entire column; runs are never mixed.
   A run that its owner has judged ranks below every other, and among its equals as above.
3. If a later run names a run in `corrects`, the earlier run supplies none of the columns that both planned.

All three rules look only at start times, not at the order in which runs were added. Late runs and corrections
therefore have the same effect as if they had been there from the beginning.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from clauses.tiers import Tier
from reports.records import OPERATION
from spark_aggregation.reading.checked_folders import is_judged_by_owner

STANDING_DAYS = 14
_FULL_TIERS = (Tier.STANDARD, Tier.DEEP)
_WHOLE, _FULL, _BY_OWNER = 2, 1, -4
_SECONDS_PER_DAY = 86_400
COLUMN = ("target", "listener")
"""Key of a column within a run, except for the client of operations."""
_KEY = (*COLUMN, "role", "client")
_CLIENT = "regexp_replace({clause}, '[.][^.]*$', '')"
"""The row of an operation is named CLIENT.OPERATION."""


def columns_of_runs(headers: DataFrame) -> DataFrame:
    """Return the columns that runs planned.

    Args:
        headers: `run_id` and `header` of accepted runs.

    Returns:
        One row per run and column: `run_id`, `target`, `listener`, `role`, `client` (of operations; empty for other
        roles), `started_at` (timestamp), `run_class`, `corrects` (run id or null).
    """
    whole = F.when(F.coalesce("header.whole", F.lit(True)), _WHOLE)
    by_owner = F.when(is_judged_by_owner(), _BY_OWNER)
    full = F.when(F.col("header.tier").isin(*_FULL_TIERS), _FULL)
    return headers.select(
        "run_id",
        F.try_to_timestamp("header.started_at").alias("started_at"),
        (F.coalesce(whole, F.lit(0)) + F.coalesce(full, F.lit(0)) + F.coalesce(by_owner, F.lit(0))).alias("run_class"),
        "header.corrects",
        F.get("header.clauses.role", F.lit(0)).alias("role"),
        F.inline(F.array_distinct(_planned_columns())),
    ).select("run_id", *_KEY, "started_at", "run_class", "corrects")


def _planned_columns() -> Column:
    is_operation = f"get(header.clauses.role, 0) = '{OPERATION}'"
    client = f"if({is_operation}, {_CLIENT.format(clause='cell.clause')}, '')"
    return F.expr(f"transform(header.planned_cells, cell -> struct(cell.target, cell.listener, {client} AS client))")


def of_columns(rows: DataFrame, columns: DataFrame) -> DataFrame:
    """Keep the rows whose run supplies their column.

    Args:
        rows: `run_id`, `clause`, `target` and `listener`; further columns stay.
        columns: `run_id`, `target`, `listener` and `client` of the columns that runs supply.
    """
    supplied = columns.select("run_id", *COLUMN, "client").alias("supplied")
    same = " AND ".join(f"judged.{name} = supplied.{name}" for name in ("run_id", *COLUMN))
    client = f"supplied.client IN ('', {_CLIENT.format(clause='judged.clause')})"
    return rows.alias("judged").join(supplied, on=F.expr(f"{same} AND {client}"), how="left_semi")


def supplying_columns(columns: DataFrame, *, since: int | None = None) -> DataFrame:
    """Mark the runs that supply their columns, or supplied them until a newer run did.

    Args:
        columns: as `columns_of_runs` returns them, of all runs ever; further columns stay.
        since: start time in seconds since 1970; nothing changed for runs that started before it, so their `supplies` is
            their `supplied_before`, and a night costs the same however long the history is. None to look at all runs.

    Returns:
        The same rows with `supplies`: whether the run supplies the column.
    """
    if since is None:
        return _with_supplies(columns)
    started = F.unix_seconds("started_at")
    unchanged = columns.where(started < since).withColumn("supplies", F.col("supplied_before"))
    recent = columns.where(started >= since - STANDING_DAYS * _SECONDS_PER_DAY)
    return unchanged.unionByName(_with_supplies(recent).where(started >= since))


def _with_supplies(columns: DataFrame) -> DataFrame:
    seconds = F.unix_seconds("started_at")
    before = (
        Window.partitionBy(*_KEY).orderBy(seconds).rangeBetween(-STANDING_DAYS * _SECONDS_PER_DAY, Window.currentRow)
    )
    valid = F.when(~F.col("withdrawn"), F.col("run_class"))
    return (
        columns.join(_withdrawn(columns), on=["run_id", *_KEY], how="left")
        .withColumn("withdrawn", F.coalesce("withdrawn", F.lit(False)))
        .withColumn("highest", F.max(valid).over(before))
        .withColumn("supplies", ~F.col("withdrawn") & (F.col("run_class") >= F.col("highest")))
        .drop("withdrawn", "highest")
    )


def _withdrawn(columns: DataFrame) -> DataFrame:
    """Return one row per run and column that a later run corrects."""
    corrections = columns.where("corrects IS NOT NULL").select(
        F.col("corrects").alias("run_id"),
        *_KEY,
        F.struct("started_at", "run_id").alias("corrected_at"),
    )
    latest = corrections.groupBy("run_id", *_KEY).agg(F.max("corrected_at").alias("corrected_at"))
    moment = F.struct("started_at", "run_id")
    return (
        columns.join(latest, on=["run_id", *_KEY], how="inner")
        .where(moment < F.col("corrected_at"))
        .select("run_id", *_KEY, F.lit(True).alias("withdrawn"))
    )


def shown_runs(columns: DataFrame, runs: DataFrame) -> DataFrame:
    """Choose the run that the grid shows in each column.

    Args:
        columns: with `supplies`, as `supplying_columns` returns them.
        runs: `run_id` and `kept` of all runs; a column leaves the grid when its run is no longer kept.

    Returns:
        One row per column: `target`, `listener`, `role`, `client`, `run_id`.
    """
    newest = F.max(F.struct("started_at", "run_id")).alias("newest")
    return (
        columns.where("supplies")
        .groupBy(*_KEY)
        .agg(newest)
        .select(*_KEY, "newest.run_id")
        .join(runs.where("kept").select("run_id"), on="run_id", how="left_semi")
        .select(*_KEY, "run_id")
    )
