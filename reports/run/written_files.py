"""Writes the files of a run folder, and finds out whether anything else writes there.

A judged client runs as the user who judges it, so it can write wherever that user can. What the suite writes is hashed
before it is on disk. The footer has these hashes, so a run whose files somebody else has changed is refused by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from reports.hash_list import altered_files
from reports.run_limits import HASHED_PARTS


class WrittenFiles:
    """The files of one run folder below `HASHED_PARTS`.

    Attributes:
        hashes: maps the name of each written file, below the folder and with slashes, to the SHA-256 of what was written.
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
    found = set()
    for part in HASHED_PARTS:
        root = folder / part
        for path in (root, *root.rglob("*")):
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                found.add(path.relative_to(folder).as_posix())
    return sorted(found - listed.keys())
