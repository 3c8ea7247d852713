"""Tables of the roll-up are read as objects, within limits of memory and time.

Spark may have written any number of files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports.arrow_schemas import rows_schema
from reports.grid import table_rows
from reports.grid.table_rows import (
    BeyondLimits,
    check_files,
    check_lists,
    check_table,
    inputs_sha256,
    read_rows,
    read_table,
)
from reports.records import Verdict
from reports.tables.cell_rows import CellFailure
from reports.tables.columns import Int16, OptionalText
from reports.verify.verification import differing_files

WINTER = datetime(2026, 11, 21, 14, 30, 0, 250_000, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRow:
    """A row of the table.

    Attributes:
        name: a column.
        started_at: an instant, or null.
        examples: a field with a default, whose column may be missing.
    """

    name: str
    started_at: datetime | None
    examples: int = 7


def write(tables: Path, part: str, columns: dict[str, Any], sentence: bytes | None = None) -> None:
    """Write one file of the table `nights`, with Spark's metadata if any is given."""
    folder = tables / "nights.parquet"
    folder.mkdir(exist_ok=True)
    table = pa.table(columns)
    if sentence is not None:
        table = table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": sentence})
    pq.write_table(table, folder / part)


def test_rows_of_all_files_are_read_in_order(tmp_path: Path) -> None:
    """Columns without a field are left out, a missing one has its default, and instants are in UTC."""
    write(tmp_path, "part-1.parquet", {"name": ["c"], "started_at": [WINTER], "more": [1]})
    write(tmp_path, "part-0.parquet", {"name": ["a"], "started_at": [WINTER], "more": [1]})
    (tmp_path / "nights.parquet" / "_SUCCESS").write_text("")
    rows = list(read_rows(tmp_path, "nights", NightRow))
    assert rows == [NightRow(name="a", started_at=WINTER), NightRow(name="c", started_at=WINTER)]
    assert [row.started_at and row.started_at.utcoffset() for row in rows] == [timedelta(0)] * 2


def test_instants_in_any_unit_and_zone_are_the_same(tmp_path: Path) -> None:
    """Spark writes microseconds, other writers milliseconds or nanoseconds; an instant may be null."""
    for unit, zone in (("ms", "UTC"), ("us", "+01:00"), ("ns", "UTC")):
        instants = pa.array([WINTER, None], pa.timestamp(unit, tz=zone))
        tables = tmp_path / unit
        tables.mkdir()
        write(tables, "a.parquet", {"name": ["a", "b"], "started_at": instants})
        found = [row.started_at for row in read_rows(tables, "nights", NightRow)]
        assert found == [WINTER, None], unit


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedNight:
    """A row whose values are not as Arrow has them.

    Attributes:
        verdict: a text of the file.
        before: the same, or null.
        codes: a list.
        failures: a list of structs.
        artefacts: a map.
        message: a text that is null in the file where there is none.
    """

    verdict: Verdict
    before: Verdict | None
    codes: tuple[Int16, ...]
    failures: tuple[CellFailure, ...]
    artefacts: Mapping[str, str]
    message: OptionalText


def test_values_are_as_the_class_says(tmp_path: Path) -> None:
    folder = tmp_path / "nights.parquet"
    folder.mkdir()
    failure = {"signature": "f1", "verdict": "violates", "smallest_example": 7, "examples": 3}
    rows = [
        {
            "verdict": "conforms",
            "before": before,
            "codes": [35, 0],
            "failures": [failure],
            "artefacts": [("b", "2"), ("a", "1")],
            "message": message,
        }
        for before, message in ((None, None), ("flaky", "late"))
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=rows_schema(TypedNight)), folder / "a.parquet")
    first, second = read_rows(tmp_path, "nights", TypedNight)
    assert first == TypedNight(
        verdict=Verdict.CONFORMS,
        before=None,
        codes=(35, 0),
        failures=(CellFailure(signature="f1", verdict=Verdict.VIOLATES, smallest_example=7, examples=3),),
        artefacts={"a": "1", "b": "2"},
        message="",
    )
    assert list(first.artefacts) == ["a", "b"]
    assert (second.before, second.message) == (Verdict.FLAKY, "late")
    assert [type(value) for value in (first.verdict, first.failures[0].verdict, second.before)] == [Verdict] * 3


def test_column_without_a_default_has_to_be_there(tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", {"started_at": [WINTER]})
    with pytest.raises(TypeError, match="name"):
        list(read_rows(tmp_path, "nights", NightRow))


def test_missing_table_is_named(tmp_path: Path) -> None:
    """An empty folder is no table either."""
    (tmp_path / "nights.parquet").mkdir()
    with pytest.raises(FileNotFoundError) as missing:
        list(read_rows(tmp_path, "nights", NightRow))
    assert missing.value.args == (tmp_path / "nights.parquet",)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"inputs_sha256": "ab"}, "ab", id="hash"),
        pytest.param({}, "", id="no-hash"),
        pytest.param(None, "", id="not-of-spark"),
    ],
)
def test_hash_of_the_inputs_stands_in_the_first_column(
    tmp_path: Path, metadata: dict[str, str] | None, expected: str
) -> None:
    assert inputs_sha256(tmp_path, "nights") == ""
    fields = [{"metadata": metadata}, {"metadata": {"inputs_sha256": "cd"}}]
    sentence = None if metadata is None else json.dumps({"fields": fields}).encode()
    write(tmp_path, "part-0.parquet", {"name": ["a"]})
    write(tmp_path, "part-1.parquet", {"name": ["a"]}, sentence)
    assert inputs_sha256(tmp_path, "nights") == expected


def _repeated(text: str, times: int) -> pa.Array:
    """Return a column of one text, which is once in a file however many rows have it."""
    indices = pa.array([0] * times, pa.int8())
    return pa.DictionaryArray.from_arrays(indices, [text]).cast(pa.string())


def _in_a_list(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays([0, len(values)], pa.StructArray.from_arrays([values], ["x"]))


TABLES: Mapping[str, tuple[Callable[[], pa.Array], str]] = {
    "rows": (lambda: pa.nulls(101, pa.int8()), "101 rows; the limit is 100"),
    "values": (
        lambda: _in_a_list(pa.array(["a"] * 1001)),
        "1,001 values; the limit is 1,000",
    ),
    "texts": (lambda: _repeated("a" * 150, 100), "15,000 bytes of texts; the limit is 10,000"),
    "texts in a list": (
        lambda: _in_a_list(_repeated("a" * 150, 100)),
        "15,000 bytes of texts; the limit is 10,000",
    ),
}


@pytest.fixture(name="small_limits", autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "MAX_FILES": 5,
        "MAX_ROWS": 100,
        "MAX_VALUES": 1000,
        "MAX_UNPACKED_BYTES": 10_000,
        "MAX_FILE_BYTES": 20_000,
        "MAX_GRID_BYTES": 30_000,
        "MAX_JSON_BYTES": 1000,
    }.items():
        monkeypatch.setattr(table_rows, name, value)


@pytest.mark.parametrize("name", TABLES)
def test_table_beyond_a_limit_is_refused(name: str, tmp_path: Path) -> None:
    column, reason = TABLES[name]
    path = tmp_path / "cells.parquet"
    pq.write_table(pa.table({"x": column()}), path)
    with pytest.raises(BeyondLimits, match=rf"cells\.parquet has {reason}"):
        check_table([path])
    with pytest.raises(BeyondLimits):
        read_table(tmp_path, "cells")
    with pytest.raises(BeyondLimits):
        list(read_rows(tmp_path, "cells", dict))


def test_parts_and_columns_are_added_up(tmp_path: Path) -> None:
    """Numbers that repeat take no room in a file, and a table may have many files."""
    table = tmp_path / "cells.parquet"
    table.mkdir()
    zeros = pa.array([0] * 60)
    for part in "ab":
        pq.write_table(pa.table({"x": zeros}), table / f"{part}.parquet")
    with pytest.raises(BeyondLimits, match=r"b\.parquet has 120 rows; the limit is 100"):
        read_table(tmp_path, "cells")
    wide = tmp_path / "wide.parquet"
    pq.write_table(pa.table({f"x{index}": zeros for index in range(20)}), wide)
    with pytest.raises(BeyondLimits, match="1,200 values; the limit is 1,000"):
        check_table([wide])


def test_what_is_decompressed_is_bounded(tmp_path: Path) -> None:
    """A file of zeros is small."""
    column = pa.array([bytes(5000)] * 3)
    path = tmp_path / "cells.parquet"
    pq.write_table(pa.table({"x": column}), path, use_dictionary=False)
    with pytest.raises(BeyondLimits, match="bytes when decompressed"):
        check_table([path])


def test_table_within_the_limits_is_read(tmp_path: Path) -> None:
    """As a file, or as a folder of several."""
    column = _in_a_list(_repeated("a" * 45, 100))
    (tmp_path / "runs.parquet").mkdir()
    for name in ("cells.parquet", "runs.parquet/a.parquet", "runs.parquet/b.parquet"):
        pq.write_table(pa.table({"x": column}), tmp_path / name)
    assert read_table(tmp_path, "cells").to_pylist() == [{"x": [{"x": "a" * 45}] * 100}]
    assert len(read_table(tmp_path, "runs")) == 2


def _sparse(path: Path, size: int) -> None:
    path.touch()
    os.truncate(path, size)


def test_files_that_take_hours_are_not_hashed(tmp_path: Path) -> None:
    """A sparse file has no bytes on the disk, and as many as it likes to be hashed."""
    _sparse(tmp_path / "huge.html", 3 * 10**12)
    with pytest.raises(BeyondLimits, match=r"huge\.html has 3,000,000,000,000 bytes"):
        next(differing_files(tmp_path))


def test_files_together_are_bounded(tmp_path: Path) -> None:
    """By their bytes and by their number; a link counts as itself."""
    for name in "ab":
        _sparse(tmp_path / name, 16_000)
    (tmp_path / "link").symlink_to("/dev/zero")
    with pytest.raises(BeyondLimits, match="has 32,000 bytes; the limit is 30,000"):
        check_files(tmp_path)
    (tmp_path / "b").unlink()
    check_files(tmp_path)
    for name in "bcde":
        (tmp_path / name).mkdir()
    with pytest.raises(BeyondLimits, match="has 6 files; the limit is 5"):
        check_files(tmp_path)


@pytest.mark.parametrize("name", ["refused.json", "notices.json", "grid.json"])
def test_lists_are_bounded(name: str, tmp_path: Path) -> None:
    """A pipe would be read for ever."""
    check_lists(tmp_path)
    _sparse(tmp_path / name, 1001)
    with pytest.raises(BeyondLimits, match="has 1,001 bytes; the limit is 1,000"):
        check_lists(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(BeyondLimits, match="is no file"):
        check_lists(tmp_path)
