"""Columns of the rows that a run records: its examples, exchanges and answers."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType


class ColumnType(enum.Enum):
    """Type of a column, of records and of a roll-up's tables (`reports.tables`), named once for Arrow and documents."""

    STRING = "string"
    BOOLEAN = "boolean"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    DOUBLE = "double"
    BINARY = "binary"
    DATE = "date"
    INSTANT = "instant"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a record table.

    Attributes:
        nullable: whether a row may leave it empty.
        dictionary: whether few distinct values make dictionary encoding worth it.
        optional: whether a file may lack it, as those of older suites do; it then reads as null.
    """

    name: str
    type: ColumnType
    nullable: bool = False
    dictionary: bool = False
    optional: bool = False


def _key(name: str, *, nullable: bool = False, optional: bool = False) -> Column:
    return Column(name, ColumnType.STRING, nullable=nullable or optional, dictionary=True, optional=optional)


@dataclass(frozen=True, slots=True)
class RecordTable:
    """One kind of files of rows in a run folder.

    Attributes:
        columns: its columns, in their order.
        meaning: what the document says about them.
    """

    columns: Sequence[Column]
    meaning: str


EXAMPLE_FIELDS = (
    _key("run_id"),
    Column("run_date", ColumnType.DATE),
    _key("target"),
    _key("implementation"),
    _key("release"),
    _key("launcher"),
    _key("listener"),
    _key("client", nullable=True),
    _key("clause"),
    _key("property"),
    _key("tier"),
    _key("phase"),
    Column("example_number", ColumnType.INT32),
    _key("request", optional=True),
    _key("outcome"),
    Column("error_code", ColumnType.INT16, nullable=True),
    _key("verdict"),
    _key("failure_signature", nullable=True),
    Column("latency_bucket", ColumnType.INT16, nullable=True),
)
"""One row per judged example and clause; see `wire.exchange.Request.kind` for `request`.

`error_code` is that of the example's last ApiVersions response, `latency_bucket` that of its first one.
"""
EXCHANGE_FIELDS = (
    _key("run_id"),
    _key("target"),
    _key("listener"),
    _key("clause"),
    _key("property"),
    Column("example_number", ColumnType.INT32),
    Column("step", ColumnType.INT16),
    _key("outcome"),
    Column("sent", ColumnType.BINARY),
    Column("answer_sha256", ColumnType.STRING, nullable=True),
)
"""One row per exchange of an example that failed in the generate phase or was sampled.

The smallest form of a failure, found by shrinking, is in `failures/`.
"""
ANSWER_FIELDS = (
    Column("answer_sha256", ColumnType.STRING),
    Column("received", ColumnType.BINARY),
)
"""One row per distinct response: the size prefix and the bytes after it."""
RECORD_TABLES: Mapping[str, RecordTable] = MappingProxyType(
    {
        "examples": RecordTable(
            EXAMPLE_FIELDS,
            "`request` is the kind of the example's last request: `v0` and so on for ApiVersions in a version that the "
            "suite knows, `unknown` in any other, `other` for another API; with the suffix `-broken` if the bytes are "
            "wrong on purpose. `outcome` is what became of it: answer, closed, ignored or silent; a response that came "
            "after the sentinel's is an answer. Both are `none` where nothing was exchanged. `latency_bucket` is the "
            "rounded-down binary logarithm of the first answer's latency in microseconds, times four.",
        ),
        "exchanges": RecordTable(EXCHANGE_FIELDS, "`step` counts from 0; `answer_sha256` leads to the answer's bytes."),
        "answers": RecordTable(ANSWER_FIELDS, "With the size prefix."),
    }
)
"""The kinds of rows by the names of their folders."""
