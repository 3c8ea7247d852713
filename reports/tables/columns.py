"""Columns of the roll-up's tables, as the classes of their rows declare them.

A row is a dataclass. The type of a field is that of the column: `str`, `bool`, `float`, `datetime`, `bytes`, an
enumeration of texts, or a number with its size (`Int16`, `Int32`, `Int64`); `tuple[X, ...]` is a list, `Mapping[str,
str]` a map, another dataclass a struct. `X | None` may be null. A field with a default may have no column in a grid
folder of an older suite. `KEY` names the columns that identify a row.

The schemas of Arrow and of Spark, the JSON Schema of the exports, the reader and the document follow from this.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Protocol, Union, get_args, get_origin, get_type_hints

from reports.record_columns import ColumnType

CELL = ("clause", "target", "listener")
"""The columns that identify a cell."""


class NullInFile(enum.Enum):
    """When a column of the file is null, if that does not follow from the type of the field."""

    IF_EMPTY = "if empty"
    NEVER = "never"


Int16 = Annotated[int, ColumnType.INT16]
Int32 = Annotated[int, ColumnType.INT32]
Int64 = Annotated[int, ColumnType.INT64]
OptionalText = Annotated[str, NullInFile.IF_EMPTY]
"""A text that is null in the file where there is none, and empty in the row."""
InstantOfHistory = Annotated[datetime | None, NullInFile.NEVER]
"""An instant that is never null in a file with the column; None in a grid folder without a history."""


class RowOfTable(Protocol):
    """A class of rows."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    KEY: ClassVar[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """One column of a table, or what a list holds.

    Attributes:
        type: the Python type of its values: a class, `tuple[X, ...]` or `Mapping[str, str]`.
        size: the size of a number, as `ColumnType` names it; None for another type.
        nullable: whether it may be null in the file.
        null_is: what null in the file is in a row.
    """

    name: str
    type: Any
    size: ColumnType | None
    nullable: bool
    null_is: str | None


def columns_of_rows(row_type: type) -> tuple[TableColumn, ...]:
    """Return the columns of a class of rows, in the order of its fields."""
    hints = get_type_hints(row_type, include_extras=True)
    return tuple(column_of(hints[field.name], field.name) for field in fields(row_type))


def column_of(hint: Any, name: str = "element") -> TableColumn:
    """Return the column that a type hint declares."""
    type_, marks = _without_marks(hint)
    may_be_none = get_origin(type_) in (Union, UnionType)
    if may_be_none:
        (inner,) = (each for each in get_args(type_) if each is not NoneType)
        type_, more = _without_marks(inner)
        marks += more
    is_empty = NullInFile.IF_EMPTY in marks
    return TableColumn(
        name=name,
        type=type_,
        size=next((mark for mark in marks if isinstance(mark, ColumnType)), None),
        nullable=is_empty or (may_be_none and NullInFile.NEVER not in marks),
        null_is="" if is_empty else None,
    )


def _without_marks(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(hint) is not Annotated:
        return hint, ()
    type_, *marks = get_args(hint)
    return type_, tuple(marks)
