"""Run folders as users pass them to a command, and as the command shows them to users."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from spark_aggregation.reading.storage import is_uri

_SMALL_BYTES = 20_000_000
"""About 5 * 10^6 rows, at the 4 bytes per row that real runs take."""


def is_small(roots: Sequence[str], *, most: int = _SMALL_BYTES) -> bool:
    """Return whether the runs are so small that starting costs more than computing.

    Runs on another file system are not examined and count as large.

    Args:
        roots: run folders, or folders of them.
        most: how many bytes the Parquet files may take in total.
    """
    if any(is_uri(root) for root in roots):
        return False
    sizes = (path.stat().st_size for root in roots for path in Path(root).rglob("*.parquet"))
    return sum(sizes) <= most


def local_path(uri: str) -> str:
    """Return a folder as the user typed it: a path for local folders, a URI for others."""
    return unquote(uri.removeprefix("file:")) if uri.startswith("file:") else uri
