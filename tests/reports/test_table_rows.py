"""Tables of the roll-up become objects, from however many files Spark wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports.grid.table_rows import inputs_sha256, read_rows

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


def write(tables: Path, part: str, columns: dict[str, Any], said: bytes | None = None) -> None:
    """Write one file of the table `nights`, with Spark's metadata if any is given."""
    folder = tables / "nights.parquet"
    folder.mkdir(exist_ok=True)
    table = pa.table(columns)
    if said is not None:
        table = table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": said})
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


def test_conversions_change_the_values_of_a_row(tmp_path: Path) -> None:
    """They are applied in order, and see what the earlier ones changed."""
    write(tmp_path, "a.parquet", {"name": ["a"], "started_at": [None], "examples": [3]})
    (row,) = read_rows(
        tmp_path,
        "nights",
        NightRow,
        lambda values: {"examples": values["examples"] + 1},
        lambda values: {"name": f"{values['name']}{values['examples']}"},
    )
    assert row == NightRow(name="a4", started_at=None, examples=4)


def test_column_without_a_default_has_to_be_there(tmp_path: Path) -> None:
    """It is an error of the roll-up, and not a null."""
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
    """It is that of the first file with Spark's metadata; a table that is missing has none."""
    assert inputs_sha256(tmp_path, "nights") == ""
    fields = [{"metadata": metadata}, {"metadata": {"inputs_sha256": "cd"}}]
    said = None if metadata is None else json.dumps({"fields": fields}).encode()
    write(tmp_path, "part-0.parquet", {"name": ["a"]})
    write(tmp_path, "part-1.parquet", {"name": ["a"]}, said)
    assert inputs_sha256(tmp_path, "nights") == expected
