"""Spark's schemas match the records and the published JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql.types import ArrayType, DataType, IntegralType, MapType, StructType

from reports.records import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS, Column, ColumnType
from reports.run.run_folder import run_schema
from spark_aggregation.reading import refusals
from spark_aggregation.reading.schema import EXAMPLES, EXCHANGES, HEADER, spark_schema

_TYPE_NAMES = {
    ColumnType.STRING: "string",
    ColumnType.INT16: "smallint",
    ColumnType.INT32: "int",
    ColumnType.BINARY: "binary",
    ColumnType.DATE: "date",
}


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        pytest.param(EXAMPLES, EXAMPLE_FIELDS, id="examples"),
        pytest.param(EXCHANGES, EXCHANGE_FIELDS, id="exchanges"),
        pytest.param(spark_schema(ANSWER_FIELDS), ANSWER_FIELDS, id="answers"),
    ],
)
def test_record_schema_equals_the_record_columns(
    schema: StructType, fields: tuple[Column, ...]
) -> None:
    """Names, order, types and nullability of a record table are the same in Spark."""
    assert [(field.name, field.dataType.simpleString(), field.nullable) for field in schema] == [
        (column.name, _TYPE_NAMES[column.type], column.nullable) for column in fields
    ]


def _as_json_schema(type_: DataType) -> Any:
    """Convert a Spark type to a reduced JSON Schema, in the form of `_reduced`."""
    if isinstance(type_, StructType):
        return {
            field.name: (_as_json_schema(field.dataType), not field.nullable) for field in type_
        }
    if isinstance(type_, ArrayType):
        return [_as_json_schema(type_.elementType)]
    if isinstance(type_, MapType):
        return "map"
    if isinstance(type_, IntegralType):
        return "integer"
    return {"string": "string", "boolean": "boolean", "double": "number"}[type_.typeName()]


def _reduced(schema: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        return _reduced(run_schema()["$defs"][schema["$ref"].rpartition("/")[2]])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = types[0]
    if kind == "object" and "properties" in schema:
        return {
            name: (_reduced(value), name in schema["required"])
            for name, value in schema["properties"].items()
        }
    if kind == "array":
        return [_reduced(schema["items"])]
    return "map" if kind == "object" else kind


def test_header_schema_equals_the_published_json_schema() -> None:
    """Spark and run_schema.json have the same keys, types and required keys."""
    assert _as_json_schema(HEADER) == _reduced(run_schema())


def test_patterns_are_those_of_the_published_json_schema() -> None:
    """The roll-up's patterns are copies of the schema's."""
    schema = run_schema()
    assert schema["properties"]["run_id"]["pattern"] == refusals.RUN_ID_PATTERN
    assert schema["$defs"]["instant"]["pattern"] == refusals.INSTANT_PATTERN
