"""From run folders to headers and example rows, and which folders are refused.

Two rules:

1. A folder counts whole or not at all. One wrong row, one row too few, and none of its rows reaches a
   cell; it is listed with the reason instead. A copy of a run that counts already is left out and not listed:
   it has the same `run.json` to the byte.
2. Nothing that is wrong with a folder fails the job; see `run_files`.

`reports.run_folder` applies the same rule to a single local folder, by the published JSON Schema; a test
holds the two equal. Two things are laxer here: Spark reads a number where the schema wants a string, and it
does not look at columns that no aggregate needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from reports.records import EXAMPLE_VERDICTS, RECORD_SCHEMA_VERSION, Phase, Refusal
from spark_aggregation.evidence import read_failures
from spark_aggregation.frames import settled
from spark_aggregation.partials import partial_aggregates, with_folder
from spark_aggregation.run_files import (
    count_exchanges,
    read_examples,
    read_exchanges,
    read_headers,
)
from spark_aggregation.schema import EXAMPLES, HEADER, is_incomplete

RUN_ID_PATTERN = "^[0-9A-Za-z][0-9A-Za-z.-]*$"
INSTANT_PATTERN = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
    "(Z|[+-][0-9]{2}:[0-9]{2})$"
)
_CELL = ("folder", "clause", "target", "listener")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What was read of run folders.

    Attributes:
        headers: as `read_headers` gives them, without those of runs that are known.
        accepted: those of runs that count.
        refused: as `refusals` gives them, without copies.
        partials: partial aggregates of all rows, also of refused folders.
        examples: example rows with `folder`.
        exchanges: exchange rows with `folder`.
        failures: as `evidence.read_failures` gives them.
        known_again: whether a run that is known was given again.
    """

    headers: DataFrame
    accepted: DataFrame
    refused: DataFrame
    partials: DataFrame
    examples: DataFrame
    exchanges: DataFrame
    failures: DataFrame
    known_again: bool


def ingest(spark: SparkSession, roots: Sequence[str], known: DataFrame) -> Ingested:
    """Read run folders, and say which of them count.

    Args:
        spark: the session.
        roots: run folders, or folders of them at any depth; any Hadoop URI.
        known: runs that count already: `run_id`, `known_folder`, `known_sha256`. What is given of them
            again is not read.
    """
    found = settled(read_headers(spark, roots))
    same = (F.col("run_id") == F.col("header.run_id")) & (F.col("known_sha256") == F.col("sha256"))
    headers = found.join(known, on=same, how="left_anti")
    # Names of folders, so that Spark leaves their files out when it lists them; never rows.
    again = [row.folder for row in found.join(known, on=same, how="left_semi").collect()]
    examples = read_examples(spark, roots, again)
    partials = settled(partial_aggregates(examples))
    exchanges = read_exchanges(spark, roots, again)
    counts = count_exchanges(exchanges)
    uncounted = settled(refusals(headers, partials, counts, known))
    return Ingested(
        headers=headers,
        accepted=settled(headers.join(uncounted, on="folder", how="left_anti")),
        refused=uncounted.where("refusal IS NOT NULL"),
        partials=partials,
        examples=with_folder(examples),
        exchanges=with_folder(exchanges),
        failures=read_failures(spark, roots),
        known_again=bool(again),
    )


def planned_cells(headers: DataFrame) -> DataFrame:
    """Give the cells that each run set out to judge.

    Returns:
        One row per run and planned cell: `folder`, `run_id`, `started_at` (timestamp), `clause`,
        `target`, `listener`, `applicable`, `reason`, `known_violation`, and `flaky` (null, or how often
        failures showed again).
    """
    return headers.select(
        "folder",
        F.col("header.run_id").alias("run_id"),
        F.try_to_timestamp("header.started_at").alias("started_at"),
        F.inline("header.planned_cells"),
    )


def refusals(
    headers: DataFrame, partials: DataFrame, exchange_counts: DataFrame, known: DataFrame
) -> DataFrame:
    """Find the folders that do not count, each with one reason: the first that applies.

    Args:
        headers: as `read_headers` gives them.
        partials: partial aggregates of all rows, as `partials.partial_aggregates` gives them.
        exchange_counts: as `count_exchanges` gives them.
        known: runs that count already: `run_id`, `known_folder`, `known_sha256`.

    Returns:
        One row per folder that does not count: `folder`, `refusal` (a value of `reports.records.Refusal`; null
        for a copy of a run that counts), `reason` (a sentence for a person).
    """
    found = (
        headers.join(_row_checks(headers, partials), on="folder", how="full")
        .join(exchange_counts, on="folder", how="left")
        .fillna(0, subset=["example_rows", "wrong_rows", "exchange_rows"])
    )
    judged = found.select(
        "folder",
        F.col("header.run_id").alias("run_id"),
        "sha256",
        _refusal(found).alias("verdict"),
    )
    refused = judged.where("verdict IS NOT NULL").select("folder", "verdict.*")
    return refused.unionByName(_duplicates(judged.where("verdict IS NULL"), known))


def _duplicates(counting: DataFrame, known: DataFrame) -> DataFrame:
    """Find folders whose run id is taken; `refusal` is null where they are mere copies."""
    same_run = Window.partitionBy("run_id").orderBy("folder")
    found = counting.join(known, on="run_id", how="left").select(
        "folder",
        "sha256",
        F.coalesce("known_folder", F.first("folder").over(same_run)).alias("first_folder"),
        F.coalesce("known_sha256", F.first("sha256").over(same_run)).alias("first_sha256"),
        (F.row_number().over(same_run) > 1).alias("again"),
        F.col("known_sha256").isNotNull().alias("known"),
    )
    differs = F.col("sha256") != F.col("first_sha256")
    return found.where("again OR known").select(
        "folder",
        F.when(differs, Refusal.DUPLICATE_RUN_ID.value).alias("refusal"),
        F.concat(F.lit("its run id is that of "), "first_folder").alias("reason"),
    )


def _row_checks(headers: DataFrame, partials: DataFrame) -> DataFrame:
    planned = planned_cells(headers).select(*_CELL, F.col("run_id").alias("planned_run_id"))
    rows = partials.join(planned.distinct(), on=list(_CELL), how="left")
    nulls = [F.col(f.name).isNull() for f in EXAMPLES if not f.nullable and f.name in rows.columns]
    wrong = (
        reduce(or_, nulls)
        | ~F.col("verdict").isin([verdict.value for verdict in EXAMPLE_VERDICTS])
        | ~F.col("phase").isin([phase.value for phase in Phase])
        | ~F.col("run_id").eqNullSafe(F.col("planned_run_id"))
    )
    return rows.groupBy("folder").agg(
        F.sum("examples").alias("example_rows"),
        F.sum(F.when(wrong, F.col("examples"))).alias("wrong_rows"),
    )


def _refusal(found: DataFrame) -> Column:
    footer = found["header.footer"]
    version = F.get_json_object("text", "$.record_schema_version")
    return (
        F.when(
            found["text"].isNull(),
            _because(Refusal.NO_HEADER, F.lit("it has no run.json, or an empty one")),
        )
        .when(
            F.json_object_keys("text").isNull(),
            _because(Refusal.DAMAGED_HEADER, F.lit("run.json is not a whole JSON object")),
        )
        .when(
            ~version.eqNullSafe(F.lit(str(RECORD_SCHEMA_VERSION))),
            _because(Refusal.FOREIGN_SCHEMA, _foreign_schema_reason(version)),
        )
        .when(
            _breaks_schema(found["header"]),
            _because(Refusal.INVALID_HEADER, F.lit("run.json does not follow its schema")),
        )
        .when(
            footer.isNull(),
            _because(Refusal.CUT_OFF, F.lit("run.json has no footer: the run was cut off")),
        )
        .when(
            (found["example_rows"] != footer["example_rows"])
            | (found["exchange_rows"] != footer["exchange_rows"]),
            _because(Refusal.ROW_COUNT_DIFFERS, _row_count_reason(found)),
        )
        .when(
            found["wrong_rows"] > 0,
            _because(
                Refusal.INVALID_ROWS,
                F.format_string(
                    "%d example rows do not follow the record schema or belong to no planned cell",
                    found["wrong_rows"],
                ),
            ),
        )
    )


def _because(refusal: Refusal, reason: Column) -> Column:
    return F.struct(F.lit(refusal.value).alias("refusal"), reason.alias("reason"))


def _foreign_schema_reason(version: Column) -> Column:
    return F.format_string(
        f"record_schema_version is %s, and {RECORD_SCHEMA_VERSION} is the only one known here",
        F.coalesce(version, F.lit("missing")),
    )


def _row_count_reason(found: DataFrame) -> Column:
    footer = found["header.footer"]
    return F.format_string(
        "the footer counts %d example rows and %d exchange rows, readable are %d and %d",
        footer["example_rows"],
        footer["exchange_rows"],
        found["example_rows"],
        found["exchange_rows"],
    )


def _breaks_schema(header: Column) -> Column:
    cells = header["planned_cells"]
    keys = F.transform(cells, lambda cell: F.struct(*(cell[name] for name in _CELL[1:])))
    unknown_clauses = F.array_except(cells["clause"], header["clauses"]["id"])
    unknown_targets = F.array_except(cells["target"], header["targets"]["id"])
    return (
        is_incomplete(header, HEADER)
        | ~header["started_at"].rlike(INSTANT_PATTERN)
        | F.try_to_timestamp(header["started_at"]).isNull()
        | ~F.coalesce(header["footer"]["finished_at"].rlike(INSTANT_PATTERN), F.lit(True))
        | ~header["run_id"].rlike(RUN_ID_PATTERN)
        | (F.size(F.array_distinct(keys)) < F.size(cells))
        | (F.size(unknown_clauses) > 0)
        | (F.size(unknown_targets) > 0)
    )


def changed_clauses(accepted: DataFrame, catalogue: DataFrame) -> DataFrame:
    """Find clauses that a run states with another role or level than the catalogue of today.

    The run counts all the same: its cells were judged by the clause of its day.

    Args:
        accepted: headers of runs that count.
        catalogue: `id`, `roles` (an array) and `level` of the clauses of today.

    Returns:
        One row per run with such a clause: `folder`, `notice` (a sentence for a person).
    """
    stated = accepted.select("folder", F.inline("header.clauses"))
    today = catalogue.select("id", F.col("roles"), F.col("level").alias("level_today"))
    other_role = ~F.array_contains("roles", F.col("role"))
    differing = stated.join(today, on="id", how="inner").where(
        other_role | (F.col("level") != F.col("level_today"))
    )
    names = F.concat_ws(", ", F.array_sort(F.collect_set("id")))
    return differing.groupBy("folder").agg(
        F.concat(F.lit("role or level is not that of the catalogue of today: "), names).alias(
            "notice"
        )
    )
