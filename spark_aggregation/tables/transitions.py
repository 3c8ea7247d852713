"""Transitions of cells: how their verdicts changed over time.

Only the runs that supplied a cell's column count.

The transitions of a nightly run are appended to the known ones, because a cell's last transition contains its previous
verdict. All transitions of a column are computed again only if one of its runs arrives late or is corrected.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reports.records import TRANSITION_RULES, TransitionKind
from reports.run_folders.file_contents import CELL
from spark_aggregation.tables.run_selection import COLUMN


def transitions_between(cells: DataFrame) -> DataFrame:
    """Find the runs in which the verdict of a cell changes.

    Args:
        cells: `clause`, `target`, `listener`, `run_id`, `started_at` and `verdict` of each run that supplied the
            cell's column.

    Returns:
        One row per change, and one for the first verdict of each cell, as `Transition` in `reports.tables` says.
    """
    in_time = Window.partitionBy(*CELL).orderBy("started_at", "run_id")
    with_before = cells.select(
        *CELL,
        F.col("started_at").alias("at"),
        "run_id",
        F.lag("verdict").over(in_time).alias("from_verdict"),
        F.col("verdict").alias("to_verdict"),
    )
    changed = with_before.where(~F.col("from_verdict").eqNullSafe(F.col("to_verdict")))
    return changed.withColumn("kind", _kind())


def _kind() -> Column:
    """Return `reports.records.transition_kind` as a column; a cell's first verdict has appeared."""
    was, is_now = F.col("from_verdict"), F.col("to_verdict")
    rules = [(was.isin(*before) & is_now.isin(*after), F.lit(kind.value)) for before, after, kind in TRANSITION_RULES]
    first = F.when(was.isNull(), TransitionKind.APPEARED.value)
    return reduce(lambda column, rule: column.when(*rule), rules, first)


def reopened_columns(columns: DataFrame) -> DataFrame:
    """Find the columns whose past changed, because a run arrived late or no longer supplies its column.

    Args:
        columns: with `supplies`, and with `supplied_before`: its value before the new runs arrived, null for the new
            runs.

    Returns:
        `target` and `listener`, one row per column.
    """
    moment = F.struct("started_at", "run_id")
    supplied_before, is_new = F.col("supplied_before"), F.col("supplied_before").isNull()
    per_column = columns.groupBy(*COLUMN).agg(
        F.max(F.when(supplied_before, moment)).alias("newest_known"),
        F.min(F.when(is_new & F.col("supplies"), moment)).alias("oldest_new"),
        F.max(supplied_before != F.col("supplies")).alias("changed"),
    )
    late = F.col("oldest_new") < F.col("newest_known")
    return per_column.where(F.coalesce("changed", F.lit(False)) | F.coalesce(late, F.lit(False))).select(*COLUMN)


def append_transitions(known: DataFrame, new_cells: DataFrame) -> DataFrame:
    """Return the transitions that newer runs add.

    Args:
        known: the transitions so far.
        new_cells: as for `transitions_between`, each newer than every known run of its column.
    """
    last = F.max(F.struct("at", "run_id", "to_verdict")).alias("last")
    anchors = (
        known.groupBy(*CELL)
        .agg(last)
        .select(
            *CELL,
            "last.run_id",
            F.col("last.at").alias("started_at"),
            F.col("last.to_verdict").alias("verdict"),
        )
    )
    both = anchors.unionByName(new_cells.select(anchors.columns))
    return transitions_between(both).join(new_cells.select(*CELL, "run_id"), on=[*CELL, "run_id"], how="left_semi")


def cell_ages(transitions: DataFrame) -> DataFrame:
    """Find out when each cell first appeared, and since when it has had its current verdict.

    Returns:
        One row per cell: `clause`, `target`, `listener`, `first_seen`, `last_changed`, `previous_verdict`.
    """
    moment = F.struct("at", "run_id")
    return transitions.groupBy(*CELL).agg(
        F.min("at").alias("first_seen"),
        F.max("at").alias("last_changed"),
        F.max_by("from_verdict", moment).alias("previous_verdict"),
    )
