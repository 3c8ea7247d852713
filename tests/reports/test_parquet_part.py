"""Files of rows are what their readers accept, with the rows that were given."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports.arrow_schemas import arrow_schema
from reports.record_columns import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS, RECORD_TABLES, Column, ColumnType
from reports.run.parquet_part import parquet_of
from reports.run_folders.run_limits import excess_of

VALUES: Mapping[ColumnType, Any] = {
    ColumnType.STRING: "κ",
    ColumnType.INT16: -(2**15),
    ColumnType.INT32: 2**31 - 1,
    ColumnType.DATE: date(2026, 11, 30),
    ColumnType.BINARY: b"\0\xff",
}


def rows_of(fields: Sequence[Column]) -> list[dict[str, Any]]:
    """Return a row with every value, and one with nothing that may be left out."""
    complete = {field.name: VALUES[field.type] for field in fields}
    return [complete, {field.name: VALUES[field.type] for field in fields if not field.nullable}]


def read(data: bytes) -> pa.Table:
    """Read the content of a file."""
    return pq.read_table(io.BytesIO(data))


@pytest.mark.parametrize("fields", [table.columns for table in RECORD_TABLES.values()], ids=RECORD_TABLES)
def test_rows_come_back_in_the_columns_of_their_table(fields: Sequence[Column]) -> None:
    rows = rows_of(fields)
    table = read(parquet_of(rows, fields))
    assert table.schema.remove_metadata() == arrow_schema(fields)
    assert table.to_pylist() == [{field.name: row.get(field.name) for field in fields} for row in rows]


def test_days_before_1970_are_days() -> None:
    (column,) = (field for field in EXAMPLE_FIELDS if field.type is ColumnType.DATE)
    day = date(1969, 12, 31)
    assert read(parquet_of([{column.name: day}], [column]))[column.name].to_pylist() == [day]


@pytest.mark.parametrize("fields", [EXAMPLE_FIELDS, EXCHANGE_FIELDS, ANSWER_FIELDS], ids=RECORD_TABLES)
def test_files_are_within_the_limits_of_readers(fields: Sequence[Column]) -> None:
    data = parquet_of(rows_of(fields) * 10_000, fields)
    assert excess_of(pq.read_metadata(io.BytesIO(data))) == ""


def test_null_where_none_may_be_is_an_error() -> None:
    with pytest.raises(Exception, match="non-nullable"):
        parquet_of([{"answer_sha256": None, "received": b""}], ANSWER_FIELDS)


def test_few_values_are_written_once() -> None:
    """A column with few values costs less than a byte a row."""
    (column,) = (field for field in EXAMPLE_FIELDS if field.name == "clause")
    rows = [{"clause": "KIP-511.unsupported-version-answered-in-v0"}] * 20_000
    assert len(parquet_of(rows, [column])) < 1_000
