"""Settings that let Spark start and plan quickly if the input is small and starting takes longer than computing.

Measured with one smoke run of a release on two busy cores: the roll-up takes 25 s of processor time with them, not 66 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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


def quoted(text: str) -> str:
    """Return one of Java's options as Spark's launcher reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
