"""The grid's tables: its cells, rows, columns and runs, and the steps of releases.

`run_selection` decides which run supplies a column.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reports.run_folders.file_contents import CELL
from spark_aggregation.tables.run_selection import COLUMN, of_columns


def grid_cells(judged: DataFrame, shown: DataFrame, ages: DataFrame) -> DataFrame:
    """Return the cells of the runs that the grid shows.

    Args:
        judged: as `judged_cells.judged_cells` returns them, of at least these runs.
        shown: as `run_selection.shown_runs` returns them.
        ages: as `transitions.cell_ages` returns them.

    Returns:
        One row per `clause`, `target` and `listener`, as `GridCell` in `reports.tables` says.
    """
    return of_columns(judged, shown).join(ages, on=list(CELL), how="left")


def grid_targets(headers: DataFrame, shown: DataFrame) -> DataFrame:
    """Describe the grid's columns.

    Args:
        headers: `run_id` and `header` of at least the runs that the grid shows.
        shown: as `run_selection.shown_runs` returns them.

    Returns:
        One row per `target`, `listener` and `role`, by the newest of its runs, as `GridTarget` in `reports.tables`
        says.
    """
    described = headers.select(
        "run_id",
        F.try_to_timestamp("header.started_at").alias("started_at"),
        F.inline("header.targets"),
    ).withColumnRenamed("id", "target")
    facts = [name for name in described.columns if name not in ("run_id", "target", "started_at")]
    newest = F.max_by(F.struct("run_id", "started_at", *facts), F.struct("started_at", "run_id"))
    return (
        shown.join(described, on=["run_id", "target"], how="inner")
        .groupBy(*COLUMN, "role")
        .agg(newest.alias("newest"))
        .select(*COLUMN, "role", "newest.*")
        .withColumn("release_order", release_order("release"))
    )


def release_order(release: str) -> Column:
    """Turn a column of dotted releases into arrays that sort as the releases do: 2.10 after 2.9.

    Anything after the leading numbers ("-rc1") is ignored. A release without leading numbers sorts first.
    """
    numbers = f"split(regexp_extract({release}, '^[0-9]+([.][0-9]+)*', 0), '[.]')"
    return F.expr(f"array_compact(transform({numbers}, number -> try_cast(number AS INT)))")


def grid_clauses(headers: DataFrame, shown: DataFrame) -> DataFrame:
    """Describe the grid's rows: each clause as stated by the newest run of the grid that has it.

    Returns:
        One row per clause, as `GridClause` in `reports.tables` says.
    """
    stated = headers.join(shown, on="run_id", how="left_semi").select(
        "run_id",
        F.try_to_timestamp("header.started_at").alias("started_at"),
        F.posexplode("header.clauses").alias("position", "clause"),
    )
    newest = F.max_by(F.struct("position", "clause"), F.struct("started_at", "run_id"))
    return (
        stated.groupBy("clause.id")
        .agg(newest.alias("newest"))
        .select("newest.position", "newest.clause.*")
        .withColumnRenamed("id", "clause")
    )


def release_steps(cells: DataFrame, targets: DataFrame) -> DataFrame:
    """Find the steps between adjacent releases at which the verdict in the grid differs.

    If a release has several targets, such as one with and one without ZooKeeper, the first by id represents it.

    Args:
        cells: as `grid_cells` returns them.
        targets: as `grid_targets` returns them.

    Returns:
        One row per `clause`, `implementation`, `listener` and such step, as `ReleaseStep` in `reports.tables` says.
    """
    described = targets.select(*COLUMN, "implementation", "release", "release_order").distinct()
    group = ("clause", "implementation", "listener")
    by_release = Window.partitionBy(*group).orderBy("release_order", "release", "target")
    variant = F.row_number().over(Window.partitionBy(*group, "release").orderBy("target"))
    releases = cells.join(described, on=list(COLUMN), how="inner").withColumn("variant", variant).where("variant = 1")
    steps = releases.select(
        *group,
        F.lag("target").over(by_release).alias("from_target"),
        F.col("target").alias("to_target"),
        F.lag("verdict").over(by_release).alias("from_verdict"),
        F.col("verdict").alias("to_verdict"),
    )
    return steps.where(F.col("from_verdict") != F.col("to_verdict"))


def grid_runs(runs: DataFrame, shown: DataFrame) -> DataFrame:
    """Describe the kept runs, whether or not they supply a column.

    Args:
        runs: as `facts.describe_runs` returns them, with `kept`.
        shown: as `run_selection.shown_runs` returns them.

    Returns:
        One row per kept run, with `in_grid`: whether the grid shows it in a column.
    """
    in_grid = shown.select("run_id", F.lit(True).alias("in_grid")).distinct()
    return (
        runs.where("kept")
        .join(in_grid, on="run_id", how="left")
        .withColumn("in_grid", F.coalesce("in_grid", F.lit(False)))
    )
