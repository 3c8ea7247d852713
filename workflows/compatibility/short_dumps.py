"""Leaves out of the dump of an exchange what says nothing about a failure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import chain, groupby

from reference_model.profiles.known_apis import known_apis
from reports.verdict_labels import counted

_MOST_LINES_OF_PART, _MOST_DUMP_LINES = 40, 120
_LONGEST_LINE = 160
_PART = re.compile(r"^(?=connection )", re.MULTILINE)
_ROW = re.compile(r"\bapi_keys\[(?P<index>\d+)\]\.\w+ = ")
_KEY = re.compile(r"\b(?:api_keys\[\d+\]\.api_key|request_api_key) = (?P<key>-?\d+)$")
_ASKED_FOR = re.compile(r"\brequest_api_key = (?P<key>-?\d+)$", re.MULTILINE)
_API_NAME = re.compile(r"\b[A-Z]\w+(?= v-?\d)|\bAPI -?\d+")
_API_VERSIONS = 18


def shortened(dump: str, message: str = "") -> str:
    """Return the dump of an exchange without the rows of tables that say nothing about a failure; of a long one only some messages.

    What explains a failure stays: rows about APIs that were requested or that the message names, lines with a mark, requests that
    the message names, and the first and the last messages.
    """
    known = {f"API {key}": key for key in range(-1, 1000)}
    known |= {api.name: key for key, api in known_apis().items()}
    first = message.partition("\n")[0]
    named = {known[name] for name in _API_NAME.findall(first) if name in known} - {_API_VERSIONS}
    keys = {_API_VERSIONS, *named, *(int(found["key"]) for found in _ASKED_FOR.finditer(dump))}
    parts = [_short_part(part.rstrip("\n").split("\n"), keys) for part in _PART.split(dump) if part]
    kept = _kept_parts(parts, named)
    lines: list[str] = []
    for is_kept, run in groupby(range(len(parts)), key=kept.__contains__):
        own = [line for index in run for line in parts[index]]
        lines += own if is_kept else [f"... ({counted(len(own), 'more line')})"]
    cut = (line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} ..." for line in lines)
    return "\n".join(cut)


def _short_part(lines: Sequence[str], keys: Collection[int]) -> Sequence[str]:
    own = list(_without_other_apis(lines, keys))
    rest = own[_MOST_LINES_OF_PART:]
    if len(rest) <= 1:
        return own
    marked = [line for line in rest if line.startswith(">")]
    more = f"... ({len(rest) - len(marked)} more lines)"
    return [*own[:_MOST_LINES_OF_PART], more, *marked]


def _kept_parts(parts: Sequence[Sequence[str]], named: Set[int]) -> Collection[int]:
    """Return the indexes of the messages that are shown: as many as fit, those that requested what is named first of all."""
    asked = [index for index, part in enumerate(parts) if named & _requested(part)][:2]
    both_ends = chain.from_iterable(
        zip(reversed(range(len(parts))), range(len(parts)), strict=True)
    )
    kept: set[int] = set()
    left = _MOST_DUMP_LINES
    for index in (*(each for first in asked for each in (first, first + 1)), *both_ends):
        if index in kept or index >= len(parts):
            continue
        left -= len(parts[index])
        if left < 0:
            break
        kept.add(index)
    return kept


def _requested(part: Sequence[str]) -> set[int]:
    return {int(found["key"]) for line in part if (found := _ASKED_FOR.search(line))}


def _without_other_apis(lines: Sequence[str], keys: Collection[int]) -> Iterator[str]:
    """Yield the lines of a message; entries of a table about APIs other than `keys` become one line."""
    left = 0
    for entry_index, entry in groupby(lines, key=_index_of_entry):
        own = list(entry)
        key = _KEY.search(own[0])
        if (
            entry_index
            and key is not None
            and int(key["key"]) not in keys
            and not any(line.startswith(">") for line in own)
        ):
            left += 1
            continue
        if left:
            yield f"... ({counted(left, 'other API')})"
            left = 0
        yield from own
    if left:
        yield f"... ({counted(left, 'other API')})"


def _index_of_entry(line: str) -> str:
    found = _ROW.search(line)
    return found["index"] if found else ""
