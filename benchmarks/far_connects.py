"""A pytest plugin (`-p benchmarks.far_connects`) that delays the opening of TCP connections, as distance would.

`FAR_CONNECT_MS` is the round trip in milliseconds. The bytes of a connection are delayed by `benchmarks.delay_proxy`.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

ROUND_TRIP_MS = "FAR_CONNECT_MS"
"""The variable with the round trip."""
_near = socket.socket.connect


def _connect(self: socket.socket, address: Any) -> None:
    time.sleep(float(os.environ[ROUND_TRIP_MS]) / 1000)
    _near(self, address)


def pytest_configure() -> None:
    """Delay every connection of this process from now on."""
    socket.socket.connect = _connect  # type: ignore[method-assign,assignment]
