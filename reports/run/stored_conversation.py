"""The conversation of a stored failure, also of one that an older suite recorded.

What such a suite recorded has the conversation only as the text of `exchange.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reports.run.conversation import CONVERSATION, ByteRow, ConversationPart, parts_from_json

_LINE = re.compile(r"(?P<mark>[ >]) *(?P<offset>\d+)  (?P<bytes>(?:[0-9a-f]{2}(?: |$))*) *(?P<text>.*)")
_FIELD = re.compile(r"(?P<path>[\w.\[\]]+) = (?P<value>.*)", re.DOTALL)
_HEADING = re.compile(r"connection (?P<connection>\d+): (?P<what>.+)")


def stored_conversation(facts: Mapping[str, Any], dump: str) -> tuple[ConversationPart, ...]:
    """Return the conversation that a failure's `failure.json` has; if it has none, the one that its dump has."""
    try:
        return parts_from_json(facts[CONVERSATION])
    except (KeyError, ValueError):
        return read_dump(dump)


@dataclass(slots=True, kw_only=True)
class _ReadPart:
    """The lines of a part that were read so far."""

    connection: int = 0
    what: str = "kept"
    rows: list[ByteRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ends_step: bool = False
    left_out: str = ""

    def add(self, line: str) -> None:
        """Add a line; one that is not understood is kept as a note."""
        read = _LINE.fullmatch(line)
        if read is not None:
            self._add_row(read)
        elif self.ends_step and not self.left_out:
            self.left_out = line.strip()
        else:
            self.notes.append(line.strip())

    def _add_row(self, line: re.Match[str]) -> None:
        data, offset, text = bytes.fromhex(line["bytes"]), int(line["offset"]), line["text"]
        last = self.rows[-1] if self.rows else None
        if not text and last is not None and last.offset + len(last.data) == offset:
            self.rows[-1] = replace(last, data=last.data + data)
            return
        named = _FIELD.fullmatch(text)
        path, value = (named["path"], named["value"]) if named else ("", text.removeprefix("<-- "))
        self.rows.append(ByteRow(offset=offset, data=data, path=path, value=value, marked=line["mark"] == ">"))

    def part(self) -> ConversationPart:
        """Return the complete part."""
        return ConversationPart(
            connection=self.connection,
            what=self.what,
            rows=tuple(self.rows),
            notes=tuple(self.notes),
            ends_step=self.ends_step,
            left_out=self.left_out,
        )


def read_dump(text: str) -> tuple[ConversationPart, ...]:
    """Read the text of a dump."""
    parts: list[_ReadPart] = []
    for line in text.splitlines():
        heading = _HEADING.fullmatch(line)
        if heading:
            parts.append(_ReadPart(connection=int(heading["connection"]), what=heading["what"]))
        elif line.strip():
            if not parts:
                parts.append(_ReadPart())
            parts[-1].add(line)
        elif parts:
            parts[-1].ends_step = True
    if parts and text.endswith("\n"):
        parts[-1].ends_step = True
    return tuple(part.part() for part in parts)
