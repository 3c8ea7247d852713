"""The Python process starts before files are read, and starting it disturbs no other query."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_aggregation.python_worker import wake_python


def test_python_is_woken_beside_other_queries(spark: SparkSession) -> None:
    """Starting the process does not wait for it, and leaves other queries unchanged."""
    wake_python(spark)
    assert spark.range(3).count() == 3


def test_session_that_ends_before_python_is_awake_is_no_error(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a background thread would report an error that concerns no one."""
    asked = []

    def count(frame: DataFrame) -> int:
        asked.append(frame)
        raise PySparkException("Job 2 cancelled because SparkContext was shut down")

    monkeypatch.setattr(type(spark.range(1)), "count", count)
    wake_python(spark).join()
    assert len(asked) == 1
