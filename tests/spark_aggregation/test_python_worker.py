"""Python is awake before files are read, and waking it disturbs nobody."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_aggregation.python_worker import wake_python


def test_python_is_woken_beside_other_queries(spark: SparkSession) -> None:
    """Waking Python does not wait for it, and takes nothing from other queries."""
    wake_python(spark)
    assert spark.range(3).count() == 3


def test_session_that_ends_before_python_is_awake_is_no_error(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a thread would complain of what nobody waits for."""
    asked = []

    def count(frame: DataFrame) -> int:
        asked.append(frame)
        raise PySparkException("Job 2 cancelled because SparkContext was shut down")

    monkeypatch.setattr(type(spark.range(1)), "count", count)
    wake_python(spark).join()
    assert len(asked) == 1
