"""Reader of a roll-up's tables into objects, row by row.

It loads as little of Arrow as possible, and keeps within the limits of a grid's folder.

A folder beyond the limits is refused before its content is in memory: a grid may come from a stranger, and a small
file can hold a lot, compressed, or as a text that many rows repeat. Real grids stay far below the limits: the largest
had 1,500 files and 50 MB, their tables 2,400 rows and 18 MB of texts in a file.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reports.records import INPUTS_SHA256
from reports.run_folders.refused_runs import NOTICES_FILE, REFUSED_FILE
from reports.run_folders.run_limits import content_of
from reports.tables.columns import TableColumn, column_of, columns_of_rows
from wire.foreign_json import read_foreign_json

GRID_FILE = "grid.json"
MAX_FILES = 100_000
MAX_FILE_BYTES = 2**28
"""Size of one file on disk."""
MAX_JSON_BYTES = 2**25
"""The same of a file of JSON, of which each byte can become 30 bytes in memory."""
MAX_GRID_BYTES = 2**32
"""Size of all files on disk. They are hashed, which takes a second for each 500 MB."""
MAX_ROWS = 1_000_000
"""Rows of one table, in all its Parquet files."""
MAX_VALUES = 10_000_000
"""Values of all columns of a table; a row of a column of lists has any number of them."""
MAX_UNPACKED_BYTES = 2**29
"""Size of a table's columns when they are decompressed, and of its texts when every row has its own copy."""
_SCHEMA_OF_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_INSTANT = pa.timestamp("us", tz="UTC")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = TypeVar("Row")
Conversion = Callable[[Any], Any]


def read_rows(tables: Path, name: str, row_type: type[Row]) -> Iterator[Row]:
    """Read one table, row by row.

    Args:
        tables: the folder of the tables.
        name: the table's name.
        row_type: a dataclass, whose fields are as `reports.tables.columns` says; columns that it does not name are
            left out, and a field with a default may have no column.

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
    conversions = {
        column.name: convert
        for column in columns_of_rows(row_type)
        if column.name in columns and (convert := _conversion(column))
    }
    for values in _in_microseconds(table).to_pylist():
        for instant in instants:
            if values[instant] is not None:
                values[instant] = _EPOCH + timedelta(microseconds=values[instant])
        for column, convert in conversions.items():
            values[column] = convert(values[column])
        yield row_type(**values)


def _conversion(column: TableColumn) -> Conversion | None:
    """Return what makes a value of the file one of a row; None if both are the same."""
    convert = _conversion_to(column.type)
    if convert is None:
        return None if column.null_is is None else lambda value: column.null_is if value is None else value
    return lambda value: column.null_is if value is None else convert(value)


def _conversion_to(type_: Any) -> Conversion | None:
    if get_origin(type_) is tuple:
        of_entry = _conversion(column_of(get_args(type_)[0]))
        return tuple if of_entry is None else lambda value: tuple(map(of_entry, value))
    if get_origin(type_) is not None:
        return lambda value: dict(sorted(value))
    if isinstance(type_, type) and is_dataclass(type_):
        return partial(_struct, type_, {column.name: _conversion(column) for column in columns_of_rows(type_)})
    return type_ if issubclass(type_, Enum) else None


def _struct(type_: type, conversions: Mapping[str, Conversion | None], value: Mapping[str, Any]) -> Any:
    return type_(**{name: convert(value[name]) if convert else value[name] for name, convert in conversions.items()})


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
        metadata = (pq.read_metadata(path).metadata or {}).get(_SCHEMA_OF_SPARK)
        if metadata is not None:
            digest: str = read_foreign_json(metadata)["fields"][0]["metadata"].get(INPUTS_SHA256, "")
            return digest
    return ""


def _in_microseconds(table: pa.Table) -> pa.Table:
    """Convert instants to numbers: to make a `datetime`, Arrow would load pandas, which takes over a second."""
    for type_ in (_INSTANT, pa.int64()):
        fields_ = (each.with_type(type_) if pa.types.is_timestamp(each.type) else each for each in table.schema)
        table = table.cast(pa.schema(fields_))
    return table


class BeyondLimits(ValueError):
    """A grid's folder must not be read; the message says which file, and why."""


def check_files(folder: Path) -> None:
    """Check that the files of a folder can be hashed in a reasonable time. Links are not followed.

    Raises:
        BeyondLimits: there are too many files, or they are too large.
    """
    size = 0
    for count, (path, status) in enumerate(content_of(folder), start=1):
        if stat.S_ISREG(status.st_mode):
            size += status.st_size
            _check(path.relative_to(folder), "bytes", status.st_size, MAX_FILE_BYTES)
        _check(folder, "files", count, MAX_FILES)
    _check(folder, "bytes", size, MAX_GRID_BYTES)
    check_lists(folder)


def check_lists(folder: Path) -> None:
    """Check that the files of JSON next to the tables fit into memory; one that is missing is no fault.

    Raises:
        BeyondLimits: it does not, or is no plain file.
    """
    for path in (folder / REFUSED_FILE, folder / NOTICES_FILE, folder / GRID_FILE):
        if path.exists():
            _check_file(path, MAX_JSON_BYTES)


def check_table(parts: Sequence[Path]) -> None:
    """Check that the rows of a table, in these Parquet files, fit into memory.

    Raises:
        BeyondLimits: they do not, as far as that can be found out without reading them, or a part is no plain file.
        pa.ArrowException, OSError: a part cannot be read.
    """
    rows = values = unpacked = texts = 0
    for path in parts:
        _check_file(path, MAX_FILE_BYTES)
        metadata = pq.read_metadata(path)
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        columns = [group.column(index) for group in groups for index in range(group.num_columns)]
        # What is read follows the groups, and not the total that a footer claims.
        rows += max(metadata.num_rows, sum(group.num_rows for group in groups))
        _check(path, "rows", rows, MAX_ROWS)
        values += sum(column.num_values for column in columns)
        _check(path, "values", values, MAX_VALUES)
        unpacked += sum(column.total_uncompressed_size for column in columns)
        _check(path, "bytes when decompressed", unpacked, MAX_UNPACKED_BYTES)
        texts += _text_bytes(path, metadata)
        _check(path, "bytes of texts", texts, MAX_UNPACKED_BYTES)


def _text_bytes(path: Path, metadata: pq.FileMetaData) -> int:
    """Return the size of a file's texts if every row had its own copy.

    Here a text that many rows repeat is in memory once.
    """
    leaves = map(metadata.schema.column, range(len(metadata.schema)))
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    with pq.ParquetFile(path, metadata=metadata, read_dictionary=texts) as file:
        table = file.read(columns=texts, use_threads=False)
    return sum(_size_of(chunk) for column in table.columns for chunk in column.chunks)


def _size_of(column: pa.Array) -> int:
    if pa.types.is_dictionary(column.type):
        lengths = pc.binary_length(column.dictionary).cast(pa.int64())
        return pc.sum(lengths.take(column.indices)).as_py() or 0
    if pa.types.is_struct(column.type):
        return sum(map(_size_of, column.flatten()))
    if pa.types.is_list(column.type):
        return _size_of(column.flatten())
    return int(column.nbytes)


def _check_file(path: Path, most: int) -> None:
    # A link may lead to a pipe or a device, of which a read never ends.
    if not path.is_file():
        raise BeyondLimits(f"{path} is no file")
    _check(path, "bytes", path.stat().st_size, most)


def _check(what: Path, unit: str, number: int, most: int) -> None:
    if number > most:
        raise BeyondLimits(f"{what} has {number:,} {unit}; the limit is {most:,}")
