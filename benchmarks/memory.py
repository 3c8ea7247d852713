"""Memory of this process and of all that it started, while something runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil  # type: ignore[import-untyped]

_EVERY_S = 0.2


class PeakMemory:
    """The most that was seen.

    Attributes:
        gib: in GiB, resident; pages that processes share count for each of them.
    """

    def __init__(self) -> None:
        self.gib = 0.0

    def look(self) -> None:
        """Add up what is resident now."""
        this = psutil.Process()
        total = 0
        for process in (this, *this.children(recursive=True)):
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        self.gib = max(self.gib, total / 2**30)


@contextmanager
def peak_memory() -> Iterator[PeakMemory]:
    """Watch the memory of this process's tree."""
    peak, ended = PeakMemory(), threading.Event()

    def watch() -> None:
        while not ended.wait(_EVERY_S):
            peak.look()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        peak.look()
        ended.set()
        watcher.join()
