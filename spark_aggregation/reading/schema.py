"""Explicit Spark schemas of the contents of a run folder.

`EXAMPLES`, `EXCHANGES` and `ANSWERS` follow `reports.records`; `HEADER` follows `reports/run_schema.json`. A run must
contain every field that is not nullable here. Spark itself fills gaps with null when reading; `is_incomplete` detects
that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from reports import records
from reports.records import ColumnType

_SPARK_TYPES: MappingProxyType[ColumnType, DataType] = MappingProxyType(
    {
        ColumnType.STRING: StringType(),
        ColumnType.INT16: ShortType(),
        ColumnType.INT32: IntegerType(),
        ColumnType.BINARY: BinaryType(),
        ColumnType.DATE: DateType(),
    }
)


def spark_schema(fields: Sequence[records.Column]) -> StructType:
    """Return the Spark schema of a record table, with columns in the order of `fields`."""
    return StructType([StructField(column.name, _SPARK_TYPES[column.type], column.nullable) for column in fields])


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


EXAMPLES = spark_schema(records.EXAMPLE_FIELDS)
EXCHANGES = spark_schema(records.EXCHANGE_FIELDS)
ANSWERS = spark_schema(records.ANSWER_FIELDS)

HEADER = schema(
    {
        "record_schema_version": IntegerType(),
        **texts("run_id", "started_at"),
        "suite": schema(
            texts("version", "catalogue_sha256", "python", "hypothesis"),
            texts("commit", "code_sha256"),
        ),
        **texts("tier"),
        "host": schema(
            {**texts("system", "machine"), "cpus": IntegerType()},
            {"load_at_start": DoubleType(), "highest_load": DoubleType()},
        ),
        "targets": ArrayType(
            schema(
                {
                    **texts("id", "implementation", "release", "launcher"),
                    "artefacts": MapType(StringType(), StringType()),
                },
                texts("file_sha256", "language", "like", "folder", "commit"),
            )
        ),
        "clauses": ArrayType(schema(texts("id", "role", "level", "source", "statement", "location", "meaning"))),
        "planned_cells": ArrayType(
            schema(
                {
                    **texts("clause", "target", "listener"),
                    "applicable": BooleanType(),
                    **texts("reason", "known_violation"),
                },
                {
                    "flaky": schema(
                        {
                            "failed": IntegerType(),
                            "repeats": IntegerType(),
                            "rate": DoubleType(),
                            "low": DoubleType(),
                            "high": DoubleType(),
                        }
                    ),
                    **texts("unproven"),
                },
            )
        ),
    },
    {
        "whole": BooleanType(),
        **texts("corrects"),
        "pinned_examples": MapType(StringType(), IntegerType()),
        "seed": LongType(),
        "footer": schema(
            {
                **texts("finished_at"),
                "exit_status": IntegerType(),
                "example_rows": LongType(),
                "exchange_rows": LongType(),
            },
            {"files": MapType(StringType(), StringType())},
        ),
    },
)
"""A complete `run.json`; a run that was cut off has no `footer`."""


FAILURE_FACTS = schema({}, texts("property_name", "kind", "message", "example", "verdict", "known_violation"))
"""The fields that are read from a failure's `failure.json`."""


def is_incomplete(value: str, type_: DataType) -> str:
    """Return a condition: `value` is null, or contains a null that `type_` does not allow.

    Args:
        value: a column that was parsed with `type_`, as SQL.
        type_: the column's type; structs and arrays are searched, other types are not.

    Returns:
        A condition as SQL, true or false, never null.
    """
    is_null = f"{value} IS NULL"
    if isinstance(type_, StructType):
        return " OR ".join([is_null, *(_gap(f"{value}.{field.name}", field) for field in type_)])
    if isinstance(type_, ArrayType):
        gap = f"exists({value}, element -> {is_incomplete('element', type_.elementType)})"
        return f"{is_null} OR coalesce({gap}, false)"
    return is_null


def _gap(value: str, field: StructField) -> str:
    gap = is_incomplete(value, field.dataType)
    return f"({value} IS NOT NULL AND ({gap}))" if field.nullable else f"({gap})"
