"""A pytest plugin that leaves a socket to the garbage collector.

It leaves a socket after each property. If `INTERRUPT` is set, it interrupts the run after the first property.
"""

from __future__ import annotations

import os
import socket
from typing import Any

INTERRUPT = "KAFKA_CONFORMANCE_INTERRUPT"
"""The environment variable that has it interrupt the run, unless it is empty."""


def pytest_runtest_logfinish() -> None:
    """Leave a socket that only the garbage collector finds."""
    circle: list[Any] = [socket.socket()]
    circle.append(circle)
    if os.environ[INTERRUPT]:
        raise KeyboardInterrupt
