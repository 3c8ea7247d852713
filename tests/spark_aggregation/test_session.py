"""A Spark session fits a small machine, and explains problems with Java.

It explains what is wrong with Java if it does not start.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from spark_aggregation.errors import SparkUnavailable
from spark_aggregation.session import RUNS_PER_PARTITION, fit_partitions, quoted, start_session


def test_session_is_in_utc_and_listens_nowhere(spark: SparkSession) -> None:
    """Times are read in UTC, there is no web page, and the driver binds to loopback."""
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"


def test_heap_holds_a_night_of_standard_runs(spark: SparkSession) -> None:
    """The default of Spark did not; the collector keeps a part of it for itself."""
    assert spark.sparkContext._jvm is not None
    assert spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory() > 1.8 * 2**30


@pytest.mark.parametrize(
    ("runs", "partitions"),
    [
        pytest.param(450, "3", id="few"),
        pytest.param(RUNS_PER_PARTITION * 8 + 1, "9", id="many"),
    ],
)
def test_many_runs_get_more_partitions_and_few_no_fewer(spark: SparkSession, runs: int, partitions: str) -> None:
    """The data that a task shuffles and hashes fits into its memory, however many nights a rebuild reads."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    assert before is not None
    try:
        spark.conf.set(name, "3")
        fit_partitions(spark, runs)
        assert spark.conf.get(name) == partitions
    finally:
        spark.conf.set(name, before)


def _refuse_to_start(_: SparkSession.Builder) -> SparkSession:
    raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})


def test_missing_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without Java the message says what to install."""
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", _refuse_to_start)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkUnavailable, match="JDK of version 17 or later: no java on PATH"):
        start_session()


def test_cut_down_runtime_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A runtime without the vector module is reported as cut down."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho java.base@17.0.15\n")
    java.chmod(0o755)
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", _refuse_to_start)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkUnavailable, match=r"cut-down runtime without the module jdk\.incubator"):
        start_session()


def test_path_with_a_space_is_one_word() -> None:
    """Spark's launcher splits Java's options into words, as a shell does."""
    option = '-Djava.io.tmpdir=/a "folder" of mine'
    assert shlex.split(quoted(option)) == [option]
