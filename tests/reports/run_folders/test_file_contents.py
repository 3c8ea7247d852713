"""A summary follows from a file's bytes; damaged ones have no rows."""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports.run_folders import file_contents, run_limits
from reports.run_folders.file_contents import MAX_COMPARED, contents_of
from tests.run_folders import (
    example_row,
    planned_cell,
    rows_table,
    run_header,
    write_examples,
    write_exchanges,
)

HEADER = run_header([planned_cell()], run_id="r1")
PINNED = {"test_something": 5}
FAILED = {"verdict": "violates", "failure_signature": "f1"}


def _batch(content: bytes, name: str = "examples/part-0.parquet") -> pa.RecordBatch:
    return contents_of("runs/r1", name, pa.py_buffer(content), pinned_examples=PINNED)


def _contents(content: bytes, name: str = "examples/part-0.parquet") -> dict[str, Any]:
    (row,) = _batch(content, name).to_pylist()
    return dict(row)


def _known(content: bytes, name: str = "examples/part-0.parquet") -> dict[str, Any]:
    """Return what is known about a file, without columns about other tables."""
    found = _contents(content, name)
    return {key: value for key, value in found.items() if value is not None}


def _of_rows(path: Path, *changes: dict[str, Any]) -> dict[str, Any]:
    rows = [example_row(HEADER, number, **change) for number, change in enumerate(changes)]
    write_examples(path / "examples" / "part-0.parquet", rows_table(rows))
    return _contents((path / "examples" / "part-0.parquet").read_bytes())


def test_rows_that_differ_in_nothing_but_number_and_latency_become_one(tmp_path: Path) -> None:
    """Rows are counted per verdict, phase and failure, with the smallest example."""
    found = _of_rows(tmp_path, {}, {}, {"latency_bucket": None}, FAILED, {**FAILED, "phase": "shrink"}, FAILED)
    assert found["example_rows"] == 6
    names = ("run_date", "phase", "verdict", "failure_signature", "examples", "smallest_example")
    day = date(2026, 11, 21)
    assert sorted((tuple(row[name] for name in names) for row in found["partials"]), key=str) == [
        (day, "generate", "conforms", None, 3, 0),
        (day, "generate", "violates", "f1", 2, 3),
        (day, "shrink", "violates", "f1", 1, 4),
    ]


def test_latencies_of_generated_examples_are_counted(tmp_path: Path) -> None:
    """Shrinking, and examples without a latency, are left out."""
    slow = {"latency_bucket": 50}
    found = _of_rows(
        tmp_path,
        {},
        slow,
        {"latency_bucket": None},
        {**slow, "phase": "shrink"},
        {**slow, **FAILED},
    )
    assert sorted((row["latency_bucket"], row["examples"]) for row in found["latencies"]) == [
        (36, 1),
        (50, 2),
    ]


@pytest.mark.parametrize(
    ("change", "numbers"),
    [
        pytest.param({}, [1, 3, 4, 5], id="pinned"),
        pytest.param({"property": "test_other"}, [1, 3], id="sampled"),
        pytest.param(FAILED, [1, *range(3, MAX_COMPARED + 1)], id="failed"),
    ],
)
def test_first_examples_are_those_that_may_be_compared(
    tmp_path: Path, change: dict[str, Any], numbers: list[int]
) -> None:
    """Example 0, shrinking examples and high numbers are left out: other targets did not receive the same."""
    shrunk = {**change, "phase": "shrink"}
    found = _of_rows(tmp_path, change, change, shrunk, *(change for _ in range(MAX_COMPARED)))
    assert [row["example_number"] for row in found["first_examples"]] == numbers


def test_row_groups_with_dictionaries_of_their_own_are_one_file(tmp_path: Path) -> None:
    """A value with a different dictionary index in each row group is still one value."""
    rows = [example_row(HEADER, number, outcome=outcome) for number, outcome in enumerate("abba")]
    path = tmp_path / "part.parquet"
    pq.write_table(rows_table(rows), path, row_group_size=2)
    found = _contents(path.read_bytes())
    assert sorted((row["outcome"], row["examples"]) for row in found["reached"]) == [
        ("a", 2),
        ("b", 2),
    ]


def test_what_generated_examples_reached_is_counted(tmp_path: Path) -> None:
    """Examples are counted by kind of request, outcome and error code; shrinking is left out."""
    refused = {"request": "v3-broken", "outcome": "closed", "error_code": None}
    found = _of_rows(tmp_path, {}, {}, refused, {**refused, "phase": "shrink"})
    names = ("request", "outcome", "error_code", "examples")
    assert sorted(tuple(row[name] for name in names) for row in found["reached"]) == [
        ("v3", "answer", 0, 2),
        ("v3-broken", "closed", None, 1),
    ]


def test_rows_that_break_the_schema_are_counted_apart(tmp_path: Path) -> None:
    """A row with a null in a column that allows none is counted for the roll-up to refuse, and is in no list."""
    table = rows_table([example_row(HEADER), example_row(HEADER, 1)])
    nulls = pa.array(["generate", None])
    lax = table.set_column(table.schema.get_field_index("phase"), "phase", nulls)
    path = tmp_path / "part.parquet"
    pq.write_table(lax, path)
    found = _contents(path.read_bytes())
    assert (found["example_rows"], found["incomplete_rows"]) == (2, 1)
    assert [(row["phase"], row["examples"]) for row in found["partials"]] == [("generate", 1)]
    assert [row["examples"] for row in found["reached"]] == [1]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1 and then nothing of the kind PAR1"])
def test_damaged_file_has_no_rows_but_a_hash(content: bytes) -> None:
    """A file that is not Parquet is marked as damaged, and contributes no rows."""
    found = _known(content)
    digest = hashlib.sha256(content).hexdigest()
    name = "examples/part-0.parquet"
    assert found == {"folder": "runs/r1", "name": name, "sha256": digest, "damaged": True}


def test_any_byte_of_a_file_may_be_wrong(tmp_path: Path) -> None:
    """Whichever byte is damaged, reading returns with or without rows, and never raises."""
    _of_rows(tmp_path, {}, FAILED)
    whole = (tmp_path / "examples" / "part-0.parquet").read_bytes()
    for index in range(0, len(whole), 13):
        damaged = bytearray(whole)
        damaged[index] ^= 0xFF
        found = _batch(bytes(damaged))
        assert found["damaged"][0].as_py() or found["example_rows"][0].as_py() in range(3)


def test_early_exchanges_are_handed_on(tmp_path: Path) -> None:
    """All exchange rows are counted; those of example 0 are not kept."""
    write_exchanges(tmp_path, [b"\0"] * 2)
    content = (tmp_path / "exchanges" / "part-0.parquet").read_bytes()
    found = _contents(content, "exchanges/part-0.parquet")
    assert (found["exchange_rows"], found["exchanges"], found["example_rows"]) == (2, [], None)


@pytest.mark.parametrize("name", ["failures/f1/exchange.txt", "answers/a.parquet", "examples/a/b.parquet"])
def test_other_files_are_hashed_alone(name: str) -> None:
    """A file without rows to count has only a name and a hash."""
    digest = hashlib.sha256(b"bytes").hexdigest()
    assert _known(b"bytes", name) == {"folder": "runs/r1", "name": name, "sha256": digest}


def _written(path: Path, table: pa.Table, **options: Any) -> bytes:
    pq.write_table(table, path / "part.parquet", **options)
    return (path / "part.parquet").read_bytes()


def _repeated(rows: int, **changes: Any) -> pa.Table:
    one = rows_table([example_row(HEADER, **changes)])
    columns = {name: pa.repeat(one[name][0], rows) for name in one.schema.names}
    return pa.table(columns, schema=one.schema)


def _long_texts(rows: int) -> pa.Table:
    """Rows that differ in their numbers, with one text of 1 kB between them."""
    table = _repeated(rows, property="x" * 1_000)
    numbers = pa.array([1 + number % 30 for number in range(rows)], pa.int32())
    signatures = pa.array([f"{number:x}" for number in range(rows)])
    for name, values in (("example_number", numbers), ("failure_signature", signatures)):
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table


def _different(rows: int) -> pa.Table:
    table = _repeated(rows)
    signatures = pa.array(map(str, range(rows)), pa.string())
    return table.set_column(table.schema.get_field_index("failure_signature"), "failure_signature", signatures)


def _lists(length: int) -> pa.Table:
    """One row with a list in the column of one number."""
    numbers = pa.repeat(pa.scalar(1, pa.int32()), length)
    lists = pa.ListArray.from_arrays(pa.array([0, length], pa.int32()), numbers)
    table = _repeated(1)
    return table.set_column(table.schema.get_field_index("example_number"), "example_number", lists)


def test_columns_are_read_only_if_all_are_those_of_the_table(tmp_path: Path) -> None:
    """A footer that lies about the number of values gets no column of lists into memory."""
    content = _written(tmp_path, _lists(1))
    with patch.object(pq.ParquetFile, "read") as read:
        found = _contents(content)
    assert (found["damaged"], read.called) == (True, False)


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of each limit, so that the files of the tests are small as well."""
    monkeypatch.setattr(run_limits, "MAX_ROWS", 1_000)
    for module in (run_limits, file_contents):
        monkeypatch.setattr(module, "MAX_UNPACKED_BYTES", 65_000)
    monkeypatch.setattr(file_contents, "MAX_ENTRIES", 100)


@pytest.mark.parametrize(
    ("table", "options", "reason"),
    [
        (_repeated(1_001), {}, "it has 1,001 rows; the limit is 1,000"),
        (_repeated(1, property="x" * 70_000), {"compression": "zstd"}, "it has 7"),
        (_repeated(2), {"compression": "zstd"}, "it is written with ZSTD: "),
        (
            _repeated(2),
            {"use_dictionary": False, "column_encoding": {"property": "DELTA_BYTE_ARRAY"}},
            "it is written with DELTA_BYTE_ARRAY: ",
        ),
        (_lists(20_000), {}, "a column has 20,000 values, but "),
        (_long_texts(70), {}, "its texts take 7"),
        (_different(101), {}, "101 of its rows differ; the limit is 100"),
    ],
    ids=["rows", "unpacked", "compression", "encoding", "lists", "texts", "differing"],
)
@pytest.mark.usefixtures("low_limits")
def test_file_beyond_a_limit_has_no_rows_but_a_reason(
    tmp_path: Path, table: pa.Table, options: dict[str, Any], reason: str
) -> None:
    """A small file that would take a lot of memory is not read, and the reason says what is too much."""
    found = _known(_written(tmp_path, table, **options))
    assert found.keys() == {"folder", "name", "sha256", "excess"}
    assert found["excess"].startswith(reason)


def test_bytes_that_many_rows_repeat_are_not_written_out(tmp_path: Path) -> None:
    """What was sent is kept once in the file, and would be in memory once per row."""
    write_exchanges(tmp_path, [b"\0"] * 70)
    table = pq.read_table(tmp_path / "exchanges" / "part-0.parquet")
    index = table.schema.get_field_index("sent")
    long = pa.repeat(pa.scalar(b"x" * 1_000_000, pa.binary()), 70)
    field = table.schema.field("sent")
    content = _written(tmp_path, table.set_column(index, field, long))
    assert len(content) < 100_000
    assert _contents(content, "exchanges/part-0.parquet")["excess"].startswith("its texts take")
