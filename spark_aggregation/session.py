"""The only module that creates a Spark session.

Its settings let Spark start and plan quickly if the input is small.

Measured with one smoke run of a release on two busy cores: the roll-up takes 25 s of processor time with them, not 66
s.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from spark_aggregation.errors import SparkUnavailable

# Without the optimising compiler a small roll-up takes half the processor time (measured: 26 s, not 56 s, on two busy
# cores). By default the simple compiler has 48 MB for its code. The plans of a long session fill them; the compiler
# then stops, and Java may fail for lack of space.
SIMPLE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
# Spark's classes come from its own jars. Verifying their bytecode takes another tenth; an archive of loaded classes
# (190 MB) would save the same tenth and no more. The default symbol table is too small for the 150,000 names in Spark's
# classes. A Java virtual machine ignores any of these options that it does not have.
JAVA_OPTIONS = (
    f"{SIMPLE_COMPILER} -XX:+UseSerialGC -XX:MetaspaceSize=256m "
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-XX:+UnlockExperimentalVMOptions -XX:SymbolTableSize=262144"
)

PLANNING_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        # Both record which line of our code made an expression. That takes six calls to Java and a stack trace per
        # expression: two of every three calls.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.dataFrameQueryContext.enabled": "false",
    }
)
"""For every session on a single machine. They turn off details that only error messages about our own code show."""

INTERPRETED_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        # The code that Spark generates and compiles for each stage only pays off if it runs for long. Without it the
        # roll-up of one run takes a quarter less processor time (measured: 32 s, not 43 s, on two busy cores), and
        # that of 10^6 rows a quarter more (47 s, not 37 s).
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # One task per stage: concurrent queries keep the other cores busy, and each task that reads files needs its
        # own Python process.
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.sql.files.minPartitionNum": "1",
        "spark.sql.files.openCostInBytes": "65536",
        # Each aggregation and each sorted join allocates pages of memory, and each stage is sent to its tasks in
        # blocks. By default these are 16 MB and 4 MB, which have to be zeroed and garbage-collected (measured: 3.7 GB,
        # and 2 GB with these settings).
        "spark.buffer.pageSize": "1m",
        "spark.broadcast.blockSize": "128k",
    }
)
"""For input so small that compiling queries costs more than running them."""


_NEEDED_MODULE = "jdk.incubator.vector"
_PARTITIONS = "spark.sql.shuffle.partitions"
RUNS_PER_PARTITION = 150
"""1,140 runs of 375 cells did not fit into a heap of 1 GB with two partitions; with eight they do."""
_LOGGING = Path(__file__).with_name("log4j2.properties")
_SETTINGS = {
    "spark.app.name": "kafka-conformance",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Rows shuffled by folder are not shuffled again for a join by folder and further columns.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # Each row that goes to Python is a complete file.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**24),
    # The Python process that reads them frees and allocates megabytes again and again. Keeping this memory, instead of
    # returning it to the system and getting zeroed pages, saves a third of the reading time.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(2**30),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(2**30),
}
_LOCAL_SETTINGS = {
    "spark.master": "local[*]",
    # 79 standard runs with 490,000 examples did not fit into Spark's default heap of 1 GB: "There is not enough memory
    # to build hash map".
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Shuffles move one row per file, and tables of thousands of rows. With 200 partitions they would spend seconds on
    # empty tasks. Planning each stage again (adaptive execution) doubles the time of a small roll-up.
    _PARTITIONS: "2",
    "spark.sql.adaptive.enabled": "false",
    # Above this number of groups, an aggregation that collects lists starts over, by sorting.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "65536",
    # A roll-up compiles about 300 pieces of code. Spark's default of 100 would keep none of them for the next roll-up
    # in this session.
    "spark.sql.codegen.cache.maxEntries": "5000",
}
# With few cores, the stop-the-world collector takes less processor time; the difference was a fifth of a roll-up of
# 10^8 rows.
# The optimising compiler took a third to a half of the processor time of each of the first roll-ups of a session (8 to
# 20 s). Its code runs too briefly to pay off, because the rows themselves are read in Python. `rejudge_job` reads them
# in Java; this was not measured for it.
_LASTING_OPTIONS = f"-XX:+UseParallelGC {SIMPLE_COMPILER}"


def quoted(text: str) -> str:
    """Return one of Java's options as Spark's launcher reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# Java's temporary files lie where Python's do, so that whoever ends this process can remove both.
_JAVA_OPTIONS = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {quoted(f'-Djava.io.tmpdir={tempfile.gettempdir()}')}"


def start_session(*, quick: bool = False, interpreted: bool = False) -> SparkSession:
    """Start the process's Spark session, or return the existing one.

    Under `spark-submit` the cluster's own settings apply. Otherwise everything runs on this machine, on all cores,
    and binds only to loopback.

    Args:
        quick: whether the input is so small that starting costs more than computing.
        interpreted: whether it is so small that compiling queries costs more than running them.

    Raises:
        SparkUnavailable: there is no Java, or only a cut-down runtime.
    """
    settings = dict(_SETTINGS)
    # spark-submit passes its gateway to the driver in this variable. Settings made here would override those of its
    # command line.
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        options = f"{_JAVA_OPTIONS} {JAVA_OPTIONS if quick else _LASTING_OPTIONS}"
        settings |= _LOCAL_SETTINGS | {"spark.driver.extraJavaOptions": options}
        settings |= PLANNING_SETTINGS
        settings |= INTERPRETED_SETTINGS if interpreted else {}
        # By default Spark uses the first python3 on PATH, which may lack packages that this interpreter has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return SparkSession.builder.config(map=dict(settings)).getOrCreate()
    except PySparkRuntimeError as error:
        raise SparkUnavailable(_why_java_fails()) from error


def fit_partitions(spark: SparkSession, runs: int) -> None:
    """Use more shuffle partitions, never fewer, if many runs are read.

    A task must be able to hold its share in memory.
    """
    needed = -(-runs // RUNS_PER_PARTITION)
    if needed > int(spark.conf.get(_PARTITIONS) or 1):
        spark.conf.set(_PARTITIONS, str(needed))


def _why_java_fails() -> str:
    java = _java()
    if java is None:
        return "Spark needs a JDK of version 17 or later: no java on PATH, and JAVA_HOME is not set"
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=False, timeout=60).stdout
    if _NEEDED_MODULE not in modules:
        return (
            f"Spark needs a full JDK of version 17 or later: {java} is a cut-down runtime without "
            f"the module {_NEEDED_MODULE}; set JAVA_HOME to a full one"
        )
    return f"Spark's Java virtual machine did not start with {java}; see its own message above"


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home:
        return shutil.which("java", path=str(Path(home) / "bin"))
    return shutil.which("java")
