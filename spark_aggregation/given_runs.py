"""Run folders as a person gives them to a command, and as they are shown to that person again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from spark_aggregation.storage import is_uri

_SMALL_BYTES = 20_000_000
"""Some 5 * 10^6 rows, at the 4 bytes a row that real runs take."""


def is_small(roots: Sequence[str], *, most: int = _SMALL_BYTES) -> bool:
    """Tell whether the runs are so few that starting costs more than computing.

    Runs on another file system are not looked at and count as many.

    Args:
        roots: run folders, or folders of them.
        most: how many bytes their tables may take.
    """
    if any(is_uri(root) for root in roots):
        return False
    sizes = (path.stat().st_size for root in roots for path in Path(root).rglob("*.parquet"))
    return sum(sizes) <= most


def local_path(uri: str) -> str:
    """Show a folder as a person typed it: local ones as a path, others as their URI."""
    return unquote(uri.removeprefix("file:")) if uri.startswith("file:") else uri
