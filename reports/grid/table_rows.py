"""Reads one of the roll-up's tables into objects, row by row, loading as little of Arrow as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from reports.grid.grid_limits import check_table
from reports.records import INPUTS_SHA256
from wire.foreign_json import read_foreign_json

_SCHEMA_OF_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_INSTANT = pa.timestamp("us", tz="UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = TypeVar("Row")
Conversion = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def read_rows(
    tables: Path, name: str, row_type: type[Row], *conversions: Conversion
) -> Iterator[Row]:
    """Read one table, row by row.

    Args:
        tables: the folder of the tables.
        name: the table's name.
        row_type: a dataclass; columns that it does not name are left out, and a field with a default may
            have no column.
        conversions: each returns the values that it changes.

    Raises:
        FileNotFoundError: the roll-up did not write the table.
        BeyondLimits: it is too large to be read.
    """
    parts = _parts_of(tables, name)
    known = set(parts[0].schema_arrow.names)
    columns = [
        field.name
        for field in fields(row_type)  # type: ignore[arg-type]
        if field.name in known or field.default is MISSING
    ]
    table = pa.concat_tables(part.read(columns=columns) for part in parts)
    instants = [field.name for field in table.schema if pa.types.is_timestamp(field.type)]
    for values in _in_microseconds(table).to_pylist():
        for instant in instants:
            values[instant] = _moment(values[instant])
        for convert in conversions:
            values |= convert(values)
        yield row_type(**values)


def read_table(tables: Path, name: str) -> pa.Table:
    """Read all columns of one table.

    Raises:
        FileNotFoundError: the roll-up did not write the table.
        BeyondLimits: it is too large to be read.
    """
    return pa.concat_tables(part.read() for part in _parts_of(tables, name))


def _parts_of(tables: Path, name: str) -> list[pq.ParquetFile]:
    # File by file: Arrow's datasets accept the folder, but load pandas, which takes over a second.
    paths = files_of_table(tables, name)
    if not paths:
        raise FileNotFoundError(tables / f"{name}.parquet")
    check_table(paths)
    return [pq.ParquetFile(path) for path in paths]


def files_of_table(tables: Path, name: str) -> list[Path]:
    """Return the files of a table, which is a folder or a single file; none if there is no table."""
    path = tables / f"{name}.parquet"
    return [path] if path.is_file() else sorted(path.glob("*.parquet"))


def inputs_sha256(tables: Path, name: str) -> str:
    """Read the hash of a table's inputs from its metadata; empty if there is no hash or no table."""
    for path in filter(Path.is_file, files_of_table(tables, name)):
        # Spark has no other place in the file for metadata of a table.
        said = (pq.read_metadata(path).metadata or {}).get(_SCHEMA_OF_SPARK)
        if said is not None:
            found: str = read_foreign_json(said)["fields"][0]["metadata"].get(INPUTS_SHA256, "")
            return found
    return ""


def _in_microseconds(table: pa.Table) -> pa.Table:
    """Convert instants to numbers: to make a `datetime`, Arrow would load pandas, which takes over a second."""
    for type_ in (_INSTANT, pa.int64()):
        fields_ = (
            each.with_type(type_) if pa.types.is_timestamp(each.type) else each
            for each in table.schema
        )
        table = table.cast(pa.schema(fields_))
    return table


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
