"""Sentences about what a command leaves, and what a process accumulates.

There are no sentences if nothing is left or accumulated.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]

ENDING_S = 10.0
"""How long processes may take to end after the command that started them."""
FEW_FILES = 16
"""Open files that come and go in a process with nothing to do, for example of its own connections to a broker."""
_MIB = 2**20
_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Make this process the parent of whatever its children leave, also of what has left session and group."""
    set_option = ctypes.CDLL(None, use_errno=True).prctl
    for value in (1, 0):
        if set_option(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
        if value:
            try:
                yield
            except BaseException:
                set_option(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
                raise


def running_children() -> set[psutil.Process]:
    """Return the processes below this one that run, without those that have ended and were not waited for."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.add(process)
    return found


def left_processes(before: set[psutil.Process]) -> list[str]:
    """Name each process that was not there before and does not end, with the ports at which it listens; kill it."""
    _, left = psutil.wait_procs(running_children() - before, timeout=ENDING_S)
    sentences = []
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            ports = [each.laddr.port for each in process.net_connections("inet") if each.status == psutil.CONN_LISTEN]
            sentences.append(f"process left: {' '.join(process.cmdline())}, listens at {ports}")
            process.kill()
    return sentences


def left_files(*folders: Path) -> list[str]:
    """Name what is in folders that must be empty."""
    return [f"file left: {path}" for folder in folders for path in sorted(folder.iterdir())]


def rise(name: str, values: Sequence[float], *, most: float) -> list[str]:
    """Say if values rise from the first fifth of them to the last by more than a factor; both are medians."""
    part = max(len(values) // 5, 1)
    first, last = statistics.median(values[:part]), statistics.median(values[-part:])
    return [f"{name} rose from {first:.1f} to {last:.1f}"] if last > most * first else []


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldResources:
    """What a process and those below it hold.

    Attributes:
        processes: how many they are.
        threads: threads of them together.
        files: their open files and sockets.
        mib: their resident memory.
    """

    processes: int
    threads: int
    files: int
    mib: float

    def growth_from(self, before: HeldResources, *, most_mib: float) -> list[str]:
        """Say what is more than before.

        Args:
            before: the same processes earlier.
            most_mib: memory by which they may have grown.
        """
        sentences = []
        for name, most in (("processes", 0), ("threads", 0), ("files", FEW_FILES)):
            old, new = getattr(before, name), getattr(self, name)
            if new > old + most:
                sentences.append(f"{name} grew from {old} to {new}")
        if self.mib > before.mib + most_mib:
            sentences.append(f"memory grew from {before.mib:.1f} to {self.mib:.1f} MiB")
        return sentences


def held_by(process_id: int) -> HeldResources:
    """Look at a process and those below it now."""
    top = psutil.Process(process_id)
    family = [top, *top.children(recursive=True)]
    return HeldResources(
        processes=len(family),
        threads=sum(each.num_threads() for each in family),
        files=sum(each.num_fds() for each in family),
        mib=sum(each.memory_info().rss for each in family) / _MIB,
    )


def number_in(variable: str, default: int) -> int:
    """Return how much a soak does: a number from the environment, or the default."""
    return int(os.environ.get(variable, default))
