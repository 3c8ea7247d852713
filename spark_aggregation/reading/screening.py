"""Finds the run folders that Spark must not open, before it opens any: those with links or with too much in them.

Only local folders are examined. On other file systems there are no links, and what is too large is refused once its
length is known (`run_files`) or its footer is read (`file_contents`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.records import HEADER_FILE, RunRefusal
from reports.refused_runs import RefusedRun
from reports.run_limits import fault_of_files, is_special, kind_of
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
    """
    kept: list[str] = []
    refused: dict[Path, RefusedRun] = {}
    for root in roots:
        faults = {} if is_uri(root) else {run.folder: run for run in _faults(Path(root))}
        refused |= {Path(folder): run for folder, run in faults.items()}
        kept += [root] if not faults else _other_parts(Path(root), {*map(Path, faults)})
    return Screened(roots=tuple(kept), refused=tuple(refused[folder] for folder in sorted(refused)))


def _faults(root: Path) -> Iterator[RefusedRun]:
    """Find run folders that must not be read, and links outside of run folders."""
    for place, folders, files in os.walk(root):
        if HEADER_FILE in files:
            folders.clear()
            fault = fault_of_files(Path(place))
            if fault is not None:
                yield RefusedRun(folder=place, refusal=fault[0].value, reason=fault[1])
            continue
        for path in (Path(place, name) for name in (*folders, *files)):
            status = path.lstat()
            if is_special(status):
                reason = f"it is {kind_of(status)}; give the run folder itself"
                yield RefusedRun(
                    folder=str(path), refusal=RunRefusal.SPECIAL_FILE.value, reason=reason
                )


def _other_parts(folder: Path, refused: Collection[Path]) -> Iterator[str]:
    """Return the largest folders that contain nothing refused, as Spark reads them: without a meaning of * and the like."""
    if folder in refused:
        return
    if not any(folder in path.parents for path in refused):
        yield _GLOB.sub(r"\\\g<0>", str(folder))
        return
    for path in sorted(folder.iterdir()):
        if path in refused or path.is_dir():
            yield from _other_parts(path, refused)
