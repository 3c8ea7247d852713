"""Explicit Spark schemas of the contents of a run folder.

`EXAMPLES`, `EXCHANGES` and `ANSWERS` follow `reports.record_columns`; `HEADER` follows `reports/run_schema.json`. A run
must contain every field that is not nullable here. Spark itself fills gaps with null when reading; `is_incomplete`
detects that.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from reports.arrow_schemas import arrow_schema
from reports.record_columns import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS
from reports.run_schema import resolved, run_schema

EXAMPLES = from_arrow_schema(arrow_schema(EXAMPLE_FIELDS))
EXCHANGES = from_arrow_schema(arrow_schema(EXCHANGE_FIELDS))
ANSWERS = from_arrow_schema(arrow_schema(ANSWER_FIELDS))
_LARGE_NUMBERS = ("seed", "example_rows", "exchange_rows")
"""Integers of `run.json` that need eight bytes."""
_JSON_TYPES: Mapping[str, DataType] = MappingProxyType(
    {"string": StringType(), "boolean": BooleanType(), "integer": IntegerType(), "number": DoubleType()}
)


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


def _object_type(described: Mapping[str, Any]) -> StructType:
    required = described.get("required", ())
    return StructType(
        [
            StructField(name, LongType() if name in _LARGE_NUMBERS else _type_of(value), nullable=name not in required)
            for name, value in described["properties"].items()
        ]
    )


def _type_of(value: Mapping[str, Any]) -> DataType:
    """Return the type of a value that a JSON Schema describes."""
    described = resolved(value)
    # A value that may be null is optional as well, which says the same.
    type_ = described["type"] if isinstance(described["type"], str) else described["type"][0]
    if type_ == "array":
        return ArrayType(_type_of(described["items"]))
    if "properties" in described:
        return _object_type(described)
    if type_ == "object":
        return MapType(StringType(), _type_of(described["additionalProperties"]))
    return _JSON_TYPES[type_]


HEADER = _object_type(run_schema())
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
