"""Signals in the project's own tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from fixtures.cleanup.ending_signals import ENDING_SIGNALS


@pytest.fixture(autouse=True)
def handlers_of_its_own() -> Iterator[None]:
    """Let signals that a test sends to this process raise `KeyboardInterrupt` and nothing else; restore the handlers.

    The suite's own handler remembers an interrupt, and a later test would end this process.
    """
    before = {each: signal.getsignal(each) for each in ENDING_SIGNALS}
    for each, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(each, signal.default_int_handler)
    yield
    for each, handler in before.items():
        signal.signal(each, handler)
