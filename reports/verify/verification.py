"""Checks that a published grid follows from its runs.

It checks files, inputs, every row of every table, and refused folders.

The paths of run folders are not compared. Tables from other reports (`GIVEN_TABLES`) are compared only if those
reports are given. `page_verification` checks the pages and exports.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from reports.grid.table_rows import check_files, files_of_table, inputs_sha256, read_table
from reports.records import HEADER_FILE, TABLES_FOLDER
from reports.run.run_folder import read_run_header
from reports.run_folders.hash_list import HASH_LIST, altered_files, files_of, read_hash_list, sha256_of
from reports.run_folders.refused_runs import NOTICES_FILE, REFUSED_FILE, RunRefused
from reports.run_folders.run_refusals import RunRefusal
from reports.tables.all_tables import ROW_KEYS
from wire.foreign_json import read_foreign_json

GIVEN_TABLES: Mapping[str, str] = MappingProxyType(
    {"mutation": "mutation", "release_changes": "changes", "inputs_left_out": "changes"}
)
"""Maps each table that comes from another report to the option that names the report."""
_WHERE_IT_LAY = frozenset({"folder"})
_SHOWN_CHARACTERS = 60

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GridDifference:
    """One difference between a published grid and the grid that its runs produce.

    Attributes:
        part: what differs: "file", "run", "page", or the name of a table or list.
        sentence: which one, and how.
    """

    part: str
    sentence: str


def differing_files(published: Path) -> Iterator[GridDifference]:
    """Compare a published folder with the list of hashes in it.

    Raises:
        InvalidHashList: a line of the list is not a hash and a name.
        BeyondLimits: the folder is too large to be hashed.
    """
    check_files(published)
    if not (published / HASH_LIST).is_file():
        yield GridDifference("file", f"{HASH_LIST} is missing, so changed files cannot be found")
        return
    listed = read_hash_list(published)
    for name, what in altered_files(published, listed):
        yield GridDifference("file", f"{name} {what} since the grid was written")
    for name in sorted(name for name, _ in files_of(published)):
        if name not in listed:
            yield GridDifference("file", f"{name} is not in {HASH_LIST}")


def run_folders(roots: Iterable[Path]) -> list[Path]:
    """Find run folders: the roots themselves, or folders below them at any depth.

    Raises:
        OSError: a folder cannot be read. Without this error its runs would be missing ones.
    """

    def refuse(error: OSError) -> None:
        raise error

    walks = (os.walk(root, onerror=refuse) for root in roots)
    return sorted({Path(folder) for walk in walks for folder, _, files in walk if HEADER_FILE in files})


def differing_runs(published: Path, folders: Sequence[Path]) -> Iterator[GridDifference]:
    """Compare the runs that a published grid names with those in the given folders."""
    inputs = rows_of(published, "inputs")
    named = {row["run_id"]: row["run_json_sha256"] for row in inputs}
    at_hand: dict[str, set[str]] = defaultdict(set)
    for folder in folders:
        try:
            run_id = read_run_header(folder)["run_id"]
        except RunRefused as refused:
            # If the published grid does not name the run, it may have refused the folder as well.
            if folder.name in named:
                at_hand[folder.name].add("")
                yield GridDifference("run", f"{folder.name} is no longer valid: {refused.detail}")
            continue
        at_hand[run_id].add(sha256_of(folder / HEADER_FILE))
    for run_id in sorted(named):
        if run_id not in at_hand:
            yield GridDifference("run", f"{run_id} is not among the given runs")
        elif named[run_id] not in at_hand[run_id] and "" not in at_hand[run_id]:
            yield GridDifference("run", f"{run_id} has another {HEADER_FILE} than the grid was made from")
    for run_id in sorted(at_hand.keys() - named.keys()):
        yield GridDifference("run", f"{run_id} is given, but not part of the published grid")


def differing_rows(
    published: Path, recomputed: Path, taken_over: Collection[str] = GIVEN_TABLES
) -> Iterator[GridDifference]:
    """Compare the tables of two grids row by row, ignoring the order of rows; those taken over are not compared."""
    for table, key in ROW_KEYS.items():
        if table in taken_over:
            continue
        if not files_of_table(published / TABLES_FOLDER, table):
            yield GridDifference(table, "the table is missing")
            continue
        hashes = [inputs_sha256(folder / TABLES_FOLDER, table) for folder in (published, recomputed)]
        if hashes[0] != hashes[1]:
            yield GridDifference(table, f"the hash of its inputs is {hashes[0] or 'missing'}; expected {hashes[1]}")
        theirs, ours = (read_table(folder / TABLES_FOLDER, table) for folder in (published, recomputed))
        for sentence in _differing_columns(theirs.column_names, ours.column_names):
            yield GridDifference(table, sentence)
        for sentence in _differing_rows(theirs, ours, key):
            yield GridDifference(table, sentence)


def _differing_columns(published: Sequence[str], recomputed: Sequence[str]) -> Iterator[str]:
    """Compare the columns of a table once, so that one that is empty or null in every row counts too."""
    for name in published:
        if name not in recomputed:
            yield f"the column {name} is published, but the runs do not produce it"
    for name in recomputed:
        if name not in published:
            yield f"the column {name} is not published, but the runs produce it"


def _differing_rows(published: pa.Table, recomputed: pa.Table, key: Sequence[str]) -> Iterator[str]:
    """Compare the rows of a table in the columns that both have."""
    shared = [name for name in recomputed.column_names if name in published.column_names]
    if not set(key) <= set(shared):
        return
    columns = [name for name in shared if name not in _WHERE_IT_LAY]
    theirs, ours = (_by_key(table.to_pylist(), key, columns) for table in (published, recomputed))
    for row_key in sorted(ours.keys() | theirs.keys()):
        for sentence in _differences(theirs.get(row_key, []), ours.get(row_key, [])):
            yield f"{' / '.join(row_key)}: {sentence}"


def differing_lists(published: Path, recomputed: Path, *, of_last_roll_up: bool) -> Iterator[GridDifference]:
    """Compare two grids' lists of refused and noticed run folders, by the folders' names.

    Args:
        published: the folder of the published grid.
        recomputed: the folder of the recomputed grid.
        of_last_roll_up: whether the published grid has a history. Its lists then cover only the folders of
            the last roll-up, not those of earlier ones.
    """
    for name in (REFUSED_FILE, NOTICES_FILE):
        ours, theirs = (_entries(folder / name) for folder in (recomputed, published))
        for entry in theirs - ours:
            yield GridDifference(name, f"{entry} is published, but does not follow from the runs")
        for entry in () if of_last_roll_up else ours - theirs:
            yield GridDifference(name, f"{entry} is not published, but follows from the runs")


def _entries(path: Path) -> Counter[str]:
    if not path.exists():
        return Counter()
    listed = read_foreign_json(path.read_bytes())
    return Counter(": ".join(_said(entry)) for entry in listed)


def _said(entry: Mapping[str, str]) -> Iterator[str]:
    yield entry["folder"].rstrip("/").rpartition("/")[2]
    # The reason names the other folder with this run id, and which one that is depends on their paths.
    hidden = {"folder", "reason"} if entry.get("refusal") == RunRefusal.DUPLICATE_RUN_ID else {"folder"}
    yield from (value for name, value in entry.items() if name not in hidden)


def _differences(published: list[Row], recomputed: list[Row]) -> Iterator[str]:
    if published == recomputed:
        return
    if len(published) == len(recomputed) == 1:
        ((theirs,), (ours,)) = published, recomputed
        for name in [name for name in ours if theirs[name] != ours[name]]:
            yield f"{name} is {_shown(theirs[name])}, but the runs give {_shown(ours[name])}"
    elif not published:
        yield "is not published, but the runs produce it"
    elif not recomputed:
        yield "is published, but the runs do not produce it"
    else:
        yield f"the {len(published)} published rows differ from the {len(recomputed)} rows of the runs"


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def rows_of(folder: Path, table: str) -> list[Row]:
    """Read a table of a grid's folder."""
    read: list[Row] = read_table(folder / TABLES_FOLDER, table).to_pylist()
    return read


def _by_key(rows: Iterable[Row], key: Sequence[str], columns: Sequence[str]) -> Mapping[tuple[str, ...], list[Row]]:
    by_key: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        by_key[tuple(str(row[name]) for name in key)].append({name: row[name] for name in columns})
    # Rows of one key have no order of their own.
    for same in by_key.values():
        same.sort(key=repr)
    return by_key
