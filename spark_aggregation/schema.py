"""Explicit Spark schemas of what a run folder holds.

`EXAMPLES` and `EXCHANGES` follow `reports.records`; `HEADER` follows `reports/run_schema.json`. A field that is not
nullable here is one that a run may not leave out: Spark itself fills gaps with null on reading, so
`is_incomplete` says where that happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from types import MappingProxyType

from pyspark.sql import Column
from pyspark.sql import functions as F
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
    """Give the Spark schema of a record table, columns in the order of `fields`."""
    return StructType(
        [StructField(column.name, _SPARK_TYPES[column.type], column.nullable) for column in fields]
    )


def _struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, type_, nullable=False) for name, type_ in fields.items()])


def _optional(struct: StructType, **fields: DataType) -> StructType:
    return StructType(
        [*struct, *(StructField(name, type_, nullable=True) for name, type_ in fields.items())]
    )


EXAMPLES = spark_schema(records.EXAMPLE_FIELDS)
EXCHANGES = spark_schema(records.EXCHANGE_FIELDS)
ANSWERS = spark_schema(records.ANSWER_FIELDS)

HEADER = _optional(
    _struct(
        record_schema_version=IntegerType(),
        run_id=StringType(),
        started_at=StringType(),
        suite=_optional(
            _struct(
                version=StringType(),
                catalogue_sha256=StringType(),
                python=StringType(),
                hypothesis=StringType(),
            ),
            commit=StringType(),
            code_sha256=StringType(),
        ),
        tier=StringType(),
        host=_struct(system=StringType(), machine=StringType(), cpus=IntegerType()),
        targets=ArrayType(
            _optional(
                _struct(
                    id=StringType(),
                    implementation=StringType(),
                    release=StringType(),
                    launcher=StringType(),
                    artefacts=MapType(StringType(), StringType()),
                ),
                file_sha256=StringType(),
            )
        ),
        clauses=ArrayType(
            _struct(
                id=StringType(),
                role=StringType(),
                level=StringType(),
                source=StringType(),
                statement=StringType(),
                location=StringType(),
                meaning=StringType(),
            )
        ),
        planned_cells=ArrayType(
            _optional(
                _struct(
                    clause=StringType(),
                    target=StringType(),
                    listener=StringType(),
                    applicable=BooleanType(),
                    reason=StringType(),
                    known_violation=StringType(),
                ),
                flaky=_struct(
                    failed=IntegerType(),
                    repeats=IntegerType(),
                    rate=DoubleType(),
                    low=DoubleType(),
                    high=DoubleType(),
                ),
            )
        ),
    ),
    whole=BooleanType(),
    corrects=StringType(),
    pinned_examples=MapType(StringType(), IntegerType()),
    seed=LongType(),
    footer=_optional(
        _struct(
            finished_at=StringType(),
            exit_status=IntegerType(),
            example_rows=LongType(),
            exchange_rows=LongType(),
        ),
        files=MapType(StringType(), StringType()),
    ),
)
"""A whole `run.json`; a run that was cut off has no `footer`."""


FAILURE_FACTS = _optional(
    _struct(),
    property_name=StringType(),
    kind=StringType(),
    message=StringType(),
    example=StringType(),
    verdict=StringType(),
)
"""What is read of a failure's `failure.json`."""


def is_incomplete(value: Column, type_: DataType) -> Column:
    """Say whether `value` is null, or null anywhere inside where `type_` allows no null.

    Args:
        value: a column that was parsed with `type_`.
        type_: a struct, or an array of structs, is looked into; any other type is not.

    Returns:
        A boolean column, never null.
    """
    if isinstance(type_, StructType):
        gaps = [_gap(value[field.name], field) for field in type_]
        return value.isNull() | reduce(or_, gaps)
    if isinstance(type_, ArrayType):
        element_type = type_.elementType
        gap = F.exists(value, lambda element: is_incomplete(element, element_type))
        return value.isNull() | F.coalesce(gap, F.lit(False))
    return value.isNull()


def _gap(value: Column, field: StructField) -> Column:
    gap = is_incomplete(value, field.dataType)
    return value.isNotNull() & gap if field.nullable else gap
