"""The content of a Parquet file of rows that a run recorded.

arro3 writes it: a fifth of the size of pyarrow, which only readers of run folders need. Its files have what
`reports.run_folders.run_limits` lets in.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any

from arro3.core import Array, DataType, Field, RecordBatch, Schema
from arro3.io import write_parquet

from reports.record_columns import Column, ColumnType

_TYPES = MappingProxyType(
    {
        ColumnType.STRING: DataType.string(),
        ColumnType.INT16: DataType.int16(),
        ColumnType.INT32: DataType.int32(),
        ColumnType.BINARY: DataType.binary(),
    }
)
_EPOCH = date(1970, 1, 1)


def parquet_of(rows: Sequence[Mapping[str, Any]], fields: Sequence[Column]) -> bytes:
    """Return rows of a record table as the content of a Parquet file; a key that a row lacks is null."""
    columns = [_values_of([row.get(field.name) for row in rows], field.type) for field in fields]
    schema = Schema(
        [Field(field.name, values.type, nullable=field.nullable) for field, values in zip(fields, columns, strict=True)]
    )
    data = io.BytesIO()
    write_parquet(
        RecordBatch.from_arrays(columns, schema=schema),
        data,
        compression="snappy",
        dictionary_enabled=False,
        column_dictionary_enabled={field.name: True for field in fields if field.dictionary},
    )
    return data.getvalue()


def _values_of(values: Sequence[Any], type_: ColumnType) -> Array:
    if type_ is ColumnType.DATE:
        days = [(each - _EPOCH).days for each in values]
        return Array(days, DataType.int32()).cast(DataType.date32())
    return Array(values, _TYPES[type_])
