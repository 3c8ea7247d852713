"""Arrow schemas follow the record columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from reports.arrow_schemas import arrow_schema, dictionary_columns
from reports.records import ANSWER_FIELDS, EXAMPLE_FIELDS, EXCHANGE_FIELDS, Column, ColumnType


@pytest.mark.parametrize("fields", [EXAMPLE_FIELDS, EXCHANGE_FIELDS, ANSWER_FIELDS])
def test_names_and_nullability_are_those_of_the_records(fields: tuple[Column, ...]) -> None:
    """Each record column is an Arrow field with the same name, position and nullability."""
    schema = arrow_schema(fields)
    assert [(field.name, field.nullable) for field in schema] == [
        (column.name, column.nullable) for column in fields
    ]


def test_every_column_type_has_an_arrow_type() -> None:
    """Each column type has an Arrow type."""
    schema = arrow_schema([Column(type_.value, type_) for type_ in ColumnType])
    assert schema.types == [pa.string(), pa.int16(), pa.int32(), pa.binary(), pa.date32()]


def test_dictionary_columns_are_the_repetitive_ones() -> None:
    """Keys are dictionary-encoded, numbers are not."""
    names = dictionary_columns(EXAMPLE_FIELDS)
    assert "clause" in names
    assert "example_number" not in names
