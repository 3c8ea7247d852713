"""Field tables: one table per message.

The table drives encoding, decoding and the strategies.

A message is a frozen dataclass with two class attributes: `FIELDS`, a tuple of `Field` in wire order, and
`FLEXIBLE`, the versions in which strings and arrays are compact and a tag section ends the struct. The fields
of a version are defined nowhere else.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from wire.primitives import TaggedField

_RANGE = re.compile(r"(?P<first>[0-9]+)(?:(?P<open>\+)|-(?P<last>[0-9]+))?")


class Versions(NamedTuple):
    """A range of versions, both ends inclusive; an open end is `None`."""

    first: int
    last: int | None = None

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.first <= version and (self.last is None or version <= self.last)

    def __str__(self) -> str:
        if self.last is None:
            return f"{self.first}+"
        if self.last < self.first:
            return "none"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NO_VERSIONS = Versions(0, -1)


def versions(text: str) -> Versions:
    """Parse Kafka's notation for versions: "3+", "0-2", "4" or "none".

    Raises:
        ValueError: the text has none of these forms.
    """
    if text == "none":
        return NO_VERSIONS
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a range of versions")
    first = int(match["first"])
    last = None if match["open"] else int(match["last"] or first)
    if last is not None and last < first:
        raise ValueError(f"{text!r} ends before it begins")
    return Versions(first, last)


class FieldType(enum.Enum):
    """Field types, under Kafka's names."""

    BOOLEAN = "bool"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT16 = "uint16"
    UINT32 = "uint32"
    FLOAT64 = "float64"
    UUID = "uuid"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"
    ARRAY = "array"
    STRUCT = "struct"


class Message(Protocol):
    """A dataclass with a field table."""

    FIELDS: ClassVar[tuple[Field, ...]]
    FLEXIBLE: ClassVar[Versions]

    @property
    def unknown_tagged_fields(self) -> tuple[TaggedField, ...]:
        """The tagged fields that are not in the table."""

    @property
    def tag_order(self) -> tuple[int, ...]:
        """The tags of a decoded struct in the order of the bytes."""


StructClass = type[Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One row of a field table.

    Attributes:
        name: Kafka's schema name, snake_cased; also the name of the message's attribute.
        type: the field's type.
        versions: the versions in which the field exists.
        nullable: the versions in which it may be null.
        flexible: the versions in which a string is compact, if they differ from the message's flexible versions.
        tag: the tag of a tagged field; None for any other field.
        default: the value in versions without the field, and of a tagged field that is absent.
        element: the class of a struct field, or of the structs in an array.
        items: the type of an array's elements if they are not structs.
        convert: converts the number that was read to the attribute's value.
    """

    name: str
    type: FieldType
    versions: Versions
    nullable: Versions = NO_VERSIONS
    flexible: Versions | None = None
    tag: int | None = None
    default: Any = None
    element: StructClass | None = None
    items: FieldType | None = None
    convert: Callable[[Any], Any] | None = None
