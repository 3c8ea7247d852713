"""Reader of the run folder or the folder of a grid that a command is given.

If the folder cannot be read, the error says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from conformance.commands.errors import InvalidFile
from conformance.commands.packed_runs import is_pack, run_folder_of
from fixtures.cleanup.temporary_folder import temporary_folder
from reports.command_line.suite_command import DISK_FAULTS
from reports.exports.single_run import grid_of_run
from reports.exports.single_run_failures import failures_of_run
from reports.grid.grid_reading import read_grid
from reports.grid.grid_tables import Grid
from reports.grid.history_tables import read_history_tables
from reports.records import HEADER_FILE, TABLES_FOLDER
from reports.run_folders.refused_runs import RunRefused
from reports.tables.failure_rows import KeptFailure


@contextmanager
def blaming_grid(folder: Path) -> Iterator[None]:
    """Say of errors in the block that a grid cannot be read, unless a disk or folder is at fault.

    Raises:
        InvalidFile: there was such an error.
    """
    try:
        yield
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OSError,
        pa.ArrowException,
    ) as error:
        if isinstance(error, OSError) and error.errno in DISK_FAULTS:
            raise
        raise InvalidFile(f"{folder} cannot be read as a grid: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A grid, read from a run folder or a grid's folder.

    Attributes:
        name: the run's id, or the folder's name.
        grid: the grid.
        failures: the stored failures.
        has_pages: whether there are pages to link to.
    """

    name: str
    grid: Grid
    failures: Sequence[KeptFailure]
    has_pages: bool


def links_before(results: Results, pages: str | None) -> str | None:
    """Return the prefix of page addresses; None if there are no pages."""
    return pages if pages is not None else ("" if results.has_pages else None)


def read_results(path: Path) -> Results:
    """Read a run folder, a pack or a grid's folder.

    Raises:
        InvalidFile: the folder is neither, or is damaged; the message says which.
    """
    try:
        if is_pack(path):
            with temporary_folder() as scratch:
                return _results_of_run(run_folder_of(path, scratch))
        if (path / TABLES_FOLDER).is_dir():
            return _results_of_grid(path)
        if (path / HEADER_FILE).is_file():
            return _results_of_run(path)
    except RunRefused as error:
        raise InvalidFile(str(error)) from error
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno in DISK_FAULTS:
            raise
        raise InvalidFile(f"{path} is incomplete or damaged: {type(error).__name__}: {error}") from error
    raise InvalidFile(_neither(path))


def _results_of_grid(path: Path) -> Results:
    failures = read_history_tables(path).failures
    return Results(name=path.name or str(path), grid=read_grid(path), failures=failures or (), has_pages=True)


def _results_of_run(path: Path) -> Results:
    grid = grid_of_run(path)
    failures = failures_of_run(path, grid)
    return Results(name=grid.runs[0].run_id, grid=grid, failures=failures, has_pages=False)


def _neither(path: Path) -> str:
    runs = [entry.parent for entry in sorted(path.glob(f"*/{HEADER_FILE}"))]
    if len(runs) == 1:
        return f"{path} is not a run folder, but holds one: {runs[0]}"
    if runs:
        return f"{path} holds {len(runs)} run folders: give one of them, or roll them up first (kafka-conformance grid)"
    return f"{path} is neither a run folder (no {HEADER_FILE}) nor a grid's folder (no {TABLES_FOLDER}/)"
