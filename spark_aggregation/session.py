"""The only place where a Spark session is made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from spark_aggregation.errors import SparkUnavailable
from spark_aggregation.quick_start import (
    INTERPRETED_SETTINGS,
    PLANNING_SETTINGS,
    SIMPLE_COMPILER,
    import_pandas,
    java_options,
)

_NEEDED_MODULE = "jdk.incubator.vector"
_PARTITIONS = "spark.sql.shuffle.partitions"
RUNS_PER_PARTITION = 150
"""Two partitions of 1,140 runs of 375 cells did not fit into a heap of 1 GB; eight do."""
_LOGGING = Path(__file__).with_name("log4j2.properties")

_SETTINGS = {
    "spark.app.name": "kafka-conformance",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What lies together by folder is not moved again to be joined by folder and more.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # Rows that go to Python are whole files.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**24),
    # What reads them gives megabytes back and asks for as many again, time after time. Keeping them, rather than
    # handing them to the system and getting pages of zeros, saves a third of the reading.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(2**30),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(2**30),
}

_LOCAL_SETTINGS = {
    "spark.master": "local[*]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # What is shuffled is a row per file, and tables of thousands of rows, where 200 partitions cost seconds of
    # empty tasks and planning each stage anew doubles the time of a small roll-up.
    _PARTITIONS: "2",
    "spark.sql.adaptive.enabled": "false",
    # Above so many groups an aggregation that collects lists begins anew, by sorting.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "65536",
    # A roll-up compiles some 300 pieces of code; of Spark's own 100 none would be left for the next one in this session.
    "spark.sql.codegen.cache.maxEntries": "5000",
}
_JAVA_OPTIONS = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
# On few cores the collector that stops everything takes less of them: a fifth of a roll-up of 10^8 rows.
# The optimising compiler took a third to a half of the processor time of each of the first roll-ups of a session (8 to
# 20 s), and its code runs for too short to pay, since the rows themselves are read in Python; `rejudge_job` reads them in
# Java, for which this was not measured.
_LASTING_OPTIONS = f"-XX:+UseParallelGC {SIMPLE_COMPILER}"


def start_session(*, quick: bool = False, interpreted: bool = False) -> SparkSession:
    """Start, or give again, the process's Spark session.

    Under `spark-submit` the cluster's own settings stand; otherwise everything runs in this process on
    all cores and binds to loopback alone.

    Args:
        quick: whether the input is small, so that starting costs more than computing.
        interpreted: whether it is so small that compiling queries costs more than running them.

    Raises:
        SparkUnavailable: there is no Java, or it is a cut-down runtime.
    """
    settings = dict(_SETTINGS)
    # spark-submit hands its gateway to the driver in this variable; a setting of ours would win
    # over those of its command line.
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        options = f"{_JAVA_OPTIONS} {java_options() if quick else _LASTING_OPTIONS}"
        settings |= _LOCAL_SETTINGS | {"spark.driver.extraJavaOptions": options}
        settings |= PLANNING_SETTINGS
        settings |= INTERPRETED_SETTINGS if interpreted else {}
        # Spark's own choice is the first python3 of PATH, which need not have what this one has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        import_pandas()
    try:
        return SparkSession.builder.config(map=dict(settings)).getOrCreate()
    except PySparkRuntimeError as error:
        raise SparkUnavailable(_why_java_fails()) from error


def fit_partitions(spark: SparkSession, runs: int) -> None:
    """Cut what is shuffled into more partitions where so many runs are read that a task could not hold its part.

    Args:
        spark: the session; it never gets fewer partitions than it had.
        runs: how many are read.
    """
    needed = -(-runs // RUNS_PER_PARTITION)
    if needed > int(spark.conf.get(_PARTITIONS) or 1):
        spark.conf.set(_PARTITIONS, str(needed))


def _why_java_fails() -> str:
    java = _java()
    if java is None:
        return "Spark needs a JDK of version 17 or later: no java on PATH, and JAVA_HOME is not set"
    modules = subprocess.run(
        [java, "--list-modules"], capture_output=True, text=True, check=False, timeout=60
    ).stdout
    if _NEEDED_MODULE not in modules:
        return (
            f"Spark needs a full JDK of version 17 or later: {java} is a cut-down runtime without "
            f"the module {_NEEDED_MODULE}; set JAVA_HOME to a full one"
        )
    return f"Spark's Java virtual machine did not start with {java}; its own message stands above"


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home:
        return shutil.which("java", path=str(Path(home) / "bin"))
    return shutil.which("java")
