"""Reads what run folders hold: headers, what is taken from their tables, and rows as they stand.

Nothing read here fails the job. A damaged file loses its rows and is marked, and the footer's row counts then cost the
run, which names the file; one that is not there or not what it was is told by the footer's hashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from spark_aggregation.errors import PathNotFound
from spark_aggregation.file_contents import CONTENTS, read_contents
from spark_aggregation.partials import parent
from spark_aggregation.schema import ANSWERS, EXAMPLES, EXCHANGES, HEADER

LARGEST_FILE_BYTES = 2**28
"""A file is in memory as a whole, more than once; the suite's are some 100 kB. A larger one is not read."""
_TABLES = "/(examples|exchanges|answers|failures)/"


def list_files(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """List all files under `roots`; bytes are read only of those that are chosen by path.

    Args:
        spark: the session.
        roots: run folders, or folders of them at any depth; any Hadoop URI.

    Returns:
        `path` (the file's URI) and `content`; Spark leaves empty files out.

    Raises:
        PathNotFound: a root does not exist.
    """
    reader = (
        spark.read.format("binaryFile")
        .option("recursiveFileLookup", True)
        .option("ignoreCorruptFiles", True)
    )
    try:
        files = reader.load(list(roots))
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        missing = (error.getMessageParameters() or {}).get("path", "a path").removeprefix("file:")
        raise PathNotFound(
            f"{missing} does not exist; give run folders, or folders of them"
        ) from error
    # By this column, unlike that which is called `path`, Spark chooses before it opens a file.
    path = F.col("_metadata.file_path")
    return files.where(F.col("length") <= LARGEST_FILE_BYTES).select(path.alias("path"), "content")


def read_headers(files: DataFrame) -> DataFrame:
    """Read every `run.json`, one row each, readable or not.

    Args:
        files: as `list_files` gives them.

    Returns:
        `folder`, `text` (the file; empty where it is no UTF-8), `sha256` (of the file), and `header` (the file
        parsed as `schema.HEADER`, with null fields where it does not follow that).
    """
    # The text source would put replacement characters where a file is no UTF-8.
    text = F.coalesce(F.try_validate_utf8(F.col("content").cast("string")), F.lit(""))
    return files.where(F.col("path").endswith("/run.json")).select(
        parent(F.col("path"), levels=1).alias("folder"),
        text.alias("text"),
        F.sha2("content", 256).alias("sha256"),
        F.from_json(text, HEADER).alias("header"),
    )


def planned_cells(headers: DataFrame) -> DataFrame:
    """Give the cells that each run set out to judge.

    Returns:
        One row per run and planned cell: `folder`, `run_id`, `started_at` (timestamp), `clause`,
        `target`, `listener`, `applicable`, `reason`, `known_violation`, and `flaky` (null, or how often
        failures showed again).
    """
    return headers.select(
        "folder",
        F.col("header.run_id").alias("run_id"),
        F.try_to_timestamp("header.started_at").alias("started_at"),
        F.inline("header.planned_cells"),
    )


def read_tables(
    files: DataFrame, *, without: Sequence[str], pinned_examples: Mapping[str, int]
) -> DataFrame:
    """Take what the roll-up needs from every file below the tables of run folders, in one pass.

    Args:
        files: as `list_files` gives them.
        without: run folders that are left out, as `read_headers` names them.
        pinned_examples: how many examples are written down with a property, at most, by its name.

    Returns:
        One row per file, as `file_contents.CONTENTS` says.
    """
    chosen = files.where(F.col("path").rlike(_TABLES))
    if without:
        folder = F.regexp_extract("path", f"^(.*){_TABLES}", 1)
        chosen = chosen.where(~folder.isin(list(without)))
    read = partial(read_contents, pinned_examples=pinned_examples)
    return chosen.mapInArrow(read, from_arrow_schema(CONTENTS))


def read_examples(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """Read every example row under `roots`: `folder` (of its run) and the columns of `schema.EXAMPLES`."""
    return _read_rows(spark, roots, "examples", EXAMPLES)


def read_exchanges(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """Read every exchange row under `roots`, as `read_examples` does: the columns of `schema.EXCHANGES`."""
    return _read_rows(spark, roots, "exchanges", EXCHANGES)


def read_answers(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """Read every answer under `roots`, as `read_examples` does: the columns of `schema.ANSWERS`."""
    return _read_rows(spark, roots, "answers", ANSWERS)


def _read_rows(
    spark: SparkSession, roots: Sequence[str], table: str, schema: StructType
) -> DataFrame:
    path: Column = F.col("_metadata.file_path")
    rows = (
        spark.read.option("recursiveFileLookup", True)
        .option("pathGlobFilter", "*.parquet")
        .option("ignoreCorruptFiles", True)
        .schema(schema)
        .parquet(*roots)
        .where(F.substring_index(path, "/", -2).startswith(f"{table}/"))
    )
    return rows.select(parent(path, levels=2).alias("folder"), *schema.fieldNames())
