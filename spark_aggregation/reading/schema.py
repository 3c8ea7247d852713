"""Explicit Spark schemas of the contents of a run folder.

`EXAMPLES`, `EXCHANGES` and `ANSWERS` follow `reports.record_columns`; `HEADER` follows `reports/run_schema.json`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DataType, StringType, StructField, StructType

from reports.arrow_schemas import arrow_schema, header_type
from reports.record_columns import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS

EXAMPLES = from_arrow_schema(arrow_schema(EXAMPLE_FIELDS))
EXCHANGES = from_arrow_schema(arrow_schema(EXCHANGE_FIELDS))
ANSWERS = from_arrow_schema(arrow_schema(ANSWER_FIELDS))
HEADER = from_arrow_schema(pa.schema(header_type()))
"""A complete `run.json`."""


def texts(*names: str) -> dict[str, DataType]:
    """Return columns of texts."""
    return dict.fromkeys(names, StringType())


def schema(columns: Mapping[str, DataType], optional: Mapping[str, DataType] | None = None) -> StructType:
    """Return a schema of columns that are never null, followed by those that may be."""
    return StructType(
        [
            *(StructField(name, type_, nullable=False) for name, type_ in columns.items()),
            *(StructField(name, type_, nullable=True) for name, type_ in (optional or {}).items()),
        ]
    )


FAILURE_FACTS = schema({}, texts("property_name", "kind", "message", "example", "verdict", "known_violation"))
"""The fields that are read from a failure's `failure.json`."""
