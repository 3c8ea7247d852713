"""Every way a run folder can be wrong, and runs that look wrong and are not."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reports.records import HASHED_PARTS
from reports.run_folders.hash_list import hashes_of
from reports.run_folders.refusal_reasons import RunRefusal
from reports.run_folders.run_limits import MAX_FILE_BYTES
from tests.run_folders import (
    clause_entry,
    example_row,
    planned_cell,
    rows_table,
    run_header,
    write_examples,
    write_exchanges,
    write_header,
    write_run,
)
from wire.foreign_json import MAX_DEPTH

ROWS = 3
NOT_UTF8 = os.fsdecode(b"bad\xff")
"""A name of a file that is not UTF-8."""


def write_whole_run(folder: Path, run_id: str = "20261121T143000Z-1a2b3c4d") -> Path:
    """Write a correct run: one cell and three rows, all conforming."""
    header = run_header([planned_cell()], run_id=run_id)
    return write_run(folder, header, [example_row(header, number) for number in range(ROWS)])


def _change_header(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        header = json.loads((folder / "run.json").read_text())
        write_header(folder, {**header, **changes})

    return change


def _leave_out(*keys: str) -> Callable[[Path], None]:
    """Remove the entry at the end of the path `keys`; "0" is a list's first item."""

    def change(folder: Path) -> None:
        header = json.loads((folder / "run.json").read_text())
        part = header
        for key in keys[:-1]:
            part = part[0] if key == "0" else part[key]
        del part[keys[-1]]
        write_header(folder, header)

    return change


def _write_header_text(text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / "run.json").write_text(text)

    return change


def _write_header_in_latin_1(folder: Path) -> None:
    path = folder / "run.json"
    path.write_bytes(path.read_bytes().replace(b"standard", "größer".encode("latin-1")))


def _add_to_header(more: bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "run.json"
        path.write_bytes(path.read_bytes() + more)

    return change


def _truncate_header(folder: Path) -> None:
    path = folder / "run.json"
    path.write_bytes(path.read_bytes()[:-20])


def _change_footer(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        header = json.loads((folder / "run.json").read_text())
        write_header(folder, {**header, "footer": {**header["footer"], **changes}})

    return change


def _with_last_row(**changes: Any) -> Callable[[Path], None]:
    """Change the last row; the exit status stays that of a run without violations."""

    def change(folder: Path) -> None:
        header = json.loads((folder / "run.json").read_text())
        rows = [example_row(header, number) for number in range(ROWS)]
        write_examples(_rows_file(folder), rows_table([*rows[:-1], {**rows[-1], **changes}]))

    return change


def _in_turn(*changes: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for each in changes:
            each(folder)

    return change


def _with_null(name: str) -> Callable[[Path], None]:
    """Leave a column of the last row empty, in which no row may be."""

    def change(table: pa.Table) -> pa.Table:
        index = table.schema.get_field_index(name)
        values = [*table[name].to_pylist()[:-1], None]
        return table.set_column(index, name, pa.array(values, table.schema.field(name).type))

    return _change_columns(change)


_OF_CLIENTS = _change_header(clauses=[clause_entry(role="client")])
_VIOLATION = {"verdict": "violates", "failure_signature": "f1"}
_VIOLATING = _with_last_row(**_VIOLATION)
_FLAKE_RATE = {"failed": 3, "repeats": 10, "rate": 0.3, "low": 0.1078, "high": 0.6032}


def _rows_file(folder: Path) -> Path:
    return folder / "examples" / "part-0.parquet"


def _truncate_rows(folder: Path) -> None:
    path = _rows_file(folder)
    path.write_bytes(path.read_bytes()[:-200])


def _with_texts_for_numbers(table: pa.Table) -> pa.Table:
    index = table.schema.get_field_index("example_number")
    return table.set_column(index, "example_number", pa.array(["0"] * ROWS))


def _with_lists_for_numbers(table: pa.Table, *, length: int) -> pa.Table:
    index = table.schema.get_field_index("example_number")
    lists = pa.array([[0] * length] * ROWS, pa.list_(pa.int32()))
    return table.set_column(index, "example_number", lists)


def _change_columns(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        header = json.loads((folder / "run.json").read_text())
        table = rows_table([example_row(header, number) for number in range(ROWS)])
        write_examples(_rows_file(folder), change(table))

    return write


def _write_foreign_exchanges(folder: Path) -> None:
    write_exchanges(folder, [b"\0"])
    _change_footer(exchange_rows=1)(folder)
    (folder / "exchanges" / "part-0.parquet").write_text("of another kind")


def write_failure_file(folder: Path, name: str = "exchange.txt") -> Path:
    """Make the folder of a failure in a run folder, and return the path of a file in it."""
    path = folder / "failures" / "0123456789abcdef" / name
    path.parent.mkdir(parents=True)
    return path


def _write_large_dump(folder: Path) -> None:
    with write_failure_file(folder).open("wb") as file:
        # A hole in the file: it takes no space on disk.
        file.truncate(MAX_FILE_BYTES + 1)


def _link_header(folder: Path) -> None:
    (folder / "run.json").rename(folder / "own.json")
    (folder / "run.json").symlink_to("own.json")


def _repeat_a_text_in_the_dictionary(folder: Path) -> None:
    header = json.loads((folder / "run.json").read_text())
    rows = [{**example_row(header, each), "verdict": f"nonsense{each}"} for each in range(ROWS)]
    file = _rows_file(folder)
    pq.write_table(rows_table(rows), file, compression="none", write_statistics=False)
    file.write_bytes(file.read_bytes().replace(b"nonsense1", b"nonsense0"))


def _compress_with_another_method(folder: Path) -> None:
    table = pq.read_table(_rows_file(folder))
    pq.write_table(table, _rows_file(folder), compression="zstd")


def write_hashes(folder: Path) -> None:
    """Write the current hashes of a run's files into its footer."""
    hashes = hashes_of(folder).items()
    files = {name: digest for name, digest in hashes if name.partition("/")[0] in HASHED_PARTS}
    _change_footer(files=files)(folder)


def _write_other_rows_after_hashing(folder: Path) -> None:
    write_hashes(folder)
    header = json.loads((folder / "run.json").read_text())
    rows = [example_row(header, number, outcome="closed") for number in range(ROWS)]
    write_examples(_rows_file(folder), rows_table(rows))


def _after_hashing_a_failure(change: Callable[[Path], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        dump = write_failure_file(folder)
        dump.write_text("00 12 00 03")
        write_hashes(folder)
        change(dump)

    return damage


def _copy_rows(dump: Path, *, name: str) -> None:
    folder = dump.parents[2]
    copy = folder / "examples" / name
    copy.parent.mkdir(exist_ok=True)
    shutil.copy(_rows_file(folder), copy)


def _rename_rows(folder: Path) -> None:
    _hide_rows(folder, name=f"{NOT_UTF8}.parquet")


def _hide_rows(folder: Path, *, name: str) -> None:
    rows = _rows_file(folder)
    rows.rename(rows.with_name(name))


def _hide_violations(folder: Path) -> None:
    header = json.loads((folder / "run.json").read_text())
    write_examples(folder / "examples" / "_more.parquet", rows_table([{**example_row(header, ROWS), **_VIOLATION}]))


BROKEN: Mapping[str, tuple[Callable[[Path], object], RunRefusal]] = {
    "a link to a file of the system": (
        lambda folder: write_failure_file(folder).symlink_to("/etc/hostname"),
        RunRefusal.SPECIAL_FILE,
    ),
    "a link as header": (
        _link_header,
        RunRefusal.SPECIAL_FILE,
    ),
    "a pipe": (lambda folder: os.mkfifo(write_failure_file(folder)), RunRefusal.SPECIAL_FILE),
    "rows in a file whose name is not UTF-8": (_rename_rows, RunRefusal.UNUSABLE_NAME),
    "a dump whose name is not UTF-8": (
        lambda folder: write_failure_file(folder).with_name(NOT_UTF8).touch(),
        RunRefusal.UNUSABLE_NAME,
    ),
    "a dump that is too large": (_write_large_dump, RunRefusal.BEYOND_LIMITS),
    "rows in another compression": (_compress_with_another_method, RunRefusal.BEYOND_LIMITS),
    "no header": (lambda folder: (folder / "run.json").unlink(), RunRefusal.NO_HEADER),
    "empty header": (_write_header_text(""), RunRefusal.NO_HEADER),
    "half a header": (_truncate_header, RunRefusal.DAMAGED_HEADER),
    "header in another encoding": (_write_header_in_latin_1, RunRefusal.DAMAGED_HEADER),
    "a list as header": (_write_header_text("[1]"), RunRefusal.DAMAGED_HEADER),
    "a header nested too deeply": (_write_header_text("[" * 200_000), RunRefusal.DAMAGED_HEADER),
    "one list more than is read": (
        _change_header(weather=json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)),
        RunRefusal.DAMAGED_HEADER,
    ),
    "objects nested too deeply": (
        _write_header_text('{"suite":' * 200_000),
        RunRefusal.DAMAGED_HEADER,
    ),
    "future version": (_change_header(record_schema_version=2), RunRefusal.FOREIGN_SCHEMA),
    "future version of another shape": (
        _change_header(record_schema_version=2, targets={"all": "new"}),
        RunRefusal.FOREIGN_SCHEMA,
    ),
    "no version": (_leave_out("record_schema_version"), RunRefusal.FOREIGN_SCHEMA),
    "no tier": (_leave_out("tier"), RunRefusal.INVALID_HEADER),
    "no python": (_leave_out("suite", "python"), RunRefusal.INVALID_HEADER),
    "no launcher": (_leave_out("targets", "0", "launcher"), RunRefusal.INVALID_HEADER),
    "no planned cells": (_leave_out("planned_cells"), RunRefusal.INVALID_HEADER),
    "no finish": (_leave_out("footer", "finished_at"), RunRefusal.INVALID_HEADER),
    "words for a number": (_change_footer(example_rows="three"), RunRefusal.INVALID_HEADER),
    "an exit status that no column can have": (_change_footer(exit_status=10**12), RunRefusal.INVALID_HEADER),
    "a load that no column can have": (
        _change_header(host={"system": "Linux", "machine": "x", "cpus": 2, "load_at_start": 10**400}),
        RunRefusal.INVALID_HEADER,
    ),
    "a text that is long and wrong": (_change_header(host="x" * 5_000), RunRefusal.INVALID_HEADER),
    "no such day at the end": (
        _change_footer(finished_at="2026-02-30T00:00:00Z"),
        RunRefusal.INVALID_HEADER,
    ),
    "bytes after the header": (_add_to_header(b"x"), RunRefusal.DAMAGED_HEADER),
    "another object after the header": (_add_to_header(b"{}"), RunRefusal.DAMAGED_HEADER),
    "the end of a list after the header": (_add_to_header(b"] "), RunRefusal.DAMAGED_HEADER),
    "begun in the future": (
        _change_header(started_at="2999-01-01T00:00:00+00:00"),
        RunRefusal.CONTRADICTION,
    ),
    "finished in the future": (
        _change_footer(finished_at="2999-01-01T00:00:00+00:00"),
        RunRefusal.CONTRADICTION,
    ),
    "finished before it began": (
        _change_footer(finished_at="2026-11-21T14:29:59+00:00"),
        RunRefusal.CONTRADICTION,
    ),
    "no such day": (_change_header(started_at="2026-02-30T00:00:00Z"), RunRefusal.INVALID_HEADER),
    "no offset": (_change_header(started_at="2026-11-21T14:30:00"), RunRefusal.INVALID_HEADER),
    "a path as run id": (_change_header(run_id="../../etc"), RunRefusal.INVALID_HEADER),
    "a cell twice": (
        _change_header(planned_cells=[planned_cell(), planned_cell()]),
        RunRefusal.INVALID_HEADER,
    ),
    "unknown clause": (
        _change_header(planned_cells=[planned_cell("KIP-0.unknown")]),
        RunRefusal.UNKNOWN_CLAUSE,
    ),
    "unknown target": (
        _change_header(planned_cells=[planned_cell(target="unknown-1.0")]),
        RunRefusal.UNKNOWN_TARGET,
    ),
    "no footer": (_leave_out("footer"), RunRefusal.CUT_OFF),
    "no rows": (lambda folder: _rows_file(folder).unlink(), RunRefusal.ROW_COUNT_DIFFERS),
    "an empty file of rows": (
        lambda folder: _rows_file(folder).write_bytes(b""),
        RunRefusal.ROW_COUNT_DIFFERS,
    ),
    "rows cut short": (_truncate_rows, RunRefusal.DAMAGED_FILE),
    "rows with a dictionary that repeats a text": (
        _repeat_a_text_in_the_dictionary,
        RunRefusal.DAMAGED_FILE,
    ),
    "rows of other types": (_change_columns(_with_texts_for_numbers), RunRefusal.DAMAGED_FILE),
    "lists for numbers": (
        _change_columns(partial(_with_lists_for_numbers, length=1)),
        RunRefusal.DAMAGED_FILE,
    ),
    "more values than rows": (
        _change_columns(partial(_with_lists_for_numbers, length=2)),
        RunRefusal.BEYOND_LIMITS,
    ),
    "a column twice": (
        _change_columns(lambda table: table.append_column("phase", table["phase"])),
        RunRefusal.DAMAGED_FILE,
    ),
    "rows without a column": (
        _change_columns(lambda table: table.drop_columns(["phase"])),
        RunRefusal.DAMAGED_FILE,
    ),
    "exchanges that are no Parquet": (_write_foreign_exchanges, RunRefusal.DAMAGED_FILE),
    "a row too few": (_change_footer(example_rows=ROWS + 1), RunRefusal.ROW_COUNT_DIFFERS),
    "a row too many": (_change_footer(example_rows=ROWS - 1), RunRefusal.ROW_COUNT_DIFFERS),
    "no exchanges": (_change_footer(exchange_rows=1), RunRefusal.ROW_COUNT_DIFFERS),
    "exchanges not counted": (
        lambda folder: write_exchanges(folder, [b"\0"]),
        RunRefusal.ROW_COUNT_DIFFERS,
    ),
    "other rows than were written": (_write_other_rows_after_hashing, RunRefusal.CHANGED_FILE),
    "another dump than was written": (
        _after_hashing_a_failure(lambda dump: dump.write_text("00 12 00 04")),
        RunRefusal.CHANGED_FILE,
    ),
    "an empty dump": (
        _after_hashing_a_failure(lambda dump: dump.write_text("")),
        RunRefusal.CHANGED_FILE,
    ),
    "no dump": (_after_hashing_a_failure(Path.unlink), RunRefusal.CHANGED_FILE),
    **{
        f"a null as {name}": (_with_null(name), RunRefusal.INVALID_ROWS)
        for name in ("property", "outcome", "verdict", "run_id", "example_number")
    },
    "a row of an unknown clause": (
        _with_last_row(clause="KIP-0.unknown"),
        RunRefusal.UNKNOWN_CLAUSE,
    ),
    "a row of an unknown target": (_with_last_row(target="unknown-1.0"), RunRefusal.UNKNOWN_TARGET),
    "a row of an unknown verdict": (_with_last_row(verdict="splendid"), RunRefusal.INVALID_ROWS),
    "a row with the verdict of a cell": (_with_last_row(verdict="flaky"), RunRefusal.INVALID_ROWS),
    "a row of an unknown phase": (_with_last_row(phase="reuse"), RunRefusal.INVALID_ROWS),
    "a row of another run": (_with_last_row(run_id="another"), RunRefusal.INVALID_ROWS),
    "a row of no planned cell": (_with_last_row(listener="controller"), RunRefusal.INVALID_ROWS),
    "a client's row among a broker's": (
        _with_last_row(client="kafkajs"),
        RunRefusal.CONTRADICTION,
    ),
    "rows of clients without a client": (_OF_CLIENTS, RunRefusal.CONTRADICTION),
    "passed with a violation": (_VIOLATING, RunRefusal.CONTRADICTION),
    "incomplete with a violation": (
        _in_turn(_VIOLATING, _change_footer(exit_status=11)),
        RunRefusal.CONTRADICTION,
    ),
    "a file that the run did not write": (
        _after_hashing_a_failure(lambda dump: dump.with_name("more.txt").write_text("00")),
        RunRefusal.CHANGED_FILE,
    ),
    **{
        f"hash of {what}": (
            _change_footer(files={name: "0" * 64}),
            RunRefusal.CHANGED_FILE,
        )
        for what, name in {
            "a file next to the folder": "../other.txt",
            "a file of the system": "/etc/hostname",
            "a name that no file can have": "x" * 5_000,
            "a name with a null": "a\0b",
        }.items()
    },
    "an empty file that the run did not write": (
        _after_hashing_a_failure(lambda dump: dump.with_name("more.txt").touch()),
        RunRefusal.CHANGED_FILE,
    ),
    **{
        f"rows in a {kind} that the run did not write": (
            _after_hashing_a_failure(partial(_copy_rows, name=name)),
            RunRefusal.CHANGED_FILE,
        )
        for kind, name in {
            "hidden file": ".more.parquet",
            "file hidden from Spark": "_more.parquet",
            "folder hidden from Spark": "_more/part-0.parquet",
        }.items()
    },
    **{
        f"rows as {name} alone": (partial(_hide_rows, name=name), RunRefusal.ROW_COUNT_DIFFERS)
        for name in (".part-0.parquet", "_part-0.parquet")
    },
}
"""Maps each defect of a run folder to how to make a correct run defective, and how it is refused."""

_EXCUSES: Mapping[str, Mapping[str, Any]] = {
    "declared": {"known_violation": "KAFKA-1"},
    "unproven": {"unproven": "slow"},
    "flaky": {"flaky": _FLAKE_RATE},
}
UNCOUNTED_FILES: Mapping[str, Callable[[Path], object]] = {
    "violations in a hidden file": _hide_violations,
    "a damaged file too many": lambda folder: (folder / "examples" / "part-1.parquet").write_text("no Parquet"),
}
"""Add a file to a run whose footer lists none; the run counts without the file."""

EXPLAINED: Mapping[str, Callable[[Path], object]] = {
    "failed": _in_turn(_VIOLATING, _change_footer(exit_status=1)),
    "nested as deeply as is read": _change_header(weather=json.loads("[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))),
    "failed by a test of no cell": _change_footer(exit_status=1),
    **{
        name: _in_turn(_VIOLATING, _change_header(planned_cells=[planned_cell(**of_cell)]))
        for name, of_cell in _EXCUSES.items()
    },
    **UNCOUNTED_FILES,
    "shrunk": _with_last_row(**_VIOLATION, phase="shrink"),
    "should": _in_turn(_VIOLATING, _change_header(clauses=[clause_entry(level="SHOULD")])),
}
"""Runs that only look wrong: a violation is declared, was only seen once, or does not fail a run, for example."""

OTHER_SUITES: Mapping[str, Callable[[Path], None]] = {
    "older": _change_columns(lambda table: table.drop_columns(["request"])),
    "newer": _change_columns(lambda table: table.append_column("weather", pa.array(["fine"] * ROWS))),
}
"""Change a run's rows to the columns of another version of the suite; such runs still count."""
