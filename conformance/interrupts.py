"""Ctrl-C that is not lost.

Python drops what is raised inside a callback of its garbage collector, and Hypothesis has such a callback: about
one interrupt in twenty came to nothing, but for a complaint at the end of the run. So none is raised there; each is
remembered, and raised (again) before the next example, or behind the last one of a property.
"""

from __future__ import annotations

import gc
import signal
from types import FrameType


class Interrupts:
    """The interrupts that this process has had."""

    def __init__(self) -> None:
        """Begin with none."""
        self._came = False

    def remember(self) -> None:
        """Take SIGINT from here on; where it is ignored, or somebody else has it, it stays so."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._take)

    def check(self) -> None:
        """Raise an interrupt that came.

        Raises:
            KeyboardInterrupt: one did.
        """
        if self._came:
            raise KeyboardInterrupt

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        if not _collects_garbage(frame):
            signal.default_int_handler(number, frame)


def _collects_garbage(frame: FrameType | None) -> bool:
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in callbacks:
            return True
        frame = frame.f_back
    return False


INTERRUPTS = Interrupts()
