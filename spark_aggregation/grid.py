"""The grid: one verdict per clause, target and listener, and what stands around it.

Where several runs hold the same target, its latest run gives the whole column, never a mixture: by
start, then by run id.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from reports.records import EXAMPLE_VERDICTS, Phase, Verdict
from spark_aggregation.partials import CELL, merge_partials

_COUNTS = tuple(verdict.value for verdict in EXAMPLE_VERDICTS)


def latest_runs(planned: DataFrame) -> DataFrame:
    """Choose the run that speaks for each target and listener.

    Args:
        planned: as `ingest.planned_cells` gives them.

    Returns:
        One row per target and listener: `target`, `listener`, `folder`.
    """
    newest = F.max(F.struct("started_at", "run_id", "folder")).alias("newest")
    return (
        planned.groupBy("target", "listener")
        .agg(newest)
        .select("target", "listener", F.col("newest.folder").alias("folder"))
    )


def grid_cells(planned: DataFrame, latest: DataFrame, partials: DataFrame) -> DataFrame:
    """Judge every planned cell of the latest runs, also those that no example reached.

    Args:
        planned: as `ingest.planned_cells` gives them.
        latest: as `latest_runs` gives them.
        partials: partial aggregates of accepted runs.

    Returns:
        One row per `clause`, `target` and `listener`: `run_id`, `verdict`, `applicable`, `reason`,
        `known_violation`; how many examples were judged (`examples`) and with what verdict (`conforms`,
        `violates`, `informational`, `inconclusive`), shrinking left out; `distinct_failures`, and
        `failures`, an array of (signature, smallest_example, examples) by signature.
    """
    keys = ["folder", *CELL]
    cells = (
        planned.join(latest, on=["folder", "target", "listener"], how="left_semi")
        .join(_counts(partials), on=keys, how="left")
        .join(_failures(partials), on=keys, how="left")
        .fillna(0, subset=["examples", *_COUNTS, "distinct_failures"])
    )
    return cells.select(
        *CELL,
        "run_id",
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
    per_verdict = [
        F.sum(F.when(F.col("verdict") == verdict, F.col("examples"))).alias(verdict)
        for verdict in _COUNTS
    ]
    return generated.groupBy("folder", *CELL).agg(F.sum("examples").alias("examples"), *per_verdict)


def _failures(partials: DataFrame) -> DataFrame:
    keys = ["folder", *CELL]
    distinct = merge_partials(
        partials.where("failure_signature IS NOT NULL"), [*keys, "failure_signature"]
    )
    failure = F.struct(
        F.col("failure_signature").alias("signature"), "smallest_example", "examples"
    )
    return distinct.groupBy(*keys).agg(
        F.count("failure_signature").alias("distinct_failures"),
        F.array_sort(F.collect_list(failure)).alias("failures"),
    )


def _cell_verdict() -> Column:
    """`reports.records.cell_verdict` as a column; a test holds the two equal on every input."""
    violated, declared = F.col("violates") > 0, F.col("known_violation") != ""
    rules = [
        (~F.col("applicable"), Verdict.NOT_APPLICABLE),
        (F.col("examples") == 0, Verdict.NOT_RUN),
        (violated & declared, Verdict.KNOWN_VIOLATION),
        (violated & F.col("flaky").isNotNull(), Verdict.FLAKY),
        (violated, Verdict.VIOLATES),
        (F.col("inconclusive") > 0, Verdict.INCONCLUSIVE),
        (declared, Verdict.UNEXPECTED_PASS),
        (F.col("informational") > 0, Verdict.INFORMATIONAL),
        (F.col("conforms") > 0, Verdict.CONFORMS),
    ]
    first, *others = [(condition, F.lit(verdict.value)) for condition, verdict in rules]
    return reduce(lambda column, rule: column.when(*rule), others, F.when(*first))


def grid_targets(headers: DataFrame, latest: DataFrame) -> DataFrame:
    """Describe the grid's columns.

    Returns:
        One row per `target` and `listener`: `implementation`, `release`, `release_order` (the release's
        leading numbers, an array that sorts as releases do), `launcher`, `artefacts` (name to SHA-256),
        `run_id`, `started_at`.
    """
    described = headers.select(
        "folder",
        F.col("header.run_id").alias("run_id"),
        F.try_to_timestamp("header.started_at").alias("started_at"),
        F.inline("header.targets"),
    ).withColumnRenamed("id", "target")
    return latest.join(described, on=["folder", "target"], how="inner").select(
        "target",
        "listener",
        "implementation",
        "release",
        release_order("release").alias("release_order"),
        "launcher",
        "artefacts",
        "run_id",
        "started_at",
    )


def release_order(release: str) -> Column:
    """Turn a column of dotted releases into arrays that sort as the releases do: 2.10 after 2.9.

    What follows the leading numbers ("-rc1") is left out; a release without any sorts first.
    """
    numbers = F.split(F.regexp_extract(release, r"^[0-9]+(\.[0-9]+)*", 0), r"\.")
    return F.filter(
        F.transform(numbers, lambda number: number.try_cast("int")),
        lambda number: number.isNotNull(),
    )


def grid_clauses(headers: DataFrame, latest: DataFrame) -> DataFrame:
    """Describe the grid's rows, each clause as the latest run that knows it states it.

    Returns:
        One row per clause: `clause`, `position` (place in that run's catalogue, from 0), `role`, `level`,
        `source`, `statement`, `location`, `meaning`.
    """
    stated = headers.join(latest, on="folder", how="left_semi").select(
        F.try_to_timestamp("header.started_at").alias("started_at"),
        F.col("header.run_id").alias("run_id"),
        F.posexplode("header.clauses").alias("position", "clause"),
    )
    newest = F.max_by(F.struct("position", "clause"), F.struct("started_at", "run_id"))
    return (
        stated.groupBy("clause.id")
        .agg(newest.alias("newest"))
        .select("newest.position", "newest.clause.*")
        .withColumnRenamed("id", "clause")
    )


def grid_runs(headers: DataFrame, latest: DataFrame) -> DataFrame:
    """Describe the runs that were accepted, whether or not a column comes from them.

    Returns:
        One row per run: `run_id`, `folder`, `in_grid` (whether it is some column's latest), `started_at`,
        `finished_at`, `exit_status`, `example_rows`, `exchange_rows`, `tier`, `seed`,
        `suite_version`, `suite_commit`, `catalogue_sha256`, `python`, `hypothesis`, `system`, `machine`,
        `cpus`.
    """
    winners = latest.select("folder", F.lit(True).alias("in_grid")).distinct()
    return headers.join(winners, on="folder", how="left").select(
        "header.run_id",
        "folder",
        F.coalesce("in_grid", F.lit(False)).alias("in_grid"),
        F.try_to_timestamp("header.started_at").alias("started_at"),
        F.try_to_timestamp("header.footer.finished_at").alias("finished_at"),
        "header.footer.exit_status",
        "header.footer.example_rows",
        "header.footer.exchange_rows",
        "header.tier",
        "header.seed",
        F.col("header.suite.version").alias("suite_version"),
        F.col("header.suite.commit").alias("suite_commit"),
        "header.suite.catalogue_sha256",
        "header.suite.python",
        "header.suite.hypothesis",
        "header.host.system",
        "header.host.machine",
        "header.host.cpus",
    )
