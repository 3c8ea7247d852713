"""The verdicts on the planned cells of runs."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reports.records import CELL_RULES, EXAMPLE_VERDICTS, CellFact, Phase, Verdict
from reports.run_folders.file_contents import CELL
from spark_aggregation.reading.run_files import merge_partials

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
