"""What follows from the classes of a roll-up's rows."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from datetime import datetime

import pyarrow as pa
import pytest

from reports.arrow_schemas import rows_schema, table_schemas
from reports.record_columns import ColumnType
from reports.tables.all_tables import ROW_KEYS, ROW_TYPES
from reports.tables.cell_rows import CellFailure
from reports.tables.columns import InstantOfHistory, Int16, Int64, OptionalText, RowOfTable, TableColumn, column_of
from reports.tables.failure_rows import KeptFailure
from reports.tables.history_rows import Latency
from reports.tables.target_rows import GridTarget

ROW_CLASSES = [*ROW_TYPES.values(), CellFailure]


@pytest.mark.parametrize("row_type", ROW_CLASSES)
def test_every_column_has_a_meaning(row_type: type) -> None:
    """The docstring of the class lists its fields, in their order or not, and nothing else."""
    _, _, listed = (inspect.getdoc(row_type) or "").partition("Attributes:\n")
    assert sorted(re.findall(r"^    (\w+): \S", listed, re.MULTILINE)) == sorted(
        field.name for field in fields(row_type)
    )


@pytest.mark.parametrize("row_type", ROW_TYPES.values())
def test_key_names_columns_that_are_never_null(row_type: type[RowOfTable]) -> None:
    columns = rows_schema(row_type)
    assert row_type.KEY
    assert all(not columns.field(name).nullable for name in row_type.KEY)


def test_keys_are_those_of_the_classes() -> None:
    assert ROW_KEYS["transitions"] == ("clause", "target", "listener", "at", "run_id")
    assert ROW_KEYS["latency"] == ("target", "listener", "bucket")
    assert list(ROW_KEYS) == list(table_schemas())


@pytest.mark.parametrize(
    ("hint", "type_", "size", "nullable", "null_is"),
    [
        (str, str, None, False, None),
        (str | None, str, None, True, None),
        (Int64, int, ColumnType.INT64, False, None),
        (Int16 | None, int, ColumnType.INT16, True, None),
        (OptionalText, str, None, True, ""),
        (InstantOfHistory, datetime, None, False, None),
    ],
)
def test_hints_declare_columns(
    hint: object, type_: type, size: ColumnType | None, nullable: bool, null_is: str | None
) -> None:
    expected = TableColumn(name="x", type=type_, size=size, nullable=nullable, null_is=null_is)
    assert column_of(hint, "x") == expected


def test_columns_in_arrow_follow_from_the_class() -> None:
    assert rows_schema(Latency) == pa.schema(
        [
            pa.field("target", pa.string(), nullable=False),
            pa.field("listener", pa.string(), nullable=False),
            pa.field("bucket", pa.int16(), nullable=False),
            pa.field("examples", pa.int64(), nullable=False),
        ]
    )
    target = rows_schema(GridTarget)
    assert target.field("release_order").type == pa.list_(pa.field("element", pa.int32(), nullable=False))
    assert target.field("started_at").type == pa.timestamp("us", tz="UTC")
    artefacts = target.field("artefacts").type
    assert artefacts == pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False))


def test_columns_that_may_be_null_come_last_in_arrow() -> None:
    assert rows_schema(KeptFailure).names == [
        *("run_id", "signature", "clause", "target", "listener", "smallest_example"),
        *("property", "kind", "message", "example", "verdict", "facts", "hex_dump", "reproducer", "pcap"),
        "known_violation",
    ]
