"""From run folders to headers and example rows, and which folders are refused.

Two rules:

1. A folder counts whole or not at all. One wrong row, one row too few, and none of its rows reaches a
   cell; it is listed with the reason instead.
2. Nothing read here fails the job. A damaged file loses its rows in silence (`ignoreCorruptFiles`), and
   the footer's row counts then say so by name.

`reports.run_folder` applies the same rule to a single local folder, by the published JSON Schema; a test
holds the two equal. Two things are laxer here: Spark reads a number where the schema wants a string, and it
does not look at columns that no aggregate needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from reports.records import EXAMPLE_VERDICTS, RECORD_SCHEMA_VERSION, Phase, Refusal
from spark_aggregation.schema import EXAMPLES, EXCHANGES, HEADER, is_incomplete

RUN_ID_PATTERN = "^[0-9A-Za-z][0-9A-Za-z.-]*$"
INSTANT_PATTERN = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
    "(Z|[+-][0-9]{2}:[0-9]{2})$"
)
_CELL = ("folder", "clause", "target", "listener")


def read_headers(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """Read every `run.json` under `roots`, one row each, readable or not; Spark skips empty files.

    Args:
        spark: the session.
        roots: run folders, or folders of them at any depth; any Hadoop URI.

    Returns:
        `folder`, `text` (the file; empty where it is no UTF-8), and `header` (the file parsed as
        `schema.HEADER`, with null fields where it does not follow that).
    """
    files = (
        spark.read.format("binaryFile")
        .option("recursiveFileLookup", True)
        .option("pathGlobFilter", "run.json")
        .load(list(roots))
    )
    # The text source would put replacement characters where a file is no UTF-8.
    text = F.coalesce(F.try_validate_utf8(F.col("content").cast("string")), F.lit(""))
    return files.select(
        _parent(F.col("_metadata.file_path"), levels=1).alias("folder"),
        text.alias("text"),
        F.from_json(text, HEADER).alias("header"),
    )


def read_examples(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """Read every example row under `roots`: `file` (its URI) and the columns of `schema.EXAMPLES`."""
    return _read_rows(spark, roots, "examples", EXAMPLES)


def count_exchanges(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """Count the exchange rows under `roots`: `folder`, `exchange_rows`; no row where there are none."""
    rows = _read_rows(spark, roots, "exchanges", EXCHANGES)
    per_file = rows.groupBy("file").agg(F.count("step").alias("exchange_rows"))
    return (
        with_folder(per_file).groupBy("folder").agg(F.sum("exchange_rows").alias("exchange_rows"))
    )


def with_folder(rows: DataFrame) -> DataFrame:
    """Replace `file`, the URI of a row's Parquet file, by `folder`, that of its run.

    For rows that are aggregated already: on 10^8 of them this would cost more than the aggregation.
    """
    return rows.withColumn("file", _parent(F.col("file"), levels=2)).withColumnRenamed(
        "file", "folder"
    )


def _read_rows(
    spark: SparkSession, roots: Sequence[str], table: str, schema: StructType
) -> DataFrame:
    path = F.col("_metadata.file_path")
    return (
        spark.read.option("recursiveFileLookup", True)
        .option("pathGlobFilter", "*.parquet")
        .option("ignoreCorruptFiles", True)
        .schema(schema)
        .parquet(*roots)
        .where(F.substring_index(path, "/", -2).startswith(f"{table}/"))
        .select(path.alias("file"), *schema.fieldNames())
    )


def _parent(path: Column, *, levels: int) -> Column:
    return path.substr(
        F.lit(1), F.length(path) - F.length(F.substring_index(path, "/", -levels)) - 1
    )


def planned_cells(headers: DataFrame) -> DataFrame:
    """Give the cells that each run set out to judge.

    Returns:
        One row per folder and planned cell: `folder`, `run_id`, `started_at` (timestamp), `clause`,
        `target`, `listener`, `applicable`, `reason`, `known_violation`, and `flaky` (null, or how often
        failures showed again).
    """
    return headers.select(
        "folder",
        F.col("header.run_id").alias("run_id"),
        F.try_to_timestamp("header.started_at").alias("started_at"),
        F.inline("header.planned_cells"),
    )


def refusals(headers: DataFrame, partials: DataFrame, exchange_counts: DataFrame) -> DataFrame:
    """Find the folders that do not count, each with one reason: the first that applies.

    Args:
        headers: as `read_headers` gives them.
        partials: partial aggregates of all rows, as `partials.partial_aggregates` gives them.
        exchange_counts: as `count_exchanges` gives them.

    Returns:
        One row per refused folder: `folder`, `refusal` (a value of `reports.records.Refusal`), `reason`
        (a sentence for a person).
    """
    found = (
        headers.join(_row_checks(headers, partials), on="folder", how="full")
        .join(exchange_counts, on="folder", how="left")
        .fillna(0, subset=["example_rows", "wrong_rows", "exchange_rows"])
    )
    judged = found.select(
        "folder", F.col("header.run_id").alias("run_id"), _refusal(found).alias("verdict")
    )
    refused = judged.where("verdict IS NOT NULL").select("folder", "verdict.*")
    return refused.unionByName(_duplicates(judged.where("verdict IS NULL")))


def _duplicates(counting: DataFrame) -> DataFrame:
    same_run = Window.partitionBy("run_id").orderBy("folder")
    later = counting.select(
        "folder",
        F.first("folder").over(same_run).alias("first_folder"),
        F.row_number().over(same_run).alias("occurrence"),
    ).where("occurrence > 1")
    return later.select(
        "folder",
        F.lit(Refusal.DUPLICATE_RUN_ID.value).alias("refusal"),
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
