"""Reads one local run folder, or refuses it by name.

It reads the header, and folds the rows of each planned cell into a verdict.

`reports.run_folders.run_refusals` has the rules. The roll-up applies them to many folders on any file system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jsonschema import Draft202012Validator

from clauses.catalogue import Role
from reports.arrow_schemas import has_columns
from reports.record_columns import EXAMPLE_FIELDS, EXCHANGE_FIELDS, Column, ColumnType
from reports.records import (
    EXAMPLE_VERDICTS,
    GATING_LEVELS,
    HEADER_FILE,
    RECORD_SCHEMA_VERSION,
    Phase,
    Verdict,
    cell_verdict,
)
from reports.run.judged_examples import CellKey
from reports.run_folders.hash_list import altered_files, unlisted_files
from reports.run_folders.refused_runs import RunRefused
from reports.run_folders.run_limits import excess_of, fault_of_files, is_hidden
from reports.run_folders.run_refusals import (
    BEYOND_LIMITS,
    CHANGED_FILE,
    CLIENTS_IN_ROWS,
    CLOCKS_DIFFER_BY_H,
    CUT_OFF,
    DAMAGED_FILE,
    DAMAGED_HEADER,
    DATED_IN_THE_FUTURE,
    FINISHED_TOO_EARLY,
    FOREIGN_SCHEMA,
    INVALID_HEADER,
    INVALID_ROWS,
    MAX_NAMED,
    NO_CLIENTS_IN_ROWS,
    NO_HEADER,
    ROW_COUNT_DIFFERS,
    TESTS_FAILED,
    UNEXPLAINED_STATUS,
    UNLISTED_OF_CELLS,
    UNLISTED_OF_ROWS,
    Fault,
)
from reports.run_schema import run_schema
from wire.foreign_json import read_foreign_json

EXCHANGE_FILES = "exchanges/*.parquet"
_ROW_TABLES = {"examples": EXAMPLE_FIELDS, "exchanges": EXCHANGE_FIELDS}

_COLUMNS = ["clause", "target", "listener", "verdict", "phase"]

Header = Mapping[str, Any]


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
    for fault in _faults(folder, header):
        raise RunRefused(folder, *fault)
    return header


def complete_runs(headers: Iterable[Path]) -> Iterator[tuple[Path, Header]]:
    """Yield folder and header of each run that counts, given the paths of headers.

    Other runs, such as incomplete ones, are skipped.
    """
    for path in headers:
        try:
            header = read_run_header(path.parent)
        except RunRefused:
            continue
        yield path.parent, header


def _parse(folder: Path) -> Header:
    path = folder / HEADER_FILE
    if not path.is_file() or path.stat().st_size == 0:
        raise RunRefused(folder, *NO_HEADER.fault())
    try:
        header = read_foreign_json(path.read_bytes())
    except ValueError as error:
        raise RunRefused(folder, *DAMAGED_HEADER.fault(more=str(error))) from error
    if not isinstance(header, dict):
        raise RunRefused(folder, *DAMAGED_HEADER.fault())
    return header


def _faults(folder: Path, header: Header) -> Iterator[Fault]:
    """Yield the reasons why a run does not count.

    Each check relies on the checks before it, so use only the first reason.
    """
    version = header.get("record_schema_version")
    if version != RECORD_SCHEMA_VERSION:
        yield FOREIGN_SCHEMA.fault("missing" if version is None else version)
    for fault in _header_faults(header):
        yield INVALID_HEADER.fault(more=fault)
    yield from _unlisted_cells(header)
    if "footer" not in header:
        yield CUT_OFF.fault()
    footer = header["footer"]
    if contradiction := fault_of_times(header["started_at"], footer["finished_at"]):
        yield contradiction
    yield from _count_faults(folder, footer)
    hashes = footer.get("files") or {}
    changes = [*altered_files(folder, hashes)]
    if hashes:
        changes += [(name, "was added") for name in unlisted_files(folder, hashes)]
    for change in changes:
        yield CHANGED_FILE.fault(*change)
    yield from _row_faults(folder, header)


def _header_faults(header: Header) -> Iterator[str]:
    for error in Draft202012Validator(run_schema()).iter_errors(header):
        yield f"{error.json_path}: {error.message}"
    times = {"started_at": header["started_at"], **header.get("footer", {})}
    for name in ("started_at", "finished_at"):
        try:
            datetime.fromisoformat(times.get(name, times["started_at"]))
        except ValueError as error:
            yield f"$.{name}: {error}"
    cells = [(cell["clause"], cell["target"], cell["listener"]) for cell in header["planned_cells"]]
    if len(set(cells)) < len(cells):
        yield "$.planned_cells: a cell is planned twice"


def fault_of_times(started_at: str, finished_at: str) -> Fault | None:
    """Return why a run cannot have these times; None if it can."""
    started, finished = map(datetime.fromisoformat, (started_at, finished_at))
    if max(started, finished) > datetime.now(UTC) + timedelta(hours=CLOCKS_DIFFER_BY_H):
        return DATED_IN_THE_FUTURE.fault(finished_at if finished > started else started_at)
    return FINISHED_TOO_EARLY.fault(started_at) if finished < started else None


def _unlisted_cells(header: Header) -> Iterator[Fault]:
    for name, reason in UNLISTED_OF_CELLS.items():
        listed = {entry["id"] for entry in header[f"{name}s"]}
        unknown = sorted({cell[name] for cell in header["planned_cells"]} - listed)
        if unknown:
            yield reason.fault(", ".join(unknown))


def _count_faults(folder: Path, footer: Mapping[str, int]) -> Iterator[Fault]:
    expected = {name: footer[f"{name.removesuffix('s')}_rows"] for name in _ROW_TABLES}
    rows = {name: _rows_by_file(folder / name, name) for name in _ROW_TABLES}
    found = {name: sum(filter(None, files.values())) for name, files in rows.items()}
    if found == expected:
        return
    if damaged := [path for files in rows.values() for path, count in files.items() if count is None]:
        yield DAMAGED_FILE.fault(", ".join(damaged))
    yield ROW_COUNT_DIFFERS.fault(expected["examples"], expected["exchanges"], found["examples"], found["exchanges"])


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
                raise RunRefused(path.parents[1], *BEYOND_LIMITS.fault(f"{path.parent.name}/{path.name}: {excess}"))
            return file.metadata.num_rows if has_columns(file.schema_arrow, columns) else None
    except (OSError, pa.ArrowException):
        return None


class _RowKind(NamedTuple):
    """What the rules look at in a row; None where a row has nothing."""

    run_id: str | None
    clause: str | None
    target: str | None
    listener: str | None
    client: str | None
    verdict: str | None
    phase: str | None


def _kinds_in(file: Path) -> tuple[int, Mapping[_RowKind, int]]:
    """Return how many rows lack something that every row has, and of the others how many are of each kind."""
    schema = pq.read_schema(file)
    columns = [field for field in EXAMPLE_FIELDS if field.name in schema.names]
    # As numbers of a dictionary: a text that many rows repeat is in memory once.
    texts = [field.name for field in columns if field.type is ColumnType.STRING]
    table = pq.read_table(file, columns=[field.name for field in columns], read_dictionary=texts).unify_dictionaries()
    rows = table.num_rows
    for field in columns:
        if not field.nullable:
            table = table.filter(pc.is_valid(table[field.name]))
    grouped = table.group_by(_RowKind._fields).aggregate([([], "count_all")])
    kinds = [grouped[name].to_pylist() for name in _RowKind._fields]
    counts = grouped["count_all"].to_pylist()
    return rows - table.num_rows, {
        _RowKind(*values): count for values, count in zip(zip(*kinds, strict=True), counts, strict=True)
    }


def _row_faults(folder: Path, header: Header) -> Iterator[Fault]:
    """Yield why the example rows cannot be those of the run."""
    incomplete, kinds = 0, Counter[_RowKind]()
    for file in _files_of(folder / "examples"):
        if _rows_of(file, EXAMPLE_FIELDS) is not None:
            try:
                missing, found = _kinds_in(file)
            except pa.ArrowException:
                # Its footer is right, and its rows are not.
                yield DAMAGED_FILE.fault(file.relative_to(folder))
                return
            incomplete += missing
            kinds.update(found)
    cells = {(cell["clause"], cell["target"], cell["listener"]): cell for cell in header["planned_cells"]}
    cell_of = {kind: cells.get((kind.clause, kind.target, kind.listener)) for kind in kinds}
    for name, reason in UNLISTED_OF_ROWS.items():
        listed = {entry["id"] for entry in header[f"{name}s"]}
        unlisted = {getattr(kind, name) for kind, cell in cell_of.items() if cell is None} - listed
        if unlisted:
            yield reason.fault(_named(unlisted))
    wrong = incomplete + sum(
        rows
        for kind, rows in kinds.items()
        if cell_of[kind] is None
        or kind.run_id != header["run_id"]
        or kind.verdict not in EXAMPLE_VERDICTS
        or kind.phase not in tuple(Phase)
    )
    if wrong:
        yield INVALID_ROWS.fault(wrong)
    yield from _contradictions(header, cell_of)


def _contradictions(header: Header, cell_of: Mapping[_RowKind, Mapping[str, Any] | None]) -> Iterator[Fault]:
    of_brokers = any(clause["role"] == Role.BROKER.value for clause in header["clauses"])
    with_client = {kind.client is not None for kind in cell_of}
    if of_brokers and True in with_client:
        yield CLIENTS_IN_ROWS.fault()
    if not of_brokers and False in with_client:
        yield NO_CLIENTS_IN_ROWS.fault()
    status = header["footer"]["exit_status"]
    gating = {clause["id"] for clause in header["clauses"] if clause["level"] in GATING_LEVELS}
    violated = {
        str(kind.clause)
        for kind, cell in cell_of.items()
        if kind.verdict == Verdict.VIOLATES and kind.phase == Phase.GENERATE and not (cell and _is_excused(cell))
    }
    if status != TESTS_FAILED and violated & gating:
        yield UNEXPLAINED_STATUS.fault(status, _named(violated & gating))


def _is_excused(cell: Mapping[str, Any]) -> bool:
    """Return whether violations of a cell leave the exit status as it is."""
    return (
        not cell["applicable"]
        or bool(cell["known_violation"])
        or cell.get("flaky") is not None
        or bool(cell.get("unproven"))
    )


def _named(ids: Iterable[Any]) -> str:
    return ", ".join(sorted(map(str, ids))[:MAX_NAMED])


def run_verdicts(folder: Path, header: Header) -> Mapping[CellKey, Verdict]:
    """Return the verdict of each planned cell of a run, given its folder and its header."""
    judged: dict[CellKey, set[Verdict]] = {}
    for part in sorted(folder.glob("examples/*.parquet")):
        rows = pq.read_table(part, columns=_COLUMNS).group_by(_COLUMNS).aggregate([])
        for row in rows.to_pylist():
            if row["phase"] == Phase.GENERATE.value:
                key = CellKey(row["clause"], row["target"], row["listener"])
                judged.setdefault(key, set()).add(Verdict(row["verdict"]))
    return {
        key: verdict_of(cell, judged.get(key, set()))
        for cell in header["planned_cells"]
        for key in [CellKey(cell["clause"], cell["target"], cell["listener"])]
    }


def verdict_of(planned: Mapping[str, Any], verdicts: Collection[Verdict]) -> Verdict:
    """Return the verdict of a planned cell, as a header has it, given those of its examples."""
    return cell_verdict(
        verdicts,
        applicable=planned["applicable"],
        known_violation=bool(planned["known_violation"]),
        flaky=planned.get("flaky") is not None,
        unproven=bool(planned.get("unproven")),
    )
