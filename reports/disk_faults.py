"""Errors of the system that say something about a disk or folder, and nothing about the file that was read or written."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import TemporaryFile

DISK_FAULTS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
)
"""Numbers of errors of a disk or folder that a command was given, or of the temporary files."""


def sentence_of(error: OSError) -> str:
    """Return which file or folder an error of `DISK_FAULTS` names, if any, and the system's words for it."""
    assert error.errno is not None
    prefix = f"{error.filename}: " if error.filename else ""
    return f"{prefix}{os.strerror(error.errno)}"


def check_writable(folder: Path) -> None:
    """Write a file where a folder is or will be.

    Raises:
        OSError: nothing can be written there; it names the folder nearest to it that exists.
    """
    existing = next(
        each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir()
    )
    try:
        with TemporaryFile(dir=existing):
            pass
    except OSError as error:
        # The system's error names the temporary file, and not the folder that was given.
        raise OSError(error.errno, error.strerror, str(existing)) from error
