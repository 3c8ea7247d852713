"""The exchange of a finding: the messages that explain it, as data and as text.

As data it is a list. A message has `connection`, `what` happened and `rows`; a row is a list of offset, bytes, field,
value and, if decoding fails there, true. A text, between messages or between rows, says what is left out there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import chain, groupby
from typing import Any

from reference_model.profiles.known_apis import known_apis
from reports.run.conversation import ByteRow, ConversationPart
from reports.run.hex_dump import row_lines
from reports.wording.verdict_labels import counted

MAX_LINES = 120
"""Lines of all messages together."""
MAX_ROWS = 40
"""Rows of a message; further ones are kept only if decoding fails there."""
MAX_ROW_BYTES = 640
MAX_TEXT = 100
Row = list[Any]
Message = dict[str, Any]
Exchange = list[Message | str]
_API_NAME = re.compile(r"\b[A-Z]\w+(?= v-?\d)|\bAPI -?\d+")
_API_VERSIONS = 18
_REQUESTED = "request_api_key"
_ENTRIES = "api_keys["


def explaining(parts: Sequence[ConversationPart], message: str = "") -> Exchange:
    """Return what explains a failure: its exchange without irrelevant rows, and without most messages of a long one.

    What stays: rows about APIs that were requested or that the failure's message names, rows where decoding fails,
    requests that the message names, and the first and the last messages.
    """
    known = {f"API {key}": key for key in range(-1, 1000)}
    known |= {api.name: key for key, api in known_apis().items()}
    first = message.partition("\n")[0]
    named = {known[name] for name in _API_NAME.findall(first) if name in known} - {_API_VERSIONS}
    requested = [_requested(part) for part in parts]
    keys = {_API_VERSIONS, *named}.union(*requested)
    messages = [_message(part, keys) for part in parts]
    lengths = [len(list(_message_lines(each))) for each in messages]
    kept = _kept_messages(lengths, requested, named)
    exchange: Exchange = []
    for is_kept, run in groupby(range(len(parts)), key=kept.__contains__):
        indexes = list(run)
        if is_kept:
            exchange += [messages[index] for index in indexes]
        else:
            exchange.append(f"... ({counted(sum(lengths[index] for index in indexes), 'more line')})")
    return exchange


def exchange_text(exchange: Exchange) -> str:
    """Return an exchange as an annotated hex dump."""
    return "\n".join(line for each in exchange for line in ([each] if isinstance(each, str) else _message_lines(each)))


def _message_lines(message: Message) -> Iterator[str]:
    yield f"connection {message['connection']}: {message['what']}"
    for row in message["rows"]:
        yield from [row] if isinstance(row, str) else _row_lines(*row)


def _row_lines(offset: int, data: str, field: str, value: str, fails: bool = False) -> list[str]:
    return row_lines([ByteRow(offset=offset, data=bytes.fromhex(data), path=field, value=value, marked=fails)])


def _message(part: ConversationPart, keys: Collection[int]) -> Message:
    notes = (*part.notes, *filter(None, [part.left_out]))
    rows = [*_without_other_apis(part.rows, keys), *(f"  {note}" for note in notes)]
    rest = rows[MAX_ROWS:]
    if len(rest) > 1:
        failing = [row for row in rest if _fails(row)]
        rows = [*rows[:MAX_ROWS], f"... ({counted(len(rest) - len(failing), 'more line')})", *failing]
    return {"connection": part.connection, "what": part.what, "rows": rows}


def _fails(row: Row | str) -> bool:
    return isinstance(row, list) and len(row) > 4


def _row(row: ByteRow) -> Iterator[Row | str]:
    room = MAX_TEXT - len(row.path)
    value = row.value if len(row.value) <= room else f"{row.value[:room]} ..."
    yield [row.offset, row.data[:MAX_ROW_BYTES].hex(), row.path, value, *([True] if row.marked else [])]
    if len(row.data) > MAX_ROW_BYTES:
        yield f"... ({counted(len(row.data) - MAX_ROW_BYTES, 'more byte')})"


def _without_other_apis(rows: Sequence[ByteRow], keys: Collection[int]) -> Iterator[Row | str]:
    """Yield the rows of a message; entries of a table about APIs other than `keys` become one text."""
    left_out = 0
    for entry, own in groupby(rows, key=_entry_of):
        entry_rows = list(own)
        if entry and not _is_about(entry_rows, keys):
            left_out += 1
            continue
        if left_out:
            yield f"... ({counted(left_out, 'other API')})"
            left_out = 0
        yield from chain.from_iterable(map(_row, entry_rows))
    if left_out:
        yield f"... ({counted(left_out, 'other API')})"


def _entry_of(row: ByteRow) -> str:
    """Return which entry of a table a row is about, "api_keys[3]"; empty if it is about none."""
    entry, end, _ = row.path.partition("]")
    return entry if end and entry.startswith(_ENTRIES) else ""


def _is_about(entry: Sequence[ByteRow], keys: Collection[int]) -> bool:
    key = _number(entry[0].value) if entry[0].path.endswith("].api_key") else None
    return key is None or key in keys or any(row.marked for row in entry)


def _requested(part: ConversationPart) -> Set[int]:
    return {key for row in part.rows if row.path == _REQUESTED and (key := _number(row.value)) is not None}


def _number(text: str) -> int | None:
    return int(text) if text.removeprefix("-").isdecimal() else None


def _kept_messages(lines: Sequence[int], requested: Sequence[Set[int]], named: Set[int]) -> Collection[int]:
    """Return the indexes of the messages to show: as many as fit.

    Requests of the named APIs come first, each with the message after it.

    Args:
        lines: how many lines each message has.
        requested: the APIs that each message requests.
        named: the APIs that the failure's message names.
    """
    count = len(lines)
    about_named = [index for index in range(count) if named & requested[index]][:2]
    both_ends = chain.from_iterable(zip(reversed(range(count)), range(count), strict=True))
    kept: set[int] = set()
    left = MAX_LINES
    for index in (*(near for first in about_named for near in (first, first + 1)), *both_ends):
        if index in kept or index >= count:
            continue
        left -= lines[index]
        if left < 0:
            break
        kept.add(index)
    return kept
