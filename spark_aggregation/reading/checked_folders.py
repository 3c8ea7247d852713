"""Reads the headers of run folders, and decides which folders count.

`run_rules` decides about each folder, and here no two may have the same run id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from reports.arrow_schemas import header_type
from reports.records import HEADER_FILE
from reports.run_folders.refusal_reasons import DUPLICATE_RUN_ID, NO_HEADER, FolderFault, RunRefusal
from reports.run_folders.run_rules import JUDGED_COLUMNS, fault_of_contents, header_column, header_of

HEADERS = pa.schema(
    [
        ("folder", pa.string()),
        ("sha256", pa.string()),
        ("header", header_type()),
        ("refusal", pa.string()),
        ("reason", pa.string()),
    ]
)
"""One row per `run.json`.

- `folder` (of the run, as Spark names it), `sha256` (of the file);
- `header`: what the file contains; null if the run does not count because of it;
- `refusal` (a value of `refusal_reasons.RunRefusal`) and `reason` (a sentence): why it does not count, else null.
"""


def read_headers(files: DataFrame) -> DataFrame:
    """Read every `run.json`, one row each, readable or not.

    Args:
        files: as `run_files.list_files` returns them.

    Returns:
        One row per file, with the columns of `HEADERS`.
    """
    chosen = files.where(F.col("path").endswith(f"/{HEADER_FILE}"))
    return chosen.mapInArrow(_headers_in, from_arrow_schema(HEADERS))


def _headers_in(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for path, content in zip(batch["path"].to_pylist(), batch["content"].to_pylist(), strict=True):
            folder = pa.array([path.removesuffix(f"/{HEADER_FILE}")])
            sha256 = pa.array([hashlib.sha256(content).hexdigest()])
            header = header_of(content)
            if isinstance(header, FolderFault):
                yield _row_of(folder, sha256, pa.nulls(1, header_type()), header)
            else:
                yield _row_of(folder, sha256, header_column(header), None)


def _row_of(folder: pa.Array, sha256: pa.Array, header: pa.Array, fault: FolderFault | None) -> pa.RecordBatch:
    reason = [pa.array([value], pa.string()) for value in fault or (None, None)]
    return pa.RecordBatch.from_arrays([folder, sha256, header, *reason], schema=HEADERS)


def checked_folders(headers: DataFrame, contents: DataFrame, known: DataFrame) -> DataFrame:
    """Decide whether each folder counts; if it does not, name the first reason that applies.

    Args:
        headers: as `read_headers` returns them.
        contents: as `run_files.read_tables` returns them.
        known: runs that already count: `run_id`, `known_folder`, `known_sha256`.

    Returns:
        One row per folder: `folder`, `sha256` and `header` as they were read; `counts`; `refusal` (a value of
        `refusal_reasons.RunRefusal`; null if the folder counts or is a copy of a run that counts), `reason` (a sentence
        for readers).
    """
    summaries = contents.select("folder", F.struct(*JUDGED_COLUMNS).alias("file"))
    rows = headers.unionByName(summaries, allowMissingColumns=True)
    ordered = rows.repartition("folder").sortWithinPartitions("folder", "file.name")
    return _without_duplicates(ordered.mapInArrow(_checked, from_arrow_schema(HEADERS)), known)


def _checked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Decide about run folders one after the other, with the summaries of one batch in memory at a time.

    Args:
        batches: of each folder first its header, if it has one, with the columns of `HEADERS`; then each file, as
            `file`.

    Yields:
        One row per folder, with the columns of `HEADERS`.
    """
    rows = (batch.slice(index, 1) for batch in batches for index in range(len(batch)))
    for _, rows_of_run in groupby(rows, key=lambda row: row["folder"][0].as_py()):
        yield from _checked_run(rows_of_run)


def _checked_run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the row of one folder, or none if its files belong to no run."""
    first = next(rows)
    if first["sha256"].null_count == 0:
        fault = _fault_of_run(first, map(_file_in, rows))
    elif any(_file_in(row)["example_rows"] for row in chain([first], rows)):
        fault = NO_HEADER.fault()
    else:
        return
    yield _row_of(first["folder"], first["sha256"], first["header"], fault)


def _fault_of_run(row: pa.RecordBatch, files: Iterable[Mapping[str, Any]]) -> FolderFault | None:
    refusal, reason = (row[name][0].as_py() for name in ("refusal", "reason"))
    if refusal is not None:
        return FolderFault(RunRefusal(refusal), reason)
    return fault_of_contents(row["header"][0].as_py(maps_as_pydicts="strict"), files)


def _file_in(row: pa.RecordBatch) -> Mapping[str, Any]:
    file: Mapping[str, Any] = row["file"][0].as_py()
    return file


def is_judged_by_owner() -> Column:
    """Return whether a run comes from a pack, given its `header`: it takes no other run's place."""
    return F.expr("exists(header.targets, target -> target.judged_by_owner IS NOT NULL)")


def _without_duplicates(checked: DataFrame, known: DataFrame) -> DataFrame:
    """Refuse folders whose run id belongs to another folder that counts; `refusal` is null for exact copies."""
    sound, known_already = F.col("sound"), F.col("known_sha256").isNotNull()
    same_run = Window.partitionBy("run_id", "sound").orderBy("by_owner", "folder")
    named = checked.withColumns(
        {"run_id": F.col("header.run_id"), "sound": F.isnull("refusal"), "by_owner": is_judged_by_owner()}
    )
    compared = named.join(known, on="run_id", how="left").withColumns(
        {
            "first_folder": F.coalesce("known_folder", F.first("folder").over(same_run)),
            "first_sha256": F.coalesce("known_sha256", F.first("sha256").over(same_run)),
            "again": sound & ((F.row_number().over(same_run) > 1) | known_already),
        }
    )
    differs = F.col("again") & (F.col("sha256") != F.col("first_sha256"))
    taken = F.when(F.col("again"), F.format_string(DUPLICATE_RUN_ID.sentence, "first_folder"))
    return compared.select(
        "folder",
        "sha256",
        "header",
        (sound & ~F.col("again")).alias("counts"),
        F.coalesce("refusal", F.when(differs, DUPLICATE_RUN_ID.refusal.value)).alias("refusal"),
        F.coalesce("reason", taken).alias("reason"),
    )
