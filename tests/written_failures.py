"""The folder of a failure, as a run writes it."""

from __future__ import annotations

from pathlib import Path

from reports.run.failures import Failure, failure_files


def write_failure(folder: Path, failure: Failure) -> Path:
    """Write the files of a failure and return their folder."""
    failure_folder = folder / failure.signature
    failure_folder.mkdir(parents=True, exist_ok=True)
    for name, data in failure_files(failure):
        (failure_folder / name).write_bytes(data)
    return failure_folder
