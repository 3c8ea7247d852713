"""Makes sure that Ctrl-C is not lost, nor another signal that ends a run.

Python drops exceptions raised inside a garbage collector callback, and Hypothesis installs such a callback. About
one interrupt in twenty was lost, except for a complaint at the end of the run. So no interrupt is raised inside a
callback. Each one is remembered, and raised (again) before the next example or after the last one of a property.
"""

from __future__ import annotations

import gc
import signal
from types import FrameType

from fixtures.cleanup.ending_signals import ENDING_SIGNALS, interrupt_when_ended


class Interrupts:
    """Remembers whether this process was interrupted."""

    def __init__(self) -> None:
        """Start without an interrupt."""
        self._came = False

    def remember(self) -> None:
        """Handle the ending signals from now on, unless they are ignored or already have another handler."""
        interrupt_when_ended()
        for each in ENDING_SIGNALS:
            if signal.getsignal(each) is signal.default_int_handler:
                signal.signal(each, self._take)

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if the process was interrupted.

        Raises:
            KeyboardInterrupt: the process was interrupted.
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
