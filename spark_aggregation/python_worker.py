"""The Python process in which Spark reads files: woken before it is needed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from threading import Thread

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from spark_aggregation.file_contents import CONTENTS, read_contents


def wake_python(spark: SparkSession) -> Thread:
    """Let Spark start the Python process that reads files, while its first queries are planned: a second less to wait.

    Returns:
        What waits for it; nobody else needs to.
    """
    rows = spark.range(1).selectExpr("'' AS path", "X'' AS content")
    read = partial(read_contents, pinned_examples={})
    reading = rows.mapInArrow(read, from_arrow_schema(CONTENTS))

    def wake() -> None:
        # Of a session that ends before, nothing needs to be awake.
        with suppress(PySparkException, Py4JError):
            reading.count()

    waking = Thread(target=wake, daemon=True)
    waking.start()
    return waking
