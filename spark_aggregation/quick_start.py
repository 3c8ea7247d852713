"""Settings that let Spark start and plan quickly if the input is small and starting takes longer than computing.

Measured with one standard run (10,000 examples) on two cores: the command takes 20 s of processor time, not 24 s.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from threading import Thread
from types import MappingProxyType

import pyspark

# Without the optimising compiler a small roll-up takes half the processor time (measured: 26 s, not 56 s, on two busy
# cores). By default the simple compiler has 48 MB for its code. The plans of a long session fill them; the compiler
# then stops, and Java may fail for lack of space.
SIMPLE_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
# Spark's classes come from its own jars. Verifying their bytecode takes another tenth; an archive of loaded classes
# (190 MB) would save the same tenth and no more. The default symbol table is too small for the 150,000 names in Spark's
# classes. A Java virtual machine ignores any of these options that it does not have.
_JAVA_OPTIONS = (
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

_ASKED_FIRST = (
    *("spark-catalyst_", "spark-sql_", "spark-core_", "scala-library-", "spark-sql-api_"),
    *("hadoop-client-api-", "spark-config_", "spark-network-common_", "spark-common-utils_"),
    *("parquet-column-", "parquet-encoding-", "jackson-databind-", "log4j-core-"),
)
"""Name prefixes of jars; those with most of the classes that a roll-up loads come first."""
_NEVER_ASKED = (
    # Every session starts the machine learning library, which takes 2 s.
    *("spark-mllib_", "breeze", "spire", "algebra_", "cats-", "arpack", "blas-", "lapack-"),
    *("spark-hive", "hive-", "datanucleus-", "derby", "spark-graphx_", "spark-connect_"),
    *("spark-kubernetes_", "kubernetes-", "volcano-", "vertx-", "spark-yarn_", "scala-compiler-"),
)
"""Name prefixes of jars that a roll-up in this process does not use."""
_OWN_INSTALLATION = (
    *("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH"),
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR"),
)


def java_options() -> str:
    """Return the options of the Java virtual machine, for `spark.driver.extraJavaOptions`."""
    jars = _jars()
    # A later class path overrides the one that Spark's launcher sets.
    return (
        f"{_JAVA_OPTIONS} -cp {quoted(os.pathsep.join(map(str, jars)))}" if jars else _JAVA_OPTIONS
    )


def _jars() -> list[Path]:
    """List the jars to load classes from; none if Spark is not PySpark's own, or is configured by the user.

    Java searches one jar after the other for a class. With all 280 jars in directory order, this took a quarter of
    the time in which queries are built.
    """
    home = Path(pyspark.__file__).parent
    if (home / "conf").exists() or any(os.environ.get(name) for name in _OWN_INSTALLATION):
        return []
    jars = [jar for jar in (home / "jars").glob("*.jar") if not jar.name.startswith(_NEVER_ASKED)]
    return sorted(jars, key=lambda jar: (_place(jar), jar.name))


def _place(jar: Path) -> int:
    places = [place for place, name in enumerate(_ASKED_FIRST) if jar.name.startswith(name)]
    return places[0] if places else len(_ASKED_FIRST)


def quoted(text: str) -> str:
    """Return one of Java's options as Spark's launcher reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def import_pandas() -> None:
    """Import pandas while Java starts. PySpark would import it half a second later, at its first call to Java."""
    Thread(target=import_module, args=("pandas",), daemon=True).start()
