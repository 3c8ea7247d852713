"""Rolls run folders up without writing tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_aggregation.ingest import count_exchanges, read_examples, read_headers, refusals
from spark_aggregation.job import local_path, roll_up
from spark_aggregation.partials import partial_aggregates


def _read(spark: SparkSession, root: Path) -> tuple[DataFrame, DataFrame, DataFrame]:
    roots = [str(root)]
    headers = read_headers(spark, roots).cache()
    partials = partial_aggregates(read_examples(spark, roots)).cache()
    return headers, partials, refusals(headers, partials, count_exchanges(spark, roots)).cache()


def refused_folders(spark: SparkSession, root: Path) -> Mapping[str, str]:
    """Give the refused folders under `root`: name to refusal."""
    _, _, refused = _read(spark, root)
    return {Path(local_path(row.folder)).name: row.refusal for row in refused.collect()}


def tables_of(spark: SparkSession, root: Path) -> Mapping[str, DataFrame]:
    """Give the grid's tables of all runs under `root` that count."""
    headers, partials, refused = _read(spark, root)
    return roll_up(headers.join(refused, on="folder", how="left_anti"), partials)
