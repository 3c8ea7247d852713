"""Reads one local run folder, or refuses it by name.

The roll-up applies the same rules to many folders on any file system (`spark_aggregation.history.ingest`). A test
checks that both agree on every fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from jsonschema import Draft202012Validator

from reports.arrow_schemas import has_columns
from reports.errors import RunRefused
from reports.hash_list import altered_files
from reports.records import (
    CLOCKS_DIFFER_BY_H,
    EXAMPLE_FIELDS,
    EXCHANGE_FIELDS,
    HEADER_FILE,
    RECORD_SCHEMA_VERSION,
    REFUSAL_OF_UNKNOWN,
    Column,
    RunRefusal,
)
from reports.run.row_faults import fault_of_rows
from reports.run.written_files import unlisted_files
from reports.run_limits import excess_of, fault_of_files, is_hidden
from wire.foreign_json import read_foreign_json

EXCHANGE_FILES = "exchanges/*.parquet"
_ROW_TABLES = {"examples": EXAMPLE_FIELDS, "exchanges": EXCHANGE_FIELDS}

Header = Mapping[str, Any]


@cache
def run_schema() -> Mapping[str, Any]:
    """Return the published JSON Schema of `run.json`."""
    text = files("reports").joinpath("run_schema.json").read_text(encoding="utf-8")
    schema: Mapping[str, Any] = json.loads(text)
    return schema


def read_run_header(folder: Path) -> Header:
    """Read the header of a complete run: one that was not cut off and that has all its rows.

    Returns:
        `run.json`, as its schema describes it.

    Raises:
        RunRefused: the folder does not count; the exception says why.
    """
    if refused := fault_of_files(folder):
        raise RunRefused(folder, *refused)
    header = _parse(folder)
    version = header.get("record_schema_version")
    if version != RECORD_SCHEMA_VERSION:
        found = "missing" if version is None else version
        detail = f"record_schema_version is {found}; this version of the suite reads only {RECORD_SCHEMA_VERSION}"
        raise RunRefused(folder, RunRefusal.FOREIGN_SCHEMA, detail)
    for fault in _header_faults(header):
        detail = f"run.json does not follow its schema: {fault}"
        raise RunRefused(folder, RunRefusal.INVALID_HEADER, detail)
    _check_cells(folder, header)
    if "footer" not in header:
        detail = "run.json has no footer: the run did not end"
        raise RunRefused(folder, RunRefusal.CUT_OFF, detail)
    if contradiction := fault_of_times(header["started_at"], header["footer"]["finished_at"]):
        raise RunRefused(folder, RunRefusal.CONTRADICTION, contradiction)
    _check_rows(folder, header["footer"])
    _check_files(folder, header["footer"].get("files") or {})
    readable = [
        path
        for path in _files_of(folder / "examples")
        if _rows_of(path, EXAMPLE_FIELDS) is not None
    ]
    if refused := fault_of_rows(header, readable):
        raise RunRefused(folder, *refused)
    return header


def complete_runs(headers: Iterable[Path]) -> Iterator[tuple[Path, Header]]:
    """Yield folder and header of each run that counts, given the paths of headers; others are passed over."""
    for path in headers:
        try:
            header = read_run_header(path.parent)
        except RunRefused:
            continue
        yield path.parent, header


def _parse(folder: Path) -> Header:
    path = folder / HEADER_FILE
    if not path.is_file() or path.stat().st_size == 0:
        raise RunRefused(folder, RunRefusal.NO_HEADER, "it has no run.json, or an empty one")
    try:
        header = read_foreign_json(path.read_bytes())
    except ValueError as error:
        detail = f"run.json is not a complete JSON object: {error}"
        raise RunRefused(folder, RunRefusal.DAMAGED_HEADER, detail) from error
    if not isinstance(header, dict):
        detail = "run.json is not a complete JSON object"
        raise RunRefused(folder, RunRefusal.DAMAGED_HEADER, detail)
    return header


def _header_faults(header: Header) -> Iterator[str]:
    for error in Draft202012Validator(run_schema()).iter_errors(header):
        yield f"{error.json_path}: {error.message}"
        # The checks below rely on a valid structure.
        return
    times = {"started_at": header["started_at"], **header.get("footer", {})}
    for name in ("started_at", "finished_at"):
        try:
            datetime.fromisoformat(times.get(name, times["started_at"]))
        except ValueError as error:
            yield f"$.{name}: {error}"
    cells = [(cell["clause"], cell["target"], cell["listener"]) for cell in header["planned_cells"]]
    if len(set(cells)) < len(cells):
        yield "$.planned_cells: a cell is planned twice"


def fault_of_times(started_at: str, finished_at: str) -> str | None:
    """Return why a run cannot have these times; None if it can."""
    started, finished = map(datetime.fromisoformat, (started_at, finished_at))
    if max(started, finished) > datetime.now(UTC) + timedelta(hours=CLOCKS_DIFFER_BY_H):
        return f"it is dated in the future: {finished_at if finished > started else started_at}"
    return f"it finished before it started, at {started_at}" if finished < started else None


def _check_cells(folder: Path, header: Header) -> None:
    for name, refusal in REFUSAL_OF_UNKNOWN.items():
        listed = {entry["id"] for entry in header[f"{name}s"]}
        unknown = sorted({cell[name] for cell in header["planned_cells"]} - listed)
        if unknown:
            detail = (
                f"it has cells of a {name} that its run.json does not list: {', '.join(unknown)}"
            )
            raise RunRefused(folder, refusal, detail)


def _check_rows(folder: Path, footer: Mapping[str, int]) -> None:
    expected = {name: footer[f"{name.removesuffix('s')}_rows"] for name in _ROW_TABLES}
    rows = {name: _rows_by_file(folder / name, name) for name in _ROW_TABLES}
    found = {name: sum(filter(None, files.values())) for name, files in rows.items()}
    if found != expected:
        damaged = [
            path for files in rows.values() for path, count in files.items() if count is None
        ]
        if damaged:
            detail = (
                f"{', '.join(damaged)}: not readable as Parquet, or a column is missing or has another "
                "type"
            )
            raise RunRefused(folder, RunRefusal.DAMAGED_FILE, detail)
        detail = (
            f"the footer counts {expected['examples']} example rows and {expected['exchanges']} exchange "
            f"rows, but only {found['examples']} and {found['exchanges']} are readable"
        )
        raise RunRefused(folder, RunRefusal.ROW_COUNT_DIFFERS, detail)


def _check_files(folder: Path, hashes: Mapping[str, str]) -> None:
    changes = [f"{name} {what}" for name, what in altered_files(folder, hashes)]
    if hashes:
        changes += [f"{name} was added" for name in unlisted_files(folder, hashes)]
    for change in changes:
        raise RunRefused(folder, RunRefusal.CHANGED_FILE, f"{change} since the run was written")


def _rows_by_file(folder: Path, table: str) -> Mapping[str, int | None]:
    """Count the rows of each file; None if it cannot be read or its columns differ from the table's."""
    columns = _ROW_TABLES[table]
    return {f"{table}/{path.name}": _rows_of(path, columns) for path in _files_of(folder)}


def _files_of(folder: Path) -> list[Path]:
    """Return the files of a table; an empty or hidden one counts as missing, as it does in Spark."""
    files = (path for path in sorted(folder.glob("*.parquet")) if not is_hidden(path.name))
    return [path for path in files if path.stat().st_size > 0]


def _rows_of(path: Path, columns: Sequence[Column]) -> int | None:
    try:
        with pq.ParquetFile(path) as file:
            if excess := excess_of(file.metadata):
                raise RunRefused(
                    path.parents[1],
                    RunRefusal.BEYOND_LIMITS,
                    f"{path.parent.name}/{path.name}: {excess}",
                )
            return file.metadata.num_rows if has_columns(file.schema_arrow, columns) else None
    except (OSError, pa.ArrowException):
        return None
