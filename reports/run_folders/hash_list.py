"""Hashes of a folder's files, for run footers and published grid folders.

A published grid's folder has the list. The module also writes the files that a run hashes.

`sha256sum --check` accepts the list, so readers need none of our code to check it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from reports.records import HASHED_PARTS

HASH_LIST = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


class InvalidHashList(ValueError):
    """A line of the list is not a hash followed by a name; the message names the file and the line."""


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hashes_of(folder: Path) -> Mapping[str, str]:
    """Hash files of a folder at any depth, except hidden ones and the list itself.

    Returns:
        A map from name below `folder`, with slashes, to SHA-256, sorted by name.
    """
    hashes = {name: sha256_of(path) for name, path in files_of(folder) if path.is_file()}
    return dict(sorted(hashes.items()))


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of what `hashes_of` hashes, and of links, wherever they lead."""
    for path in folder.rglob("*"):
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
    paths = dict(files_of(folder))
    for name, digest in expected.items():
        path = paths.get(name)
        if path is None or path.is_symlink():
            yield name, "is missing"
        elif sha256_of(path) != digest:
            yield name, "has changed"


class WrittenFiles:
    """Writes the files of one run folder below `HASHED_PARTS`, and finds out whether anything else writes there.

    A judged client runs as the user who judges it, so it can write wherever that user can. What the suite writes is
    hashed before it is on disk. The footer has these hashes, so a run whose files somebody else has changed is refused
    by name.

    Attributes:
        hashes: maps the name of each written file, below the folder and with slashes, to the SHA-256 of what was
            written.
    """

    def __init__(self, folder: Path) -> None:
        self.hashes: dict[str, str] = {}
        self._folder = folder

    def write(self, name: str, data: bytes) -> None:
        """Write one complete file, replacing an earlier one of this run; its name below the folder has slashes.

        Raises:
            OSError: it cannot be written.
        """
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(data)
        unfinished.rename(path)
        self.hashes[name] = hashlib.sha256(data).hexdigest()

    def foreign_changes(self) -> Iterator[str]:
        """Yield what somebody else did to the folder: "NAME has changed", "NAME is missing" or "NAME was added"."""
        for name, what in altered_files(self._folder, self.hashes):
            yield f"{name} {what}"
        for name in unlisted_files(self._folder, self.hashes):
            yield f"{name} was added"


def unlisted_files(folder: Path, listed: Mapping[str, str]) -> list[str]:
    """Return the sorted names of files below `HASHED_PARTS` of a run folder that its footer does not list.

    Hidden and empty ones count, and so do links and pipes.
    """
    names = set()
    for part in HASHED_PARTS:
        root = folder / part
        for path in (root, *root.rglob("*")):
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                names.add(path.relative_to(folder).as_posix())
    return sorted(names - listed.keys())
