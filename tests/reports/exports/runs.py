"""A run folder with a failure and a note, for tests of a single run."""

from __future__ import annotations

from pathlib import Path

from tests.run_folders import example_row, planned_cell, run_header, write_run

SIGNATURE, NOTE = "0123456789abcdef", "00000000000000ab"


def run_with_failures(folder: Path, signature: str = SIGNATURE) -> Path:
    """Write a run of two listeners and return its folder."""
    header = run_header([planned_cell(), planned_cell(listener="ssl", applicable=False, reason="r")])
    rows = [
        example_row(header, 1),
        example_row(header, 2, verdict="violates", failure_signature=signature),
        example_row(header, 3, verdict="violates", failure_signature=signature),
        example_row(header, 9, phase="shrink", verdict="violates", failure_signature=signature),
        example_row(header, 1, phase="shrink", verdict="conforms"),
        example_row(header, 4, verdict="informational", failure_signature=NOTE),
    ]
    return write_run(folder, header, rows)
