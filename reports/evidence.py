"""The evidence of a grid: each failure's files, copied beside the page, with a page of their own.

Run folders may come from elsewhere. A signature is a folder's name only if it looks like one, nothing but
plain files of a bounded size is copied, and no link is followed.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from reports.grid_tables import CellFailure, Grid, GridCell

EVIDENCE_FOLDER = "evidence"
PAGE = "index.html"
_SIGNATURE = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")
_LARGEST_FILE_BYTES = 1024 * 1024
_LONGEST_SHOWN = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is kept of one distinct failure.

    Attributes:
        cell: the cell that it belongs to.
        failure: the failure.
        folder: its folder beside the page.
        facts: its `failure.json`; empty where there is none that can be read.
    """

    cell: GridCell
    failure: CellFailure
    folder: Path
    facts: Mapping[str, Any]

    @property
    def href(self) -> str:
        """Address of its page, relative to the grid's."""
        return f"{EVIDENCE_FOLDER}/{self.failure.signature}/{PAGE}"

    @property
    def message(self) -> str:
        """What was observed, in one line; empty where it was not kept."""
        return str(self.facts.get("message", "")).partition("\n")[0]

    def files(self) -> tuple[str, ...]:
        """Give the names of its files, but for its page."""
        return tuple(sorted(path.name for path in self.folder.iterdir() if path.name != PAGE))

    def text_of(self, name: str) -> str:
        """Give the beginning of one of its files as text, and the empty string where it is missing."""
        path = self.folder / name
        if not path.is_file():
            return ""
        text = path.read_text(encoding="utf-8", errors="replace")
        return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}\n... (cut)"


def collect_evidence(grid: Grid, out_dir: Path) -> tuple[Evidence, ...]:
    """Copy the files of every failure that a cell names to `evidence/<signature>/` of `out_dir`.

    What stood in that folder before is removed. A failure of which nothing was kept has no evidence.
    """
    place = out_dir / EVIDENCE_FOLDER
    if place.exists():
        shutil.rmtree(place)
    folders = {run.run_id: _local_folder(run.folder) for run in grid.runs}
    found = []
    for cell, failure in _failures(grid):
        source = folders[cell.run_id] / "failures" / failure.signature
        if not source.is_dir() or source.is_symlink():
            continue
        folder = place / failure.signature
        _copy_files(source, folder)
        facts = _read_facts(folder / "failure.json")
        found.append(Evidence(cell=cell, failure=failure, folder=folder, facts=facts))
    return tuple(found)


def _failures(grid: Grid) -> Iterator[tuple[GridCell, CellFailure]]:
    for cell in grid.cells:
        for failure in cell.failures:
            if _SIGNATURE.fullmatch(failure.signature):
                yield cell, failure


def _local_folder(uri: str) -> Path:
    return Path(unquote(uri.removeprefix("file:")))


def _copy_files(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        plain = path.is_file() and not path.is_symlink() and path.name != PAGE
        if plain and path.stat().st_size <= _LARGEST_FILE_BYTES:
            shutil.copyfile(path, folder / path.name)


def _read_facts(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}
