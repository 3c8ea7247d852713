"""Signals in the project's own tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from fixtures.cleanup.ending_signals import ENDING_SIGNALS, INTERRUPTS, Interrupts


@pytest.fixture(autouse=True)
def handlers_of_its_own() -> Iterator[None]:
    """Let signals that a test sends to this process raise `KeyboardInterrupt`; restore the handlers afterwards.

    The suite's own handler remembers an interrupt, which would end a later test.
    """
    before = {each: signal.getsignal(each) for each in ENDING_SIGNALS}
    for each in before:
        # Also where the caller has them ignored, as a background job of a shell and `nohup` do.
        signal.signal(each, signal.default_int_handler)
    yield
    vars(INTERRUPTS).update(vars(Interrupts()))
    for each, handler in before.items():
        signal.signal(each, handler)
