"""The columns of a record table as Arrow and Parquet know them.

Values of a dictionary column are plain strings to Arrow, so that rows stay easy to build; the
encoding belongs to the Parquet file, where every reader undoes it unseen.
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
    """Give the Arrow schema of a record table, columns in the order of `fields`.

    Args:
        fields: for example `reports.records.EXAMPLE_FIELDS`.
    """
    return pa.schema(
        [pa.field(column.name, _ARROW_TYPES[column.type], column.nullable) for column in fields]
    )


def dictionary_columns(fields: Sequence[Column]) -> list[str]:
    """Name the columns to hand to `pyarrow.parquet.ParquetWriter(use_dictionary=...)`."""
    return [column.name for column in fields if column.dictionary]
