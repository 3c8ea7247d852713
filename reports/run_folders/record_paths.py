"""Which paths records can be kept in: those that are UTF-8.

The system allows almost any bytes. But Spark drops a name that is not UTF-8 without a word, Arrow cannot open it, and
no list in JSON can have it.
"""

from __future__ import annotations

import os
from pathlib import Path

_RULE = "is not UTF-8, so neither Spark nor Arrow can open it; give it another name"


def fault_of_path(path: str | Path, *, called: str = "") -> str | None:
    """Find out why records cannot be kept in a path.

    Args:
        path: the path; where it leads to is not looked at.
        called: how the sentence begins; if empty, with the path.

    Returns:
        The reason as a sentence; None if there is none.
    """
    return None if _is_utf8(os.fsencode(path)) else f"{called or shown_path(path)} {_RULE}"


def fault_of_absolute_path(path: str | Path, *, called: str = "") -> str | None:
    """Do as `fault_of_path` does, also with the folder that a path is relative to."""
    return fault_of_path(path, called=called) or fault_of_path(Path(path).absolute(), called=called)


def fault_of_runs(folder: str | Path) -> str | None:
    """Return why no run may be written below a folder, as a sentence; None if one may.

    Programs that start the suite learn the path of its run without links, so the path that they lead to counts as well.
    """
    return fault_of_absolute_path(folder) or fault_of_path(os.path.realpath(folder))


def shown_path(path: str | Path) -> str:
    """Return a path as text that any file can have: bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_utf8(path: bytes) -> bool:
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
