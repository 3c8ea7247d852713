"""Partial aggregates lose nothing that a grid asks for, and merge in any order."""

from __future__ import annotations

from datetime import date
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType
from pyspark.testing import assertDataFrameEqual

from spark_aggregation.partials import PARTIAL_KEYS, merge_partials, partial_aggregates
from spark_aggregation.schema import EXAMPLES
from tests.run_folders import example_row, planned_cell, run_header

HEADER = run_header([planned_cell()], run_id="r1")
FILE = "file:/runs/r1/examples/part-0.parquet"
SCHEMA = StructType([StructField("file", StringType()), *EXAMPLES])


def _examples(spark: SparkSession, *changes: dict[str, Any]) -> DataFrame:
    rows = [
        {
            "file": FILE,
            **example_row(HEADER, number),
            "run_date": date(2026, 11, 21),
            **change,
        }
        for number, change in enumerate(changes)
    ]
    return spark.createDataFrame(rows, SCHEMA)


def test_rows_that_differ_in_nothing_but_their_number_become_one(spark: SparkSession) -> None:
    """Rows are counted per verdict, phase, failure and latency bucket, with the smallest example."""
    failed = {"verdict": "violates", "failure_signature": "f1"}
    examples = _examples(
        spark, {}, {}, {"latency_bucket": None}, failed, {**failed, "phase": "shrink"}, failed
    )
    partials = partial_aggregates(examples).drop("run_id", "clause", "target", "listener")
    day = date(2026, 11, 21)
    expected = spark.createDataFrame(
        [
            (
                "file:/runs/r1",
                day,
                "test_something",
                "generate",
                "answer",
                0,
                "conforms",
                None,
                36,
                2,
                0,
                day,
                day,
            ),
            (
                "file:/runs/r1",
                day,
                "test_something",
                "generate",
                "answer",
                0,
                "conforms",
                None,
                None,
                1,
                2,
                day,
                day,
            ),
            (
                "file:/runs/r1",
                day,
                "test_something",
                "generate",
                "answer",
                0,
                "violates",
                "f1",
                36,
                2,
                3,
                day,
                day,
            ),
            (
                "file:/runs/r1",
                day,
                "test_something",
                "shrink",
                "answer",
                0,
                "violates",
                "f1",
                36,
                1,
                4,
                day,
                day,
            ),
        ],
        "folder string, run_date date, property string, phase string, outcome string, "
        "error_code smallint, verdict string, failure_signature string, "
        "latency_bucket smallint, examples long, smallest_example int, first_seen date, "
        "last_seen date",
    )
    assertDataFrameEqual(partials, expected)


def test_partials_of_parts_merge_to_the_partials_of_the_whole(spark: SparkSession) -> None:
    """Aggregating two files apart and merging them gives what aggregating both at once gives."""
    failed = {"verdict": "violates", "failure_signature": "f1"}
    other_file = {"file": "file:/runs/r1/examples/part-1.parquet"}
    whole = _examples(spark, failed, {}, {**failed, **other_file}, other_file)
    first, second = (whole.where(f"file LIKE '%part-{part}%'") for part in (0, 1))
    apart = partial_aggregates(second).unionByName(partial_aggregates(first))
    assertDataFrameEqual(merge_partials(apart, PARTIAL_KEYS), partial_aggregates(whole))


def test_merging_over_days_keeps_the_first_and_the_last(spark: SparkSession) -> None:
    """A grain without the day says when a failure was first and last seen."""
    failed = {"verdict": "violates", "failure_signature": "f1"}
    days = [date(2026, 11, 22), date(2026, 11, 20), date(2026, 11, 21)]
    examples = _examples(spark, *({**failed, "run_date": day} for day in days))
    merged = merge_partials(partial_aggregates(examples), ["failure_signature"])
    expected = spark.createDataFrame(
        [("f1", 3, 0, date(2026, 11, 20), date(2026, 11, 22))],
        "failure_signature string, examples long, smallest_example int, first_seen date, "
        "last_seen date",
    )
    assertDataFrameEqual(merged, expected)
