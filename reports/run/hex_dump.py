"""A conversation as an annotated hex dump (`exchange.txt`).

Each line has offset, bytes and field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reports.run.conversation import ByteRow, ConversationPart


def conversation_text(parts: Iterable[ConversationPart]) -> str:
    """Return the text of a conversation."""
    return "\n".join(line for part in parts for line in _part_lines(part))


def _part_lines(part: ConversationPart) -> Iterator[str]:
    yield f"connection {part.connection}: {part.what}"
    yield from row_lines(part.rows)
    yield from (f"  {note}" for note in part.notes)
    if part.ends_step:
        yield ""
    if part.left_out:
        yield from (f"  {part.left_out}", "")


def row_lines(rows: Iterable[ByteRow]) -> list[str]:
    """Return the lines of one frame, with sixteen bytes each."""
    return [line for row in rows for line in _row_lines(row)]


def _row_lines(row: ByteRow) -> Iterator[str]:
    mark = ">" if row.marked else " "
    text = f"{row.path} = {row.value}" if row.path else row.value
    if row.marked:
        text = f"<-- {text}"
    offset = row.offset
    for piece in row.lines or ("",):
        yield f"{mark} {offset:6}  {piece:<47}  {text}".rstrip()
        offset += 16
        text = ""
