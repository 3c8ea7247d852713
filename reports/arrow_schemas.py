"""Arrow schemas of the record tables, and their rows as Parquet.

To Arrow, the values of a dictionary column are plain strings, so rows are easy to build. Only the
Parquet file is dictionary-encoded, and every reader decodes it transparently.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reports.records import Column, ColumnType

_ARROW_TYPES = MappingProxyType(
    {
        ColumnType.STRING: pa.string(),
        ColumnType.INT16: pa.int16(),
        ColumnType.INT32: pa.int32(),
        ColumnType.BINARY: pa.binary(),
        ColumnType.DATE: pa.date32(),
    }
)


def arrow_schema(fields: Sequence[Column]) -> pa.Schema:
    """Return the Arrow schema of a record table, columns in the order of `fields`."""
    return pa.schema([pa.field(column.name, _ARROW_TYPES[column.type], column.nullable) for column in fields])


def dictionary_columns(fields: Sequence[Column]) -> list[str]:
    """Return the names of the columns for `pyarrow.parquet.ParquetWriter(use_dictionary=...)`."""
    return [column.name for column in fields if column.dictionary]


def has_columns(found: pa.Schema, fields: Sequence[Column]) -> bool:
    """Return whether a file has the columns of a record table, with their types; it may have others too.

    Args:
        found: the file's schema.
        fields: for example `reports.records.EXAMPLE_FIELDS`; only optional ones may be missing.
    """
    expected = arrow_schema([each for each in fields if each.name in found.names or not each.optional])
    known = [field for field in found if field.name in expected.names]
    # Counted, as a file may name a column twice.
    return Counter((field.name, field.type) for field in known) == Counter(
        (field.name, field.type) for field in expected
    )


def parquet_of(rows: Sequence[Mapping[str, Any]], fields: Sequence[Column]) -> bytes:
    """Return rows of a record table as the content of a Parquet file."""
    table = pa.Table.from_pylist(rows, schema=arrow_schema(fields))
    data = io.BytesIO()
    pq.write_table(table, data, use_dictionary=dictionary_columns(fields))
    return data.getvalue()
