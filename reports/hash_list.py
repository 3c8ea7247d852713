"""Hashes of a folder's files: those in a run's footer, and the list in a published grid's folder.

`sha256sum --check` accepts the list, so readers need none of our code to check it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

HASH_LIST = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


class InvalidHashList(ValueError):
    """A line of the list is not a hash followed by a name; the message names the file and the line."""


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hashes_of(folder: Path, parts: Iterable[str] = (".",)) -> Mapping[str, str]:
    """Hash files of a folder at any depth, or of those parts of it that exist, except hidden ones and the list itself.

    Returns:
        A map from name below `folder`, with slashes, to SHA-256, sorted by name.
    """
    found = {name: sha256_of(path) for name, path in files_of(folder, parts) if path.is_file()}
    return dict(sorted(found.items()))


def files_of(folder: Path, parts: Iterable[str] = (".",)) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of what `hashes_of` hashes, and of links, wherever they lead."""
    for part in parts:
        root = folder / part
        for path in [root] if root.is_file() else root.rglob("*"):
            name = path.relative_to(folder)
            hidden = any(piece.startswith(".") for piece in name.parts)
            is_listed = path.is_symlink() or path.is_file()
            if is_listed and not hidden and name.as_posix() != HASH_LIST:
                yield name.as_posix(), path


def write_hash_list(folder: Path) -> None:
    """Write the list of a folder's files into it."""
    lines = (f"{digest}  {name}\n" for name, digest in hashes_of(folder).items())
    (folder / HASH_LIST).write_text("".join(lines), encoding="utf-8")


def read_hash_list(folder: Path) -> Mapping[str, str]:
    """Read a folder's list of hashes.

    Raises:
        InvalidHashList: a line is not a hash followed by a name.
        OSError: there is no list.
    """
    path = folder / HASH_LIST
    listed = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise InvalidHashList(f"{path}, line {number}, is not a hash followed by a name")
        listed[match[2]] = match[1]
    return listed


def altered_files(folder: Path, expected: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Find files that are missing or have changed, given the SHA-256 of each by its name below the folder.

    Yields:
        The name, and "is missing" or "has changed".
    """
    # No path is made of an expected name: a stranger may have written it, and it may lead out of the folder.
    found = dict(files_of(folder))
    for name, digest in expected.items():
        path = found.get(name)
        if path is None or path.is_symlink():
            yield name, "is missing"
        elif sha256_of(path) != digest:
            yield name, "has changed"
