"""Finds the run folders that Spark must not open, before it opens any: those with links or with too much in them.

And those that it would drop without a word, because something in their paths is not UTF-8.

Only local folders are examined. On other file systems there are no links, and what is too large is refused once its
length is known (`run_files`) or its footer is read (`file_contents`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.record_paths import fault_of_path, shown_path
from reports.records import HEADER_FILE, RunRefusal
from reports.refused_runs import RefusedRun
from reports.run_limits import fault_of_files, is_special, kind_of
from spark_aggregation.errors import check_path
from spark_aggregation.reading.storage import is_uri

_GLOB = re.compile(r"[\\{}\[\]*?]")


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
                reason = f"it is {kind_of(status)}; give the run folder itself"
                yield _refused(path, RunRefusal.SPECIAL_FILE, reason)
            elif (unusable := fault_of_path(path, called="its path")) and not _has_runs(path):
                yield _refused(path, RunRefusal.UNUSABLE_NAME, unusable)
                if path.name in folders:
                    folders.remove(path.name)


def _refused(path: Path, refusal: RunRefusal, reason: str) -> tuple[Path, RefusedRun]:
    return path, RefusedRun(folder=shown_path(path), refusal=refusal.value, reason=reason)


def _has_runs(path: Path) -> bool:
    """Return whether something is a folder with run folders in it, each of which is refused by its own name."""
    return any(HEADER_FILE in files for _, _, files in os.walk(path))


def _other_parts(folder: Path, refused: Collection[Path]) -> Iterator[str]:
    """Return the largest folders that contain nothing refused, as Spark reads them: without a meaning of * and the like."""
    if folder in refused or fault_of_path(folder):
        return
    if not any(folder in path.parents for path in refused):
        yield _GLOB.sub(r"\\\g<0>", str(folder))
        return
    for path in sorted(folder.iterdir()):
        if path in refused or path.is_dir():
            yield from _other_parts(path, refused)
