"""The bytes of a conversation as a value: its messages, and the fields of each.

`failure.json` has it; `exchange.txt` and the pages of failures render it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

CONVERSATION = "conversation"
"""The key of `failure.json` that has the parts."""
MAX_STORED_ROWS = 8_000
"""Fields of all messages together that `failure.json` has; `exchange.txt` has more of them."""
MAX_STORED_BYTES = 2**17
"""Bytes of all messages together that `failure.json` has."""
_BYTES_PER_LINE = 16
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
        starts = range(0, len(self.data), _BYTES_PER_LINE)
        return tuple(self.data[start : start + _BYTES_PER_LINE].hex(" ") for start in starts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationPart:
    """One frame of the conversation, or an event in between (then without rows).

    Attributes:
        what: what happened: "sent", "answer", "closed", "silent"; for a client "client sent", "broker answered" and so
            on.
        rows: the bytes of the frame, each of them once and in order.
        notes: what else there is to say about it.
        ends_step: whether the next part belongs to another step.
        left_out: what is left out after it, in words; empty if nothing is.
    """

    connection: int
    what: str
    rows: tuple[ByteRow, ...] = ()
    notes: tuple[str, ...] = ()
    ends_step: bool = False
    left_out: str = ""

    @property
    def sent(self) -> bool:
        """Whether the suite sent it."""
        return self.what.startswith(_SENT)

    @property
    def is_outgoing(self) -> bool:
        """Whether the suite or the judged client sent the part to the broker.

        The suite sends requests and sentinels.
        """
        return self.sent or self.what.startswith((_SENTINEL, _BY_CLIENT))

    @property
    def data(self) -> bytes:
        """All its bytes."""
        return b"".join(row.data for row in self.rows)


def storable(
    parts: Iterable[ConversationPart], *, max_rows: int = MAX_STORED_ROWS, max_bytes: int = MAX_STORED_BYTES
) -> Iterator[ConversationPart]:
    """Yield parts with as many of their rows as `failure.json` may have."""
    rows_left, bytes_left = max_rows, max_bytes
    for part in parts:
        kept = 0
        for row in part.rows[:rows_left]:
            if len(row.data) > bytes_left:
                break
            bytes_left -= len(row.data)
            kept += 1
        rows_left -= kept
        if kept == len(part.rows):
            yield part
        else:
            rows_left = bytes_left = 0
            more = f"{len(part.rows) - kept:,} more of its fields are left out here; exchange.txt has more of them"
            yield replace(part, rows=part.rows[:kept], notes=(*part.notes, more))


def part_as_json(part: ConversationPart) -> dict[str, Any]:
    """Return a part for `failure.json`, without what it does not have.

    `fields` has offset, path and value of each row; its bytes end where the next row begins.
    """
    entry: dict[str, Any] = {"connection": part.connection, "what": part.what}
    if part.rows:
        entry["bytes"] = part.data.hex()
        entry["fields"] = [[row.offset, row.path, row.value] for row in part.rows]
    if any(row.marked for row in part.rows):
        entry["fails_at"] = next(index for index, row in enumerate(part.rows) if row.marked)
    optional = {"notes": list(part.notes), "ends_step": part.ends_step, "left_out": part.left_out}
    return entry | {name: value for name, value in optional.items() if value}


def parts_from_json(stored: object) -> tuple[ConversationPart, ...]:
    """Read what `part_as_json` wrote.

    Raises:
        ValueError: it is something else.
    """
    try:
        return tuple(_part_from_json(entry) for entry in _list(stored))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"no conversation: {error!r}") from error


def _part_from_json(entry: Mapping[str, Any]) -> ConversationPart:
    data, fields = bytes.fromhex(entry.get("bytes", "")), _list(entry.get("fields", []))
    offsets = [int(offset) for offset, _, _ in fields]
    bounds = [0, *offsets, len(data)]
    if sorted(bounds) != bounds:
        raise ValueError("fields in another order than their bytes")
    return ConversationPart(
        connection=int(entry["connection"]),
        what=str(entry["what"]),
        rows=tuple(
            ByteRow(
                offset=offset,
                data=data[offset:end],
                path=str(path),
                value=str(value),
                marked=index == entry.get("fails_at"),
            )
            for index, ((_, path, value), offset, end) in enumerate(zip(fields, offsets, bounds[2:], strict=True))
        ),
        notes=tuple(map(str, _list(entry.get("notes", [])))),
        ends_step=bool(entry.get("ends_step")),
        left_out=str(entry.get("left_out", "")),
    )


def _list(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError(f"no list: {value!r:.40}")
    return value
