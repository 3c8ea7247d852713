"""Network interface of the model client: connections and a clock.

They are real ones or those of a simulation.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class HostPort(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int


class Unreachable(Exception):
    """A connection cannot be opened or used: it was refused, closed or reset."""


class Stream(Protocol):
    """One TCP connection."""

    def start_tls(self) -> None:
        """Do the TLS handshake if the network needs it; everything after it is encrypted.

        Raises:
            Unreachable: it fails.
        """

    def send(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            Unreachable: the connection is closed.
        """

    def receive(self, within_ms: int) -> bytes:
        """Return the bytes that have arrived, as soon as there are any; none if the time is over.

        Raises:
            Unreachable: the broker has closed the connection, and everything it sent has been returned.
        """

    def close(self) -> None:
        """Close the connection; do nothing if it is closed."""


class Network(Protocol):
    """Connections and a clock.

    Attributes:
        needs_tls: whether its connections are to be secured by TLS.
    """

    needs_tls: bool

    @property
    def now_ms(self) -> int:
        """Milliseconds since the start of the client."""

    def wait(self, milliseconds: int) -> None:
        """Do nothing for a time."""

    def open(self, address: HostPort) -> Stream:
        """Open a connection, without TLS at first.

        Raises:
            Unreachable: the connection is refused.
        """
