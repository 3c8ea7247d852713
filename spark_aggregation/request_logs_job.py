"""Counts requests in brokers' request logs that are too large for one machine.

    python -m spark_aggregation.request_logs_job URI...

Each URI is a file, a folder or a pattern, on any file system that Hadoop knows. What was counted goes to standard
output, as `wire.request_log_counts.LogCounts` writes it. Exit status: 0, 2 for a path that does not exist, 3 if Spark
does not start here, 10 if a file cannot be read or a disk is full, or for an error of the job itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from reports.command_line.suite_command import SuiteCommand
from spark_aggregation.errors import PathNotFound, check_path, disk_faults_explained
from spark_aggregation.session import start_session
from wire.request_log_counts import LogCounts

_COUNTED = StructType([StructField("counted", StringType())])
"""One row per partition: what was counted in it, as text."""


def count_logs(spark: SparkSession, uris: Sequence[str]) -> LogCounts:
    """Count the requests in logs.

    Args:
        spark: the session.
        uris: files, folders or patterns; Spark recognizes compressed files by their names (`.gz`, `.bz2`, `.zst`,
            `.lz4`).

    Raises:
        PathNotFound: one of them does not exist.
    """
    try:
        lines = spark.read.option("lineSep", "\n").text(list(uris))
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        missing = (error.getMessageParameters() or {}).get("path", "a path").removeprefix("file:")
        raise PathNotFound(f"{missing} does not exist; give request logs, or folders of them") from error
    total = LogCounts()
    for row in lines.mapInArrow(_count_batches, _COUNTED).collect():
        total.merge(LogCounts.from_json(row.counted))
    return total


def _count_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    counts = LogCounts()
    for batch in batches:
        counts.count(batch.column(0).cast(pa.binary()).to_pylist())
    yield pa.RecordBatch.from_pydict({"counted": pa.array([counts.to_json()], pa.string())})


@click.command(cls=SuiteCommand, name="spark_aggregation.request_logs_job")
@click.argument("uris", nargs=-1, required=True)
def command(uris: tuple[str, ...]) -> None:
    """Count the requests in request logs of brokers, at any URI that Hadoop knows."""
    for uri in uris:
        check_path(uri)
    with disk_faults_explained("the requests could not be counted"):
        counts = count_logs(start_session(), uris)
    click.echo(counts.to_json())


if __name__ == "__main__":
    command()
