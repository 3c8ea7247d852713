"""Explicit Spark schemas of the contents of a run folder.

`EXAMPLES`, `EXCHANGES` and `ANSWERS` follow `reports.records`; `HEADER` follows `reports/run_schema.json`. A run must
contain every field that is not nullable here. Spark itself fills gaps with null when reading; `is_incomplete` detects
that.
"""

from __future__ import annotations

from collections.abc import Sequence
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
        host=_optional(
            _struct(system=StringType(), machine=StringType(), cpus=IntegerType()),
            load_at_start=DoubleType(),
            highest_load=DoubleType(),
        ),
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
                language=StringType(),
                like=StringType(),
                folder=StringType(),
                commit=StringType(),
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
                unproven=StringType(),
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
"""A complete `run.json`; a run that was cut off has no `footer`."""


FAILURE_FACTS = _optional(
    _struct(),
    property_name=StringType(),
    kind=StringType(),
    message=StringType(),
    example=StringType(),
    verdict=StringType(),
    known_violation=StringType(),
)
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
