"""Faults in what is read back."""

from __future__ import annotations

from pathlib import Path

from reports.records import Refusal


class RunRefused(Exception):
    """A run folder does not count.

    Attributes:
        folder: the folder.
        refusal: why, as one of few.
        detail: why, as a sentence.
    """

    def __init__(self, folder: Path, refusal: Refusal, detail: str) -> None:
        super().__init__(folder, refusal, detail)
        self.folder = folder
        self.refusal = refusal
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.folder}: {self.detail}"
