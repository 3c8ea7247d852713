"""Limits of a grid's folder. One beyond them is refused before its content is in memory.

A grid may come from a stranger, and a small file can hold a lot: compressed, or as a text that many rows repeat. Real grids
stay far below the limits: the largest had 1,500 files and 50 MB, their tables 2,400 rows and 18 MB of texts in a file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reports.refused_runs import NOTICES_FILE, REFUSED_FILE

GRID_FILE = "grid.json"
MOST_FILES = 100_000
LARGEST_FILE_BYTES = 2**28
"""Size of one file on disk."""
LARGEST_JSON_BYTES = 2**25
"""The same of a file of JSON, of which each byte can become 30 bytes in memory."""
LARGEST_GRID_BYTES = 2**32
"""Size of all files on disk. They are hashed, which takes a second for each 500 MB."""
MOST_ROWS = 1_000_000
"""Rows of one table, in all its Parquet files."""
MOST_VALUES = 10_000_000
"""Values of all columns of a table; a row of a column of lists has any number of them."""
MOST_UNPACKED_BYTES = 2**29
"""Size of a table's columns when they are decompressed, and of its texts when every row has its own copy."""


class BeyondLimits(ValueError):
    """A grid's folder must not be read; the message says which file, and why."""


def check_files(folder: Path) -> None:
    """Check that the files of a folder can be hashed in a reasonable time. Links are not followed.

    Raises:
        BeyondLimits: there are too many files, or they are too large.
    """
    size = 0
    for count, path in enumerate(_files_of(folder), start=1):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            size += status.st_size
            _check(path.relative_to(folder), "bytes", status.st_size, LARGEST_FILE_BYTES)
        _check(folder, "files", count, MOST_FILES)
    _check(folder, "bytes", size, LARGEST_GRID_BYTES)
    check_lists(folder)


def check_lists(folder: Path) -> None:
    """Check that the files of JSON next to the tables fit into memory; one that is missing is no fault.

    Raises:
        BeyondLimits: it does not, or is no plain file.
    """
    for path in (folder / REFUSED_FILE, folder / NOTICES_FILE, folder / GRID_FILE):
        if path.exists():
            _check_file(path, LARGEST_JSON_BYTES)


def check_table(parts: Sequence[Path]) -> None:
    """Check that the rows of a table, in these Parquet files, fit into memory.

    Raises:
        BeyondLimits: they do not, as far as that can be found out without reading them, or a part is no plain file.
        pa.ArrowException, OSError: a part cannot be read.
    """
    rows = values = unpacked = texts = 0
    for path in parts:
        _check_file(path, LARGEST_FILE_BYTES)
        metadata = pq.read_metadata(path)
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
        columns = [group.column(index) for group in groups for index in range(group.num_columns)]
        # What is read follows the groups, and not the total that a footer claims.
        rows += max(metadata.num_rows, sum(group.num_rows for group in groups))
        _check(path, "rows", rows, MOST_ROWS)
        values += sum(column.num_values for column in columns)
        _check(path, "values", values, MOST_VALUES)
        unpacked += sum(column.total_uncompressed_size for column in columns)
        _check(path, "bytes when decompressed", unpacked, MOST_UNPACKED_BYTES)
        texts += _text_bytes(path, metadata)
        _check(path, "bytes of texts", texts, MOST_UNPACKED_BYTES)


def _text_bytes(path: Path, metadata: pq.FileMetaData) -> int:
    """Return the size of a file's texts when every row has its own copy; here a text that many rows repeat is in memory once."""
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


def _files_of(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in (*folders, *files))


def _check(what: Path, unit: str, found: int, most: int) -> None:
    if found > most:
        raise BeyondLimits(f"{what} has {found:,} {unit}; the limit is {most:,}")
