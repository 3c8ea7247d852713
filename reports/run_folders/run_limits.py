"""Limits of a run folder, checked before its content is in memory.

A folder beyond the limits is refused by name.

Run folders may come from strangers, and a small file can hold a lot: compressed, as a text that many rows repeat, or as
a link to something else. Real folders stay far below the limits: the largest had 1,200 files and 20 MB, their tables
20,000 rows and 6 MB in a file.

Nor may a folder have files that only some readers see: Spark lists no empty and no hidden ones, and none of a name that
is not UTF-8.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq

from reports.records import HASHED_PARTS, HEADER_FILE
from reports.run_folders.record_paths import fault_of_absolute_path, fault_of_path
from reports.run_folders.refusal_reasons import BEYOND_LIMITS, CHANGED_FILE, SPECIAL_FILE, UNUSABLE_NAME, FolderFault
from wire.foreign_json import read_foreign_json

MAX_FILES = 20_000
"""Files and folders in a run folder."""
MAX_FILE_BYTES = 2**24
"""Size of one file on disk."""
MAX_FOLDER_BYTES = 2**27
"""Size of all files of a run folder on disk."""
MAX_ROWS = 1_000_000
"""Rows of one Parquet file."""
MAX_UNPACKED_BYTES = 2**26
"""Size of one Parquet file's columns when they are decompressed, and of its texts when every row has its own copy."""
MAX_ENTRIES = 100_000
"""Rows of one Parquet file that differ in more than their number and their latency."""
COMPRESSIONS = frozenset({"SNAPPY", "UNCOMPRESSED"})
"""What the suite writes. Snappy makes at most 22 bytes of one, whatever sizes the file claims."""
ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})
"""What the suite and other writers use by default. Others make long texts out of a few bytes."""

_ADVICE = "this suite writes nothing like it; leave the folder out"


def fault_of_files(folder: Path) -> FolderFault | None:
    """Find out why a run folder must not be read, without opening any file of its tables.

    Args:
        folder: the run folder; it may itself be reached through a link.

    Returns:
        The kind of reason and the reason as a sentence; None if there is none.
    """
    if unusable := fault_of_absolute_path(folder, called="its path"):
        return UNUSABLE_NAME.fault(unusable)
    size, unseen = 0, []
    for files, (path, status) in enumerate(content_of(folder), start=1):
        name = path.relative_to(folder).as_posix()
        is_folder = stat.S_ISDIR(status.st_mode)
        if unusable := fault_of_path(name):
            return UNUSABLE_NAME.fault(unusable)
        if is_special(status):
            return SPECIAL_FILE.fault(name, kind_of(status))
        size += 0 if is_folder else status.st_size
        if not is_folder and status.st_size > MAX_FILE_BYTES:
            return _too_large(f"{name} has {status.st_size:,} bytes", MAX_FILE_BYTES)
        if files > MAX_FILES:
            return _too_large("it has too many files", MAX_FILES)
        if size > MAX_FOLDER_BYTES:
            return _too_large("its files are too large together", MAX_FOLDER_BYTES, "bytes")
        if not is_folder and (status.st_size == 0 or is_hidden(name)):
            unseen.append(name)
    return _fault_of_unseen(folder, unseen)


def is_hidden(name: str) -> bool:
    """Return whether Spark may leave a file out because of its name.

    Args:
        name: its name below the run folder, with slashes.
    """
    return name.endswith("._COPYING_") or any(part[0] in "._" for part in name.split("/"))


def _fault_of_unseen(folder: Path, unseen: Iterable[str]) -> FolderFault | None:
    """Find a file that Spark does not see among those that were added to a run whose footer has hashes."""
    hashed = sorted(name for name in unseen if name.partition("/")[0] in HASHED_PARTS)
    if hashed and (listed := _listed_files(folder)):
        for name in hashed:
            if name not in listed:
                return CHANGED_FILE.fault(name, "was added")
    return None


def _listed_files(folder: Path) -> frozenset[str]:
    """Return the names of the files that a run's footer lists; of no file if there is none to be read."""
    try:
        return frozenset(read_foreign_json((folder / HEADER_FILE).read_bytes())["footer"]["files"])
    except (OSError, ValueError, TypeError, KeyError):
        return frozenset()


def is_special(status: os.stat_result) -> bool:
    """Return whether something is neither a file nor a folder."""
    return not stat.S_ISDIR(status.st_mode) and not stat.S_ISREG(status.st_mode)


def kind_of(status: os.stat_result) -> str:
    """Name what is neither a file nor a folder."""
    return "a link" if stat.S_ISLNK(status.st_mode) else "a pipe, socket or device"


def content_of(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield everything in a folder, at any depth, with its status; links are not followed."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            yield path, path.lstat()


def _too_large(what: str, most: int, unit: str = "") -> FolderFault:
    return BEYOND_LIMITS.fault(f"{what}; {limit(most, unit)}")


def limit(most: int, unit: str = "") -> str:
    """Return the end of the sentence about something that is beyond a limit."""
    return f"the limit is {most:,}{' ' if unit else ''}{unit}: {_ADVICE}"


def excess_of(metadata: pq.FileMetaData) -> str:
    """Find out from a Parquet file's footer why its rows must not be read.

    Returns:
        The reason, to follow the file's name; empty if there is none.
    """
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    columns = [group.column(index) for group in groups for index in range(group.num_columns)]
    # What is read follows the groups, and not the total that a footer claims.
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    if rows > MAX_ROWS:
        return f"it has {rows:,} rows; {limit(MAX_ROWS)}"
    most_values = max((column.num_values for column in columns), default=0)
    if most_values > rows:
        return f"a column has {most_values:,} values, but the number of rows is {rows:,}: {_ADVICE}"
    unpacked = sum(column.total_uncompressed_size for column in columns)
    if unpacked > MAX_UNPACKED_BYTES:
        return f"it has {unpacked:,} bytes when decompressed; {limit(MAX_UNPACKED_BYTES)}"
    foreign = {column.compression for column in columns} - COMPRESSIONS
    foreign |= {name for column in columns for name in column.encodings} - ENCODINGS
    if foreign:
        return f"it is written with {', '.join(sorted(foreign))}: {_ADVICE}"
    return ""
