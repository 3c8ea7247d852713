"""Spark hands over each file of a run, and merges the summaries in any order."""

from __future__ import annotations

from datetime import date
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.testing import assertDataFrameEqual

from reports.run_folders.file_contents import CONTENTS, LATENCY_KEYS, PARTIAL_KEYS
from spark_aggregation.reading.run_files import (
    counted_apart,
    merge_partials,
    parent,
    partial_aggregates,
    read_tables,
)

FOLDER = "file:/runs/r1"
DAY = date(2026, 11, 21)
CONFORMS = dict.fromkeys(PARTIAL_KEYS, "same") | {
    "run_date": DAY,
    "failure_signature": None,
    "examples": 2,
    "smallest_example": 4,
}
VIOLATED = CONFORMS | {"verdict": "violates", "failure_signature": "f1"}


def _files(spark: SparkSession, name: str, *files: list[dict[str, Any]]) -> DataFrame:
    """Return files of one run, in which only the list called `name` is not empty."""
    rows = [
        {**dict.fromkeys(CONTENTS.names), "folder": FOLDER, "name": f"part-{part}", name: entries}
        for part, entries in enumerate(files)
    ]
    return spark.createDataFrame(rows, from_arrow_schema(CONTENTS))


def test_counts_of_one_run_are_merged_over_its_files(spark: SparkSession) -> None:
    """Entries that differ only in their file are added up, with the smallest example of all."""
    later = CONFORMS | {"examples": 3, "smallest_example": 1}
    found = partial_aggregates(_files(spark, "partials", [CONFORMS, VIOLATED], [later]))
    measures = found.select("folder", "verdict", "examples", "smallest_example", "first_seen")
    expected = spark.createDataFrame([(FOLDER, "same", 5, 1, DAY), (FOLDER, "violates", 2, 4, DAY)], measures.schema)
    assertDataFrameEqual(measures, expected)


def test_latencies_of_one_run_are_merged_over_its_files(spark: SparkSession) -> None:
    """Counts of the same bucket are added up."""
    entry = dict.fromkeys(LATENCY_KEYS, "same") | {"latency_bucket": 36, "examples": 2}
    slow = entry | {"latency_bucket": 50}
    found = counted_apart(_files(spark, "latencies", [entry, slow], [entry]), "latencies")
    counted = {row.latency_bucket: row.examples for row in found.collect()}
    assert counted == {36: 4, 50: 2}


def test_merging_over_days_keeps_the_first_and_the_last(spark: SparkSession) -> None:
    """A grain without the day says when a failure was first and last seen."""
    days = [date(2026, 11, 22), date(2026, 11, 20), DAY]
    files = [[VIOLATED | {"run_date": day}] for day in days]
    partials = partial_aggregates(_files(spark, "partials", *files))
    merged = merge_partials(partials, ["failure_signature"])
    expected = spark.createDataFrame([("f1", 6, 4, date(2026, 11, 20), date(2026, 11, 22))], merged.schema)
    assertDataFrameEqual(merged, expected)


def test_parent_is_the_path_without_its_last_names(spark: SparkSession) -> None:
    paths = spark.createDataFrame([(f"{FOLDER}/examples/part-0.parquet",)], "path string")
    found = paths.select(*(parent(F.col("path"), levels=levels) for levels in (1, 2, 3)))
    assert tuple(found.collect()[0]) == (f"{FOLDER}/examples", FOLDER, "file:/runs")


def test_folder_stays_a_uri_and_a_name_becomes_text(spark: SparkSession) -> None:
    """Spark names folders by their URI; the footer uses the plain names of files."""
    files = spark.createDataFrame(
        [("file:/runs/r1/x%20y/failures/f%2B1/a+b%C3%A4", b"\0")], "path string, content binary"
    )
    (found,) = read_tables(files, runs=(), without=(), pinned_examples={}).collect()
    assert (found.folder, found.name) == ("file:/runs/r1/x%20y", "failures/f+1/a+bä")


def test_file_belongs_to_the_run_that_it_is_in(spark: SparkSession) -> None:
    """Folders in a run and around it may have the name of one of its parts."""
    run = "file:/examples/r1"
    names = ("examples/part-0.parquet", "failures/0123/examples/a.txt")
    paths = [*(f"{run}/{name}" for name in names), "file:/runs/r2/failures/0123/examples/a.txt"]
    files = spark.createDataFrame([(path, b"\0") for path in paths], "path string, content binary")
    found = read_tables(files, runs=(run,), without=("file:/runs/r2",), pinned_examples={}).collect()
    assert [(each.folder, each.name) for each in found] == [(run, name) for name in names]
