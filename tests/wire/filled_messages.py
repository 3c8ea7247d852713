"""Messages of any schema with a non-default value in every field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from wire.fields import Field, FieldType

_VALUES: Mapping[FieldType, Any] = {
    FieldType.BOOLEAN: True,
    FieldType.INT8: 3,
    FieldType.INT16: 7,
    FieldType.INT32: 60_000,
    FieldType.INT64: 1_700_000_000_000,
    FieldType.UINT16: 40_000,
    FieldType.UINT32: 3_000_000_000,
    FieldType.FLOAT64: 0.5,
    FieldType.UUID: UUID(int=2**120 + 5),
    FieldType.STRING: "é",
    FieldType.BYTES: b"\x00\xff",
    FieldType.RECORDS: b"\x01\x02\x03",
}


def filled_message(message: type[Any], version: int) -> Any:
    """Return a message in which every field of the version differs from its type's zero."""
    return message(**{field.name: _filled(field, version) for field in message.FIELDS if version in field.versions})


def _filled(field: Field, version: int) -> Any:
    if field.type is FieldType.STRUCT:
        assert field.element is not None
        return filled_message(field.element, version)
    if field.type is FieldType.ARRAY:
        if field.element is not None:
            return (filled_message(field.element, version),)
        assert field.items is not None
        return (_VALUES[field.items],)
    return _VALUES[field.type]
