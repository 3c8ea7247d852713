"""Peak memory of this process and its descendants during a block."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil  # type: ignore[import-untyped]

_EVERY_S = 0.2


class PeakMemory:
    """The highest memory use observed.

    Attributes:
        gib: resident memory in GiB; a page that several processes share counts once. Java shares all of its pages for a
            moment with each process that it starts.
    """

    def __init__(self) -> None:
        self.gib = 0.0

    def look(self) -> None:
        """Measure the resident memory now and update the peak."""
        this = psutil.Process()
        total = 0
        for process in (this, *this.children(recursive=True)):
            try:
                total += process.memory_full_info().pss
            except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
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
