"""Reads run folders: headers, summaries of the files of their tables, and single rows.

Nothing read here fails the job. A damaged file is marked and counts as having no rows. Its run is then refused because
the footer counts more rows, and the reason names the file. The footer's hashes reveal a missing or changed file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from reports.records import HEADER_FILE, MACHINES_FOLDER
from reports.run_limits import LARGEST_FILE_BYTES
from spark_aggregation.errors import PathNotFound
from spark_aggregation.reading.file_contents import CONTENTS, read_contents
from spark_aggregation.reading.partials import parent
from spark_aggregation.reading.schema import HEADER

_TABLES = f"/(examples|exchanges|answers|failures|{MACHINES_FOLDER})/"


def list_files(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """List all files under `roots`. Spark reads the bytes only of files that a query then chooses by path.

    Args:
        spark: the session.
        roots: run folders, or folders of them at any depth; any Hadoop URI.

    Returns:
        `path` (the file's URI) and `content`; without empty files, which Spark leaves out, and those of more than
        `LARGEST_FILE_BYTES`, because a file is held completely in memory, more than once.

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
    # Spark filters by this column before it opens a file, which it does not by the column `path`.
    path = F.col("_metadata.file_path")
    return files.where(F.col("length") <= LARGEST_FILE_BYTES).select(path.alias("path"), "content")


def read_headers(files: DataFrame) -> DataFrame:
    """Read every `run.json`, one row each, readable or not.

    Args:
        files: as `list_files` returns them.

    Returns:
        `folder`, `text` (the file; empty if it is not UTF-8), `sha256` (of the file), and `header` (the file
        parsed as `schema.HEADER`; fields that do not follow the schema are null).
    """
    # The text source would insert replacement characters into a file that is not UTF-8.
    text = F.coalesce(F.try_validate_utf8(F.col("content").cast("string")), F.lit(""))
    return files.where(F.col("path").endswith(f"/{HEADER_FILE}")).select(
        parent(F.col("path"), levels=1).alias("folder"),
        text.alias("text"),
        F.sha2("content", 256).alias("sha256"),
        F.from_json(text, HEADER).alias("header"),
    )


def planned_cells(headers: DataFrame) -> DataFrame:
    """Return the cells that each run planned to judge.

    Returns:
        One row per run and planned cell: `folder`, `run_id`, `started_at` (timestamp), `clause`,
        `target`, `listener`, `applicable`, `reason`, `known_violation`, `flaky` (null, or how often
        failures occurred again), and `unproven` (null or empty, or why no violation counts).
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
    """Summarize every file of run folders' tables for the roll-up, in one pass.

    Args:
        files: as `list_files` returns them.
        without: run folders to leave out, named as `read_headers` names them.
        pinned_examples: the largest number of examples written down with each property, by its name.

    Returns:
        One row per file, with the columns of `file_contents.CONTENTS`.
    """
    chosen = files.where(F.col("path").rlike(_TABLES))
    if without:
        folder = F.regexp_extract("path", f"^(.*){_TABLES}", 1)
        chosen = chosen.where(~folder.isin(list(without)))
    read = partial(read_contents, pinned_examples=pinned_examples)
    return chosen.mapInArrow(read, from_arrow_schema(CONTENTS))


def read_rows(
    spark: SparkSession, roots: Sequence[str], table: str, schema: StructType
) -> DataFrame:
    """Read every row of a table under `roots`: `folder` (of its run) and the columns of its schema."""
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
