"""Field tables: one table per message drives encoding, decoding and the strategies.

A message is a frozen dataclass with two class attributes: `FIELDS`, a tuple of `Field` in wire order, and
`FLEXIBLE`, the versions in which strings and arrays are compact and a tag section ends the struct. What a
version has is never written anywhere else.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from wire.primitives import TaggedField


class Versions(NamedTuple):
    """A range of versions, both ends inclusive; an open end is `None`."""

    first: int
    last: int | None = None

    def __contains__(self, version: object) -> bool:
        return (
            isinstance(version, int)
            and self.first <= version
            and (self.last is None or version <= self.last)
        )

    def __str__(self) -> str:
        if self.last is None:
            return f"{self.first}+"
        if self.last < self.first:
            return "none"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NO_VERSIONS = Versions(0, -1)
_RANGE = re.compile(r"(?P<first>[0-9]+)(?:(?P<open>\+)|-(?P<last>[0-9]+))?")


def versions(text: str) -> Versions:
    """Read Kafka's notation for versions: "3+", "0-2", "4" or "none".

    Raises:
        ValueError: the text is none of these.
    """
    if text == "none":
        return NO_VERSIONS
    found = _RANGE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a range of versions")
    first = int(found["first"])
    last = None if found["open"] else int(found["last"] or first)
    if last is not None and last < first:
        raise ValueError(f"{text!r} ends before it begins")
    return Versions(first, last)


class FieldType(enum.Enum):
    """Types of fields, by Kafka's names."""

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
        """Tagged fields that the table does not name."""

    @property
    def tag_order(self) -> tuple[int, ...]:
        """The tags of a decoded struct in the order in which they stood."""


StructClass = type[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One row of a field table.

    Attributes:
        name: Kafka's schema name, snake_cased; the attribute of the message.
        type: the field's type.
        versions: where the field exists.
        nullable: where it may be null.
        flexible: where a string is compact, if that is not where the message is flexible.
        tag: its number where it is a tagged field.
        default: the value that it has where it does not exist, or is tagged and absent.
        element: the struct that a struct field is, or that an array holds.
        items: the type of an array's elements where they are no structs.
        convert: makes the attribute's value from the number read.
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
