"""The grid: one verdict per clause, target and listener.

Other tables describe its rows and columns.

`columns` decides which run supplies a column.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from reports.records import CELL_RULES, EXAMPLE_VERDICTS, CellFact, Phase, Verdict
from spark_aggregation.reading.file_contents import CELL
from spark_aggregation.reading.run_files import merge_partials
from spark_aggregation.tables.run_selection import COLUMN, of_columns

_COUNTS = tuple(verdict.value for verdict in EXAMPLE_VERDICTS)
_RUN_CELL = ("run_id", *CELL)


def judged_cells(planned: DataFrame, partials: DataFrame) -> DataFrame:
    """Judge every planned cell of every run, including those that no example reached.

    Args:
        planned: as `run_files.planned_cells` returns them.
        partials: partial aggregates of the same runs.

    Returns:
        One row per `run_id`, `clause`, `target` and `listener`: the columns of `table_schemas.JUDGED_CELLS`, and
        `started_at` of the run.
    """
    cells = (
        planned.join(_counts(partials), on=list(_RUN_CELL), how="left")
        .join(_failures(partials), on=list(_RUN_CELL), how="left")
        .fillna(0, subset=["examples", *_COUNTS, "distinct_failures"])
    )
    return cells.select(
        *_RUN_CELL,
        "started_at",
        _cell_verdict().alias("verdict"),
        "applicable",
        "reason",
        "known_violation",
        "examples",
        *_COUNTS,
        "distinct_failures",
        F.coalesce("failures", F.array()).alias("failures"),
    )


def grid_cells(judged: DataFrame, shown: DataFrame, ages: DataFrame) -> DataFrame:
    """Return the cells of the runs that the grid shows.

    Args:
        judged: as `judged_cells` returns them, of at least these runs.
        shown: as `run_selection.shown_runs` returns them.
        ages: as `transitions.cell_ages` returns them.

    Returns:
        One row per `clause`, `target` and `listener`, as `GridCell` in `reports.tables` says.
    """
    return of_columns(judged, shown).join(ages, on=list(CELL), how="left")


def _counts(partials: DataFrame) -> DataFrame:
    generated = partials.where(F.col("phase") == Phase.GENERATE.value)
    per_verdict = [F.sum(F.when(F.col("verdict") == verdict, F.col("examples"))).alias(verdict) for verdict in _COUNTS]
    return generated.groupBy(*_RUN_CELL).agg(F.sum("examples").alias("examples"), *per_verdict)


def _failures(partials: DataFrame) -> DataFrame:
    distinct = merge_partials(
        partials.where("failure_signature IS NOT NULL"),
        [*_RUN_CELL, "failure_signature", "verdict"],
    )
    failure = F.struct(F.col("failure_signature").alias("signature"), "verdict", "smallest_example", "examples")
    return distinct.groupBy(*_RUN_CELL).agg(
        F.count_if(F.col("verdict") == Verdict.VIOLATES.value).alias("distinct_failures"),
        F.array_sort(F.collect_list(failure)).alias("failures"),
    )


def _cell_verdict() -> Column:
    """Return `reports.records.cell_verdict` as a column; a test checks that the two agree on every input."""
    facts = {
        CellFact.APPLICABLE: F.col("applicable"),
        CellFact.JUDGED: F.col("examples") > 0,
        CellFact.VIOLATED: F.col("violates") > 0,
        CellFact.DECLARED: F.col("known_violation") != "",
        CellFact.FLAKY: F.col("flaky").isNotNull(),
        CellFact.UNPROVEN: F.coalesce("unproven", F.lit("")) != "",
        CellFact.INCONCLUSIVE: F.col("inconclusive") > 0,
        CellFact.INFORMATIONAL: F.col("informational") > 0,
    }
    first, *others = [
        (
            reduce(
                Column.__and__,
                (facts[fact] == wanted for fact, wanted in rule.items()),
                F.lit(True),
            ),
            F.lit(verdict.value),
        )
        for rule, verdict in CELL_RULES
    ]
    return reduce(lambda column, rule: column.when(*rule), others, F.when(*first))


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
