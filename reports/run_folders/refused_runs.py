"""The error of run folders that do not count, and two lists of a roll-up.

One list has the refused run folders, the other notices about accepted ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from reports.run_folders.record_paths import shown_path
from reports.run_folders.refusal_reasons import RunRefusal
from wire.foreign_json import read_foreign_json

REFUSED_FILE = "refused.json"
"""Lists the run folders that do not count."""
NOTICES_FILE = "notices.json"
"""Lists notices about run folders that count."""


class RunRefused(Exception):
    """A run folder is refused: it does not count.

    Attributes:
        detail: the reason as a sentence.
    """

    def __init__(self, folder: Path, refusal: RunRefusal, detail: str) -> None:
        super().__init__(folder, refusal, detail)
        self.folder = folder
        self.refusal = refusal
        self.detail = detail

    def __str__(self) -> str:
        return f"{shown_path(self.folder)}: {self.detail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRun:
    """A run folder that does not count.

    Attributes:
        folder: its path if it is local, else its URI.
        refusal: a value of `reports.run_folders.refusal_reasons.RunRefusal`.
        reason: the same as a sentence.
    """

    folder: str
    refusal: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticedRun:
    """A run folder that counts, with a notice for readers of the grid."""

    folder: str
    notice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLists:
    """Both lists, each by folder."""

    refused: tuple[RefusedRun, ...] = ()
    notices: tuple[NoticedRun, ...] = ()

    def texts(self) -> Mapping[str, str]:
        """Return both lists as JSON, keyed by file name."""
        listed: Mapping[str, Sequence[RefusedRun | NoticedRun]] = {
            REFUSED_FILE: self.refused,
            NOTICES_FILE: self.notices,
        }
        return {
            name: json.dumps([asdict(run) for run in runs], indent=2, ensure_ascii=False) + "\n"
            for name, runs in listed.items()
        }


def missing_run_lists(out_dir: Path) -> list[str]:
    """Return the names of the lists that a roll-up's folder lacks."""
    return [name for name in (REFUSED_FILE, NOTICES_FILE) if not (out_dir / name).is_file()]


def read_run_lists(out_dir: Path) -> RunLists:
    """Read both lists from a roll-up's folder."""

    def listed(name: str) -> list[dict[str, str]]:
        entries: list[dict[str, str]] = read_foreign_json((out_dir / name).read_bytes())
        return entries

    return RunLists(
        refused=tuple(RefusedRun(**entry) for entry in listed(REFUSED_FILE)),
        notices=tuple(NoticedRun(**entry) for entry in listed(NOTICES_FILE)),
    )
