"""Errors in runs and tables that are read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.record_paths import shown_path
from reports.records import RunRefusal


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


class StatementWithoutEvidence(Exception):
    """A range statement has exceptions that no note explains or no stored failure shows, one sentence for each cell."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(
            f"{len(faults)} cells of range statements without evidence: {'; '.join(faults[:5])}"
        )
