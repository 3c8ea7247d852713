"""Reads run folders: summaries of table files, and single rows.

`screened` first leaves out those that Spark must not open: those with links or with too much in them, and those that it
would drop without a word, because something in their paths is not UTF-8. Only local folders are examined. On other file
systems there are no links, and what is too large is refused once its length is known (`list_files`) or its footer is
read (`file_contents`).

Nothing read here fails the job. A damaged file is marked and counts as having no rows. Its run is then refused because
the footer counts more rows, and the reason names the file. The footer's hashes reveal a missing or changed file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from reports.records import HASHED_PARTS, HEADER_FILE
from reports.run_folders.file_contents import CONTENTS, PARTIAL_KEYS, contents_of
from reports.run_folders.record_paths import fault_of_path, shown_path
from reports.run_folders.refusal_reasons import SPECIAL_ROOT, UNUSABLE_NAME, RunRefusal
from reports.run_folders.refused_runs import RefusedRun
from reports.run_folders.run_limits import MAX_FILE_BYTES, fault_of_files, is_special, kind_of
from spark_aggregation.errors import PathNotFound, check_path
from spark_aggregation.reading.storage import is_uri

_PARTS = f"({'|'.join(HASHED_PARTS)})"
_PART = re.compile(f"/(?={_PARTS}/.)", re.DOTALL)
_GLOB = re.compile(r"[\\{}\[\]*?]")


def list_files(spark: SparkSession, roots: Sequence[str]) -> DataFrame:
    """List all files under `roots`. Spark reads the bytes only of files that a query then chooses by path.

    Args:
        spark: the session.
        roots: run folders, or folders of them at any depth; any Hadoop URI.

    Returns:
        `path` (the file's URI) and `content`; without empty files, which Spark leaves out, and those of more than
        `MAX_FILE_BYTES`, because a file is held completely in memory, more than once.

    Raises:
        PathNotFound: a root does not exist.
    """
    reader = spark.read.format("binaryFile").option("recursiveFileLookup", True).option("ignoreCorruptFiles", True)
    try:
        files = reader.load(list(roots))
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        missing = (error.getMessageParameters() or {}).get("path", "a path").removeprefix("file:")
        raise PathNotFound(f"{missing} does not exist; give run folders, or folders of them") from error
    # Spark filters by this column before it opens a file, which it does not by the column `path`.
    path = F.col("_metadata.file_path")
    return files.where(F.col("length") <= MAX_FILE_BYTES).select(path.alias("path"), "content")


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
    files: DataFrame, *, runs: Sequence[str], without: Sequence[str], pinned_examples: Mapping[str, int]
) -> DataFrame:
    """Summarize every file of run folders' tables for the roll-up, in one pass.

    Args:
        files: as `list_files` returns them.
        runs: the other run folders, named as `read_headers` names them. All files below one belong to it.
        without: run folders to leave out, named alike.
        pinned_examples: the largest number of examples written down with each property, by its name.

    Returns:
        One row per file, with the columns of `file_contents.CONTENTS`.
    """
    chosen = files.where(F.col("path").rlike(f"/{_PARTS}/"))
    if without:
        folder = F.regexp_extract("path", f"^(.*)/{_PARTS}/", 1)
        chosen = chosen.where(~folder.isin(list(without)))
    read = partial(_contents_in, runs=frozenset(runs), without=frozenset(without), pinned_examples=pinned_examples)
    return chosen.mapInArrow(read, from_arrow_schema(CONTENTS))


def _contents_in(
    batches: Iterable[pa.RecordBatch],
    *,
    runs: Collection[str],
    without: Collection[str],
    pinned_examples: Mapping[str, int],
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for path, content in zip(batch["path"].to_pylist(), batch["content"], strict=True):
            folders = [path[: match.start()] for match in _PART.finditer(path)]
            if not folders:
                continue
            # A folder in a run may be named like a part; so may one that the run is in.
            folder = next((each for each in folders if each in runs or each in without), folders[-1])
            if folder not in without:
                name = unquote(path.removeprefix(f"{folder}/"))
                yield contents_of(folder, name, content.as_buffer(), pinned_examples=pinned_examples)


def read_rows(spark: SparkSession, roots: Sequence[str], table: str, schema: StructType) -> DataFrame:
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


def partial_aggregates(contents: DataFrame) -> DataFrame:
    """Merge the partial aggregates of single files: what is left of 10^8 example rows after one pass.

    The long form is intentional. Counts, the days on which a failure was seen and its smallest example are sums, minima
    and maxima over the same few rows. Merging two nights is therefore one `groupBy`, and what a grid shows is derived
    later. What examples reached is counted separately, per cell, and so are latencies, per column of the grid. As
    further keys here they would turn one row into three and ten rows.

    Args:
        contents: as `read_tables` returns them.

    Returns:
        One row per `folder` and distinct `PARTIAL_KEYS`, with `examples` (how many), `smallest_example` (the lowest
        example number), `first_seen` and `last_seen` (run dates).
    """
    per_file = contents.select("folder", F.inline("partials"))
    days = {"first_seen": F.col("run_date"), "last_seen": F.col("run_date")}
    return merge_partials(per_file.withColumns(days), ("folder", *PARTIAL_KEYS))


def counted_apart(contents: DataFrame, name: str) -> DataFrame:
    """Merge the other counts of single files.

    Args:
        contents: as `read_tables` returns them.
        name: which counts: `reached` or `latencies`.

    Returns:
        One row per `folder` and distinct keys of these counts (see `file_contents`), with `examples`.
    """
    per_file = contents.select("folder", F.inline(name))
    keys = [column for column in per_file.columns if column != "examples"]
    return per_file.groupBy(*keys).agg(F.sum("examples").alias("examples"))


def merge_partials(partials: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Merge partial aggregates to a coarser grain, in any order and any number of steps.

    Args:
        partials: the union of the aggregates to merge.
        keys: columns of the new grain, among `folder` and `PARTIAL_KEYS`.

    Returns:
        One row per distinct `keys`, with the measures of `partial_aggregates`.
    """
    return partials.groupBy(*keys).agg(
        F.sum("examples").alias("examples"),
        F.min("smallest_example").alias("smallest_example"),
        F.min("first_seen").alias("first_seen"),
        F.max("last_seen").alias("last_seen"),
    )


def parent(path: Column, *, levels: int) -> Column:
    """Cut the last `levels` names off a path."""
    return path.substr(F.lit(1), F.length(path) - F.length(F.substring_index(path, "/", -levels)) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """Result of `screened`.

    Attributes:
        roots: folders for Spark to read: the given ones, or parts of them if something in them is refused.
        refused: what is left out.
    """

    roots: tuple[str, ...]
    refused: tuple[RefusedRun, ...]


def screened(roots: Sequence[str]) -> Screened:
    """Leave out what must not be read.

    Args:
        roots: run folders, or folders of them at any depth; any Hadoop URI. They may be links themselves.

    Raises:
        UnusablePath: a root is not UTF-8.
    """
    kept: list[str] = []
    refused: dict[Path, RefusedRun] = {}
    for root in roots:
        check_path(root)
        faults = {} if is_uri(root) else dict(_faults(Path(root)))
        refused |= faults
        kept += [root] if not faults else _other_parts(Path(root), faults)
    return Screened(roots=tuple(kept), refused=tuple(refused[folder] for folder in sorted(refused)))


def _faults(root: Path) -> Iterator[tuple[Path, RefusedRun]]:
    """Find run folders that must not be read, and what else Spark must not see outside of run folders."""
    for folder, folders, files in os.walk(root):
        if HEADER_FILE in files:
            folders.clear()
            fault = fault_of_files(Path(folder))
            if fault is not None:
                yield _refused(Path(folder), *fault)
            continue
        for path in (Path(folder, name) for name in (*folders, *files)):
            status = path.lstat()
            if is_special(status):
                yield _refused(path, *SPECIAL_ROOT.fault(kind_of(status)))
            elif (unusable := fault_of_path(path, called="its path")) and not _has_runs(path):
                yield _refused(path, *UNUSABLE_NAME.fault(unusable))
                if path.name in folders:
                    folders.remove(path.name)


def _refused(path: Path, refusal: RunRefusal, reason: str) -> tuple[Path, RefusedRun]:
    return path, RefusedRun(folder=shown_path(path), refusal=refusal.value, reason=reason)


def _has_runs(path: Path) -> bool:
    """Return whether something is a folder with run folders in it, each of which is refused by its own name."""
    return any(HEADER_FILE in files for _, _, files in os.walk(path))


def _other_parts(folder: Path, refused: Collection[Path]) -> Iterator[str]:
    """Yield the largest folders that contain nothing refused, escaped for Spark.

    Spark then sees no pattern in * and similar characters.
    """
    if folder in refused or fault_of_path(folder):
        return
    if not any(folder in path.parents for path in refused):
        yield _GLOB.sub(r"\\\g<0>", str(folder))
        return
    for path in sorted(folder.iterdir()):
        if path in refused or path.is_dir():
            yield from _other_parts(path, refused)
