"""The stored hex dump of a failure as tables: offset, bytes, field and value, line by line.

`reports.run.exchange_dump` writes the dump and `reports.run.hex_dump` its lines; a test checks that this reader matches both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

_LINE = re.compile(
    r"(?P<mark>[ >]) *(?P<offset>\d+)  (?P<bytes>(?:[0-9a-f]{2}(?: |$))*) *(?P<text>.*)"
)
_FIELD = re.compile(r"(?P<path>[\w.\[\]]+) = (?P<value>.*)", re.DOTALL)
_HEADING = re.compile(r"connection (?P<connection>\d+): (?P<what>.+)")
_SENT = "sent"
_SENTINEL = "the next request"
_BY_CLIENT = "client "


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRow:
    """Some bytes of a frame and what they mean.

    Attributes:
        offset: of the first byte in the frame, counted from 0.
        path: the field that they encode; empty if unknown.
        value: its value, or a note instead.
        marked: whether decoding the frame fails here.
    """

    offset: int
    data: bytes
    path: str
    value: str
    marked: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The bytes in hexadecimal, sixteen to a line."""
        pieces = (self.data[start : start + 16] for start in range(0, len(self.data), 16))
        return tuple(piece.hex(" ") for piece in pieces)


@dataclass(slots=True, kw_only=True)
class Part:
    """One frame of the conversation, or an event in between (then without rows).

    Attributes:
        what: what happened: "sent", "answer", "closed", "silent"; for a client "client sent", "broker answered" and so on.
        notes: the dump's other lines about it.
    """

    connection: int
    what: str
    rows: list[ByteRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def sent(self) -> bool:
        """Whether the suite sent it."""
        return self.what.startswith(_SENT)

    @property
    def is_outgoing(self) -> bool:
        """Whether it went to the broker: the suite sent it, as a request or as its sentinel, or the client that is judged."""
        return self.sent or self.what.startswith((_SENTINEL, _BY_CLIENT))

    @property
    def data(self) -> bytes:
        """All its bytes."""
        return b"".join(row.data for row in self.rows)


def read_dump(text: str) -> list[Part]:
    """Read a stored dump; a line that is not understood is kept as a note."""
    parts: list[Part] = []
    for line in text.splitlines():
        heading = _HEADING.fullmatch(line)
        if heading:
            parts.append(Part(connection=int(heading["connection"]), what=heading["what"]))
            continue
        if not line.strip():
            continue
        if not parts:
            parts.append(Part(connection=0, what="kept"))
        row = _LINE.fullmatch(line)
        if row:
            _add(parts[-1], row)
        else:
            parts[-1].notes.append(line.strip())
    return parts


def rows_of(lines: Iterable[str]) -> list[ByteRow]:
    """Read the lines of one frame, as `reports.run.hex_dump` returns them."""
    part = Part(connection=0, what="")
    for line in lines:
        row = _LINE.fullmatch(line)
        if row:
            _add(part, row)
    return part.rows


def _add(part: Part, line: re.Match[str]) -> None:
    data = bytes.fromhex(line["bytes"])
    offset, text, marked = int(line["offset"]), line["text"], line["mark"] == ">"
    last = part.rows[-1] if part.rows else None
    if not text and last is not None and last.offset + len(last.data) == offset:
        part.rows[-1] = replace(last, data=last.data + data)
        return
    named = _FIELD.fullmatch(text)
    path, value = (named["path"], named["value"]) if named else ("", text.removeprefix("<-- "))
    part.rows.append(ByteRow(offset=offset, data=data, path=path, value=value, marked=marked))


def in_fields_of(other: list[ByteRow], rows: list[ByteRow]) -> list[ByteRow]:
    """Split a frame with unknown fields like another frame, up to the first field that differs.

    Args:
        other: the rows of a frame whose fields are known.
        rows: the rows of the frame to split: its size, and one for the rest.
    """
    data = b"".join(row.data for row in rows)
    cut, position = rows[:1], sum(len(row.data) for row in rows[:1])
    for row in other[1:]:
        piece = data[position : position + len(row.data)]
        if piece != row.data or row.marked:
            break
        cut.append(row)
        position += len(piece)
    rest = data[position:]
    return [*cut, ByteRow(offset=position, data=rest, path="", value=repr(rest))] if rest else cut


def first_divergence(rows: list[ByteRow], expected: list[ByteRow]) -> int | None:
    """Return the index of the first row that differs from another frame's; None if none does.

    The size prefix is ignored: it differs only because something else does.
    """
    others: Iterator[ByteRow | None] = iter([*expected[1:], None])
    for index, row in enumerate(rows[1:], start=1):
        other = next(others, None)
        if other is None or (other.path, other.data) != (row.path, row.data):
            return index
    return None if next(others, None) is None else len(rows) - 1
