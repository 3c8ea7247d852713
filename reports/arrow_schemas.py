"""Arrow schemas of the record tables.

To Arrow, the values of a dictionary column are plain strings, so rows are easy to build. Only the
Parquet file is dictionary-encoded, and every reader decodes it transparently.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import pyarrow as pa

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
    """Return the Arrow schema of a record table, columns in the order of `fields`.

    Args:
        fields: for example `reports.records.EXAMPLE_FIELDS`.
    """
    return pa.schema(
        [pa.field(column.name, _ARROW_TYPES[column.type], column.nullable) for column in fields]
    )


def dictionary_columns(fields: Sequence[Column]) -> list[str]:
    """Return the names of the columns for `pyarrow.parquet.ParquetWriter(use_dictionary=...)`."""
    return [column.name for column in fields if column.dictionary]
