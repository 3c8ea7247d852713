"""The corpus: interesting inputs as bytes, in files that a reviewer can read.

There is one TOML file per origin, with an `[[entry]]` per input::

    [[entry]]
    name = "v3-null-name"                # unique in the corpus
    origin = "Kafka closes instead of answering INVALID_REQUEST"
    hex = "00000011 0012 0003 ..."       # what one connection sends, size prefixes included

`hex` may contain spaces and line breaks wherever they help readers; `61*300` stands for 300 times the byte 61. The
expected reaction is not stored: the reference model is queried when the bytes are replayed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fixtures.errors import InvalidTargetFile
from fixtures.registry.strict_table import StrictTable

CORPUS_FOLDER = Path(__file__).parent
MAX_ENTRY_BYTES = 256 * 1024
"""Half of a broker's default limit for a request before authentication; larger entries would only be slow."""
MAX_LINE = 32
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PART = re.compile(r"((?:[0-9a-fA-F]{2})+)(?:\*([1-9][0-9]*))?")
_RUN = re.compile(rb"(.{1,4}?)\1{31,}", re.DOTALL)


class InvalidCorpus(Exception):
    """A corpus file does not follow the format; the message names the file and the entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusEntry:
    """One stored input.

    Attributes:
        name: the entry's name, unique in the corpus.
        origin: where the input comes from and why it is kept.
        data: what is sent on one connection, frame by frame.
    """

    name: str
    origin: str
    data: bytes


def load_corpus(folder: Path = CORPUS_FOLDER, *, without: str = "") -> tuple[CorpusEntry, ...]:
    """Load every file of the corpus, in order of file name, but for one of the name `without`.

    Raises:
        InvalidCorpus: a file does not follow the format, or two entries share a name or their bytes.
    """
    entries: dict[str, CorpusEntry] = {}
    by_data: dict[bytes, str] = {}
    for path in sorted(folder.glob("*.toml")):
        for entry in () if path.name == without else load_file(path):
            if entry.name in entries:
                raise InvalidCorpus(f"{path}: {entry.name} is also the name of another entry")
            if entry.data in by_data:
                raise InvalidCorpus(f"{path}: {entry.name} has the bytes of {by_data[entry.data]}")
            entries[entry.name] = entry
            by_data[entry.data] = entry.name
    return tuple(entries.values())


def load_file(path: Path) -> tuple[CorpusEntry, ...]:
    """Load one file of the corpus.

    Raises:
        InvalidCorpus: it does not follow the format.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        table = StrictTable(path, values)
        entries = tuple(_read_entry(path, entry) for entry in table.take_tables("entry"))
        table.finish()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidCorpus(f"{path}: is not TOML in UTF-8: {error}") from error
    except InvalidTargetFile as error:
        raise InvalidCorpus(str(error)) from error
    if not entries:
        raise InvalidCorpus(f"{path}: has no entries; remove the file")
    return entries


def _read_entry(path: Path, table: StrictTable) -> CorpusEntry:
    name = table.take("name", str)
    origin = table.take("origin", str)
    text = table.take("hex", str)
    table.finish()
    if not _NAME.fullmatch(name):
        raise InvalidCorpus(f"{path}: {name!r} is not a valid name; use lower-case words with hyphens")
    try:
        return CorpusEntry(name=name, origin=origin, data=parse_bytes(text))
    except ValueError as error:
        raise InvalidCorpus(f"{path}: {name}: {error}") from error


def parse_bytes(text: str) -> bytes:
    """Parse the text of a `hex` value.

    Raises:
        ValueError: the text does not follow the format, or stands for too many bytes.
    """
    parts = []
    size = 0
    for part in text.split():
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is neither complete bytes in hexadecimal nor a repeated byte such as 61*300")
        unit, count = bytes.fromhex(match[1]), int(match[2] or 1)
        size += len(unit) * count
        if size > MAX_ENTRY_BYTES:
            raise ValueError(f"it expands to more than {MAX_ENTRY_BYTES} bytes")
        parts.append(unit * count)
    return b"".join(parts)


def format_bytes(data: bytes) -> str:
    """Format bytes as a `hex` value: in short lines, with long runs abbreviated."""
    lines: list[str] = []
    start = 0
    for run in (*_RUN.finditer(data), None):
        end = len(data) if run is None else run.start()
        lines += [data[offset : min(offset + MAX_LINE, end)].hex(" ", -4) for offset in range(start, end, MAX_LINE)]
        if run is not None:
            lines.append(f"{run[1].hex()}*{len(run[0]) // len(run[1])}")
            start = run.end()
    return "\n".join(lines)


def format_entry(entry: CorpusEntry) -> str:
    """Format an entry for a corpus file."""
    # JSON strings are valid TOML basic strings.
    text = format_bytes(entry.data)
    quoted = json.dumps(text) if "\n" not in text else f'"""\n{text}\n"""'
    return f"""[[entry]]
name = {json.dumps(entry.name, ensure_ascii=False)}
origin = {json.dumps(entry.origin, ensure_ascii=False)}
hex = {quoted}
"""


def add_entries(path: Path, entries: Iterable[CorpusEntry]) -> tuple[CorpusEntry, ...]:
    """Append new entries to a file; leave out entries whose bytes the corpus already has.

    Args:
        path: a file of the corpus, which may not exist yet. Its folder is the corpus.
        entries: the entries. A number is appended to a name that is already taken.

    Returns:
        The entries that were added.

    Raises:
        InvalidCorpus: the corpus does not follow the format.
    """
    known = load_corpus(path.parent)
    taken = Counter(entry.name for entry in known)
    stored = {entry.data for entry in known}
    added: list[CorpusEntry] = []
    for entry in entries:
        if entry.data in stored or not entry.data:
            continue
        name, number = entry.name, 1
        while name in taken:
            number += 1
            name = f"{entry.name}-{number}"
        taken[name] += 1
        stored.add(entry.data)
        added.append(CorpusEntry(name=name, origin=entry.origin, data=entry.data))
    if added:
        before = path.read_text(encoding="utf-8").rstrip() + "\n\n" if path.exists() else ""
        path.write_text(before + "\n".join(map(format_entry, added)), encoding="utf-8")
    return tuple(added)
