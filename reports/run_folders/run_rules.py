"""Decides whether a run folder counts, by the rules of `refusal_reasons`.

Nothing is read here. `reports.run.run_folder` hands over the files of one local folder, and the roll-up's executors
those of many folders on any file system. Before anything is read, `run_limits` has rules of its own for local folders.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pyarrow as pa
from jsonschema import Draft202012Validator

from clauses.catalogue import Role
from reports.arrow_schemas import header_type
from reports.records import EXAMPLE_VERDICTS, GATING_LEVELS, RECORD_SCHEMA_VERSION, Phase, Verdict
from reports.run_folders.refusal_reasons import (
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
    FolderFault,
)
from reports.run_schema import run_schema
from reports.wording.escaping import cut
from wire.foreign_json import read_foreign_json

_ROW_COUNTS = ("example_rows", "incomplete_rows", "client_rows", "exchange_rows")
JUDGED_COLUMNS = ("name", "sha256", "damaged", "excess", *_ROW_COUNTS, "partials")
"""The columns of `file_contents.CONTENTS` that the rules need."""
_MAX_DETAIL = 200
"""Characters of a sentence that quote a header."""
_EMPTY = hashlib.sha256(b"").hexdigest()
_LARGEST_SEED = 2**63 - 1

_Header = Mapping[str, Any]
_Cell = tuple[str, str, str]


def header_of(content: bytes | None) -> _Header | FolderFault:
    """Return a run's header, if it is that of a run that ended.

    Args:
        content: the file `run.json`; None if there is none.

    Returns:
        The header, as the published schema describes it; or why the run does not count.
    """
    if not content:
        return NO_HEADER.fault()
    try:
        header = read_foreign_json(content)
    except ValueError as error:
        return DAMAGED_HEADER.fault(more=str(error))
    if not isinstance(header, dict):
        return DAMAGED_HEADER.fault()
    return next(_faults_of_header(header), header)


def header_column(header: _Header) -> pa.Array:
    """Return a valid header as a column of one row, whose type is `header_type`.

    Raises:
        ArrowException, OverflowError: a number is too large for its column.
    """
    seed = header.get("seed")
    # Whoever starts a run may give a seed of any size. The tables leave out what does not fit.
    kept = seed if seed is not None and abs(seed) <= _LARGEST_SEED else None
    return pa.array([{**header, "seed": kept}], header_type())


def fault_of_contents(header: _Header, files: Iterable[Mapping[str, Any]]) -> FolderFault | None:
    """Find out why a run does not count, given its header and the summaries of its other files.

    Args:
        header: as `header_of` returns it; keys that may be missing may also be None.
        files: of each file that is not empty, at least the `JUDGED_COLUMNS`; in the order of their names. Each is
            looked at once, so that no more than one needs to be in memory.

    Returns:
        The first reason; None if the run counts.
    """
    contents = _Contents(header)
    for file in files:
        contents.add(file)
    return next(contents.faults(), None)


def fault_of_times(started_at: str, finished_at: str) -> FolderFault | None:
    """Return why a run cannot have these times; None if it can."""
    started, finished = map(datetime.fromisoformat, (started_at, finished_at))
    if max(started, finished) > datetime.now(UTC) + timedelta(hours=CLOCKS_DIFFER_BY_H):
        return DATED_IN_THE_FUTURE.fault(finished_at if finished > started else started_at)
    return FINISHED_TOO_EARLY.fault(started_at) if finished < started else None


def _faults_of_header(header: _Header) -> Iterator[FolderFault]:
    """Yield what is wrong with a header. Each check relies on the checks before it, so use only the first reason."""
    version = header.get("record_schema_version")
    if version != RECORD_SCHEMA_VERSION:
        yield FOREIGN_SCHEMA.fault("missing" if version is None else cut(str(version), _MAX_DETAIL))
    for detail in _schema_faults(header):
        yield INVALID_HEADER.fault(more=cut(detail, _MAX_DETAIL))
    for name, reason in UNLISTED_OF_CELLS.items():
        if unknown := {cell[name] for cell in header["planned_cells"]} - _listed(header, name):
            yield reason.fault(_named(unknown))
    if "footer" not in header:
        yield CUT_OFF.fault()
    if contradiction := fault_of_times(header["started_at"], header["footer"]["finished_at"]):
        yield contradiction


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(run_schema())


def _schema_faults(header: _Header) -> Iterator[str]:
    for error in _validator().iter_errors(header):
        yield f"{error.json_path}: {error.message}"
    times = {"started_at": header["started_at"], **header.get("footer", {})}
    for name in ("started_at", "finished_at"):
        try:
            datetime.fromisoformat(times.get(name, times["started_at"]))
        except ValueError as error:
            yield f"$.{name}: {error}"
    if len(_cells_of(header)) < len(header["planned_cells"]):
        yield "$.planned_cells: a cell is planned twice"
    try:
        header_column(header)
    except (pa.ArrowException, OverflowError) as error:
        yield str(error)


def _cells_of(header: _Header) -> Mapping[_Cell, Mapping[str, Any]]:
    return {(cell["clause"], cell["target"], cell["listener"]): cell for cell in header["planned_cells"]}


def _listed(header: _Header, name: str) -> set[str]:
    """Return the ids of the clauses or targets that a header lists."""
    return {entry["id"] for entry in header[f"{name}s"]}


def _named(ids: Iterable[str]) -> str:
    return ", ".join(sorted(ids)[:MAX_NAMED])


class _Contents:
    """What the rules need to know of a run's files, of any size."""

    def __init__(self, header: _Header) -> None:
        self._header = header
        self._cells = _cells_of(header)
        self._listed = {name: _listed(header, name) for name in UNLISTED_OF_ROWS}
        self._hashes: dict[str, str] = {}
        self._excess: list[str] = []
        self._damaged: list[str] = []
        self._rows: Counter[str] = Counter()
        self._unlisted: dict[str, set[str]] = {name: set() for name in UNLISTED_OF_ROWS}
        self._violated: set[str] = set()

    def add(self, file: Mapping[str, Any]) -> None:
        """Add the summary of a file."""
        name = file["name"]
        self._hashes[name] = file["sha256"]
        if file["excess"]:
            self._excess.append(f"{name}: {file['excess']}")
        if file["damaged"]:
            self._damaged.append(name)
        for column in _ROW_COUNTS:
            self._rows[column] += file[column] or 0
        # What one file has of unlisted clauses and targets is enough to refuse the run.
        if not any(self._unlisted.values()):
            for rows in file["partials"] or ():
                self._add_rows(rows)

    def _add_rows(self, rows: Mapping[str, Any]) -> None:
        """Add an entry of `file_contents.CONTENTS`'s `partials`."""
        cell = self._cells.get((rows["clause"], rows["target"], rows["listener"]))
        if (
            cell is None
            or rows["run_id"] != self._header["run_id"]
            or rows["verdict"] not in EXAMPLE_VERDICTS
            or rows["phase"] not in tuple(Phase)
        ):
            self._rows["wrong_rows"] += rows["examples"]
        if cell is None:
            for name, unlisted in self._unlisted.items():
                unlisted |= {rows[name]} - self._listed[name]
        elif rows["verdict"] == Verdict.VIOLATES and rows["phase"] == Phase.GENERATE and not _is_excused(cell):
            self._violated.add(rows["clause"])

    def faults(self) -> Iterator[FolderFault]:
        """Yield what is wrong with the files, of which the first counts."""
        if self._excess:
            yield BEYOND_LIMITS.fault(self._excess[0])
        yield from self._count_faults()
        yield from self._changed_files()
        for name, reason in UNLISTED_OF_ROWS.items():
            if self._unlisted[name]:
                yield reason.fault(_named(self._unlisted[name]))
        if wrong := self._rows["wrong_rows"] + self._rows["incomplete_rows"]:
            yield INVALID_ROWS.fault(wrong)
        yield from self._contradictions()

    def _count_faults(self) -> Iterator[FolderFault]:
        names = ("example_rows", "exchange_rows")
        expected, counted = ([rows[name] for name in names] for rows in (self._header["footer"], self._rows))
        if counted == expected:
            return
        if self._damaged:
            yield DAMAGED_FILE.fault(", ".join(self._damaged))
        yield ROW_COUNT_DIFFERS.fault(*expected, *counted)

    def _changed_files(self) -> Iterator[FolderFault]:
        # Suites of old hashed nothing.
        listed = self._header["footer"].get("files") or {}
        for name, sha256 in listed.items():
            if self._hashes.get(name, _EMPTY) != sha256:
                yield CHANGED_FILE.fault(name, "has changed" if name in self._hashes else "is missing or empty")
        for name in self._hashes:
            if listed and name not in listed:
                yield CHANGED_FILE.fault(name, "was added")

    def _contradictions(self) -> Iterator[FolderFault]:
        clauses, status = self._header["clauses"], self._header["footer"]["exit_status"]
        of_brokers = any(clause["role"] == Role.BROKER.value for clause in clauses)
        if of_brokers and self._rows["client_rows"]:
            yield CLIENTS_IN_ROWS.fault()
        if not of_brokers and self._rows["client_rows"] != self._rows["example_rows"]:
            yield NO_CLIENTS_IN_ROWS.fault()
        gating = self._violated & {clause["id"] for clause in clauses if clause["level"] in GATING_LEVELS}
        if status != TESTS_FAILED and gating:
            yield UNEXPLAINED_STATUS.fault(status, _named(gating))


def _is_excused(cell: Mapping[str, Any]) -> bool:
    """Return whether violations of a cell leave the exit status as it is."""
    return (
        not cell["applicable"]
        or bool(cell["known_violation"])
        or cell.get("flaky") is not None
        or bool(cell.get("unproven"))
    )
