"""Arrow schemas of record tables, a run's header and the roll-up's tables.

To Arrow, the values of a dictionary column are plain strings, so rows are easy to build. Only the Parquet file is
dictionary-encoded, and every reader decodes it transparently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, get_args, get_origin

import pyarrow as pa

from reports.record_columns import Column, ColumnType
from reports.run_schema import resolved, run_schema
from reports.tables.all_tables import ROW_TYPES
from reports.tables.columns import TableColumn, column_of, columns_of_rows

_ARROW_TYPES = MappingProxyType(
    {
        ColumnType.STRING: pa.string(),
        ColumnType.BOOLEAN: pa.bool_(),
        ColumnType.INT16: pa.int16(),
        ColumnType.INT32: pa.int32(),
        ColumnType.INT64: pa.int64(),
        ColumnType.DOUBLE: pa.float64(),
        ColumnType.BINARY: pa.binary(),
        ColumnType.DATE: pa.date32(),
        ColumnType.INSTANT: pa.timestamp("us", tz="UTC"),
    }
)
_TYPES_OF_PYTHON: Mapping[type, ColumnType] = MappingProxyType(
    {
        str: ColumnType.STRING,
        bool: ColumnType.BOOLEAN,
        float: ColumnType.DOUBLE,
        bytes: ColumnType.BINARY,
        datetime: ColumnType.INSTANT,
    }
)
"""The types of columns whose class says no size."""
_TYPES_OF_JSON: Mapping[str, pa.DataType] = MappingProxyType(
    {"string": pa.string(), "boolean": pa.bool_(), "integer": pa.int32(), "number": pa.float64()}
)
_LARGE_NUMBERS = ("seed", "example_rows", "exchange_rows")
"""Integers of `run.json` that need eight bytes."""


def arrow_schema(fields: Sequence[Column]) -> pa.Schema:
    """Return the Arrow schema of a record table, columns in the order of `fields`."""
    return pa.schema([pa.field(column.name, _ARROW_TYPES[column.type], column.nullable) for column in fields])


def rows_schema(row_type: type) -> pa.Schema:
    """Return the Arrow schema of a roll-up's table: the columns that are never null, followed by those that may be."""
    fields = sorted(map(_table_field, columns_of_rows(row_type)), key=lambda field: field.nullable)
    return pa.schema(fields)


def table_schemas() -> Mapping[str, pa.Schema]:
    """Return the Arrow schema of each of a roll-up's tables."""
    return {name: rows_schema(row_type) for name, row_type in ROW_TYPES.items()}


def _table_field(column: TableColumn) -> pa.Field:
    return pa.field(column.name, _table_type(column), column.nullable)


def _table_type(column: TableColumn) -> pa.DataType:
    type_, parts = column.type, get_args(column.type)
    if column.size is not None:
        return _ARROW_TYPES[column.size]
    if get_origin(type_) is tuple:
        return pa.list_(_table_field(column_of(parts[0])))
    if get_origin(type_) is not None:
        key, value = (column_of(part, name) for part, name in zip(parts, ("key", "value"), strict=True))
        return pa.map_(_table_type(key), _table_field(value))
    if isinstance(type_, type) and is_dataclass(type_):
        return pa.struct(map(_table_field, columns_of_rows(type_)))
    return _ARROW_TYPES[ColumnType.STRING if issubclass(type_, Enum) else _TYPES_OF_PYTHON[type_]]


@cache
def header_type() -> pa.StructType:
    """Return the type of a `run.json`: what its schema describes, with null for what may be missing."""
    return _type_of_object(run_schema())


def _type_of_object(described: Mapping[str, Any]) -> pa.StructType:
    required = described.get("required", ())
    return pa.struct(
        [
            pa.field(name, pa.int64() if name in _LARGE_NUMBERS else _type_of_json(value), name not in required)
            for name, value in described["properties"].items()
        ]
    )


def _type_of_json(value: Mapping[str, Any]) -> pa.DataType:
    """Return the type of a value that a JSON Schema describes."""
    described = resolved(value)
    # A value that may be null is optional as well, which says the same.
    type_ = described["type"] if isinstance(described["type"], str) else described["type"][0]
    if type_ == "array":
        return pa.list_(_type_of_json(described["items"]))
    if "properties" in described:
        return _type_of_object(described)
    if type_ == "object":
        return pa.map_(pa.string(), _type_of_json(described["additionalProperties"]))
    return _TYPES_OF_JSON[type_]


def dictionary_columns(fields: Sequence[Column]) -> list[str]:
    """Return the names of the columns for `pyarrow.parquet.ParquetWriter(use_dictionary=...)`."""
    return [column.name for column in fields if column.dictionary]


def has_columns(schema: pa.Schema, fields: Sequence[Column]) -> bool:
    """Return whether a file has the columns of a record table, with their types; it may have others too.

    Args:
        schema: the file's schema.
        fields: for example `reports.record_columns.EXAMPLE_FIELDS`; only optional ones may be missing.
    """
    expected = arrow_schema([each for each in fields if each.name in schema.names or not each.optional])
    known = [field for field in schema if field.name in expected.names]
    # Counted, as a file may name a column twice.
    return Counter((field.name, field.type) for field in known) == Counter(
        (field.name, field.type) for field in expected
    )
