"""Lets only one roll-up at a time write to a history on a local disk.

Other file systems have no lock that the kernel frees when a process dies. There the commit finds out that another
roll-up was faster (`RunHistory.commit`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from spark_aggregation.errors import HistoryMoved
from spark_aggregation.reading.storage import is_uri

LOCK_FILE = ".writer.lock"


@contextmanager
def only_writer(uri: str) -> Iterator[bool]:
    """Hold the lock of a history for the block.

    Args:
        uri: folder of the history, which is created if it is local and does not exist.

    Yields:
        Whether the lock is held; False if the file system has none.

    Raises:
        HistoryMoved: another roll-up holds it.
        OSError: the folder cannot be written to.
    """
    folder = _local_folder(uri)
    if folder is None:
        yield False
        return
    # Not needed on a cluster, which need not have the package.
    from filelock import FileLock, Timeout  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK_FILE, fallback_to_soft=False)
    try:
        lock.acquire(timeout=0)
    except NotImplementedError:
        yield False
        return
    except Timeout as error:
        raise HistoryMoved(
            f"another roll-up is writing to the history {uri}; run this one again when it has ended"
        ) from error
    try:
        yield True
    finally:
        lock.release()


def _local_folder(uri: str) -> Path | None:
    if not is_uri(uri):
        return Path(uri)
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None
