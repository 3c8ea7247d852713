"""Says whether a published grid is what its runs make it: files, inputs and every row of every table.

Two things are not compared: where run folders lie, and the tables that are taken over from other reports
(`GIVEN_TABLES`), for which the list of hashes has to do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow.parquet as pq

from reports.errors import RunRefused
from reports.hash_list import HASH_LIST, altered_files, hashes_of, read_hash_list, sha256_of
from reports.records import TABLES_FOLDER
from reports.run_folder import HEADER_FILE, read_run_header

GIVEN_TABLES = ("mutation", "release_changes")
_CELL = ("clause", "target", "listener")
ROW_KEYS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "cells": _CELL,
        "ranges": ("clause", "implementation", "listener"),
        "targets": ("target", "listener"),
        "clauses": ("clause",),
        "runs": ("run_id",),
        "transitions": (*_CELL, "at", "run_id"),
        "release_steps": ("clause", "implementation", "listener", "to_target"),
        "flakes": _CELL,
        "coverage": ("clause", "property", "listener"),
        "latency": ("target", "listener", "bucket"),
        "speed": ("run_id", "target"),
        "failures": ("run_id", "signature"),
        "neighbours": ("signature", "target", "listener"),
        "inputs": ("run_id",),
    }
)
"""Tables that runs alone make, each with the columns that name a row to a reader."""
_WHERE_IT_LAY = frozenset({"folder"})
_SHOWN_CHARACTERS = 60

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which a published grid is not what its runs make it.

    Attributes:
        place: what differs: "file", "run", or the name of a table.
        sentence: which one, and how.
    """

    place: str
    sentence: str


def differing_files(published: Path) -> Iterator[Difference]:
    """Compare a published folder with the list of hashes in it.

    Raises:
        InvalidHashList: the list is not one.
    """
    if not (published / HASH_LIST).is_file():
        yield Difference("file", f"{HASH_LIST} is missing: no file can be told from a changed one")
        return
    listed = read_hash_list(published)
    for name, what in altered_files(published, listed):
        yield Difference("file", f"{name} {what} since the grid was written")
    for name in hashes_of(published, [TABLES_FOLDER]):
        if name not in listed:
            yield Difference("file", f"{name} is not among those that were written")


def run_folders(roots: Iterable[Path]) -> list[Path]:
    """Find run folders: the roots themselves, or what lies in them at any depth."""
    found = {path.parent for root in roots for path in root.rglob(HEADER_FILE)}
    return sorted(found)


def differing_runs(published: Path, folders: Sequence[Path]) -> Iterator[Difference]:
    """Compare the runs that a published grid names with those at hand.

    Args:
        published: the folder that `grid` wrote.
        folders: run folders.
    """
    inputs = _rows(published, "inputs")
    named = {row["run_id"]: row["run_json_sha256"] for row in inputs}
    at_hand: dict[str, set[str]] = defaultdict(set)
    for folder in folders:
        try:
            run_id = read_run_header(folder)["run_id"]
        except RunRefused as refused:
            # The published grid may well have refused it, too; whether it did not, its own run says.
            if folder.name in named:
                at_hand[folder.name].add("")
                yield Difference("run", f"{folder.name} counts no more: {refused.detail}")
            continue
        at_hand[run_id].add(sha256_of(folder / HEADER_FILE))
    for run_id in sorted(named):
        if run_id not in at_hand:
            yield Difference("run", f"{run_id} is missing among the runs given")
        elif named[run_id] not in at_hand[run_id] and "" not in at_hand[run_id]:
            yield Difference(
                "run", f"{run_id} has another {HEADER_FILE} than the grid was made from"
            )
    for run_id in sorted(at_hand.keys() - named.keys()):
        yield Difference("run", f"{run_id} is given, and the published grid does not count it")


def differing_rows(published: Path, recomputed: Path) -> Iterator[Difference]:
    """Compare the tables of two grids row by row, whatever the order of rows.

    Args:
        published: the folder of one.
        recomputed: the folder of the other.
    """
    for table, key in ROW_KEYS.items():
        if not _path(published, table).exists():
            yield Difference(table, "the table is missing")
            continue
        ours, theirs = (_by_key(_rows(folder, table), key) for folder in (recomputed, published))
        for place in sorted(ours.keys() | theirs.keys()):
            for sentence in _differences(theirs.get(place, []), ours.get(place, [])):
                yield Difference(table, f"{' / '.join(place)}: {sentence}")


def _differences(published: list[Row], recomputed: list[Row]) -> Iterator[str]:
    if published == recomputed:
        return
    if len(published) == len(recomputed) == 1:
        ((theirs,), (ours,)) = published, recomputed
        for name in [name for name in ours if theirs.get(name) != ours[name]]:
            yield f"{name} is {_shown(theirs.get(name))}, and the runs say {_shown(ours[name])}"
    elif not published:
        yield "is not published, and the runs have it"
    elif not recomputed:
        yield "is published, and the runs do not have it"
    else:
        yield f"{len(published)} rows are published, other than the {len(recomputed)} of the runs"


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _path(folder: Path, table: str) -> Path:
    return folder / TABLES_FOLDER / f"{table}.parquet"


def _rows(folder: Path, table: str) -> list[Row]:
    read: list[Row] = pq.read_table(_path(folder, table)).to_pylist()
    return read


def _by_key(rows: Iterable[Row], key: Sequence[str]) -> Mapping[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        compared = {name: row[name] for name in row if name not in _WHERE_IT_LAY}
        found[tuple(str(row[name]) for name in key)].append(compared)
    for same in found.values():
        same.sort(key=repr)
    return found
