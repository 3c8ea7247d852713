"""Starts the Python process in which Spark reads files before it is needed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from threading import Thread

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from spark_aggregation.reading.file_contents import CONTENTS, read_contents


def wake_python(spark: SparkSession) -> Thread:
    """Start the Python process that reads files while Spark plans its first queries; this saves a second.

    Returns:
        The thread that waits for the process. Callers need not join it.
    """
    rows = spark.range(1).selectExpr("'' AS path", "X'' AS content")
    read = partial(read_contents, pinned_examples={})
    reading = rows.mapInArrow(read, from_arrow_schema(CONTENTS))

    def wake() -> None:
        # If the session ends first, the process is no longer needed.
        with suppress(PySparkException, Py4JError):
            reading.count()

    waking = Thread(target=wake, daemon=True)
    waking.start()
    return waking
