"""What lets Spark start and plan quickly where the input is small: seconds of starting, not of computing.

Seen with one standard run (10,000 examples) on two cores: the whole command takes 20 s of processor time, not 24 s.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import MappingProxyType

import pyspark

# Without the optimising compiler a small roll-up takes half the processor time (seen: 26 s, not 56 s,
# on two busy cores). The other one has 48 MB for its code, which the plans of a long session fill; then it stops, and Java
# may fail for want of room.
SIMPLE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
# Spark's classes come from its own jars; to verify their bytecode takes another tenth, which an archive of loaded
# classes (190 MB) saves as well, and no more. Spark has 150,000 names in its classes, for which the table of symbols
# is made too small. A Java virtual machine without an option leaves it out.
_JAVA_OPTIONS = (
    f"{SIMPLE_COMPILER} -XX:+UseSerialGC -XX:MetaspaceSize=256m "
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-XX:+UnlockExperimentalVMOptions -XX:SymbolTableSize=262144"
)

PLANNING_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        # Both keep which line of ours made an expression. That takes six calls to Java and a stack trace for each,
        # two of three calls in all.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.dataFrameQueryContext.enabled": "false",
    }
)
"""For every session of one machine: they leave out what only messages about our own code would show."""

INTERPRETED_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        # Code that Spark generates and compiles for each stage has to run for long to pay: without it the roll-up
        # of one run takes a quarter less processor time (seen: 32 s, not 43 s, on two busy cores), and that of
        # 10^6 rows a quarter more (47 s, not 37 s).
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # One task for each stage: what is asked at the same time keeps the other cores busy, and each task that reads
        # files needs a Python process of its own.
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.sql.files.minPartitionNum": "1",
        "spark.sql.files.openCostInBytes": "65536",
        # Each aggregation and each sorted join takes pages of memory, and each stage is sent to its tasks in blocks:
        # of 16 and 4 MB, which had to be filled with zeros and collected again (seen: 3.7 GB, and 2 GB with these).
        "spark.buffer.pageSize": "1m",
        "spark.broadcast.blockSize": "128k",
    }
)
"""For input so small that compiling queries costs more than running them."""

_ASKED_FIRST = (
    *("spark-catalyst_", "spark-sql_", "spark-core_", "scala-library-", "spark-sql-api_"),
    *("hadoop-client-api-", "spark-config_", "spark-network-common_", "spark-common-utils_"),
    *("parquet-column-", "parquet-encoding-", "jackson-databind-", "log4j-core-"),
)
"""Beginnings of the names of jars, those with most of the classes that a roll-up loads first."""
_NEVER_ASKED = (
    # The machine learning library is started with every session, which takes 2 s.
    *("spark-mllib_", "breeze", "spire", "algebra_", "cats-", "arpack", "blas-", "lapack-"),
    *("spark-hive", "hive-", "datanucleus-", "derby", "spark-graphx_", "spark-connect_"),
    *("spark-kubernetes_", "kubernetes-", "volcano-", "vertx-", "spark-yarn_", "scala-compiler-"),
)
"""The same of jars that a roll-up in this process does not use."""
_OWN_INSTALLATION = (
    *("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH"),
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR"),
)


def java_options() -> str:
    """Give options of the Java virtual machine, as `spark.driver.extraJavaOptions` takes them."""
    jars = _jars()
    # A class path that stands later wins over the one that Spark's launcher gives.
    return (
        f"{_JAVA_OPTIONS} -cp {_quoted(os.pathsep.join(map(str, jars)))}" if jars else _JAVA_OPTIONS
    )


def _jars() -> list[Path]:
    """List the jars of PySpark's own Spark to load classes from; none where Spark is installed or set up otherwise.

    Java looks for a class in one jar after the other: with all 280 in the order of their folder that took a
    quarter of the time in which queries are made.
    """
    home = Path(pyspark.__file__).parent
    if (home / "conf").exists() or any(os.environ.get(name) for name in _OWN_INSTALLATION):
        return []
    jars = [jar for jar in (home / "jars").glob("*.jar") if not jar.name.startswith(_NEVER_ASKED)]
    return sorted(jars, key=lambda jar: (_place(jar), jar.name))


def _place(jar: Path) -> int:
    places = [place for place, name in enumerate(_ASKED_FIRST) if jar.name.startswith(name)]
    return places[0] if places else len(_ASKED_FIRST)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def import_pandas() -> None:
    """Import pandas while Java starts; PySpark does so with its first call to Java, and half a second later."""
    Thread(target=import_module, args=("pandas",), daemon=True).start()
