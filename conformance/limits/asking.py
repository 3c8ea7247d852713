"""How limits are tried: connections that are asked, and a clock.

The tests have a model of a broker instead, in virtual time.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import NamedTuple, Protocol

from fixtures.client.addresses import Address
from fixtures.client.own_connection import OwnConnection, Reply, read_table, reply_from
from fixtures.client.transport import open_tcp
from fixtures.errors import ConnectionFailed
from wire.api_versions import ApiVersionsResponse
from wire.errors import DecodeError
from wire.exchange import Request, probe_request
from wire.headers import read_error_code

SILENCE_S = 2.0
"""How long a response is waited for: a connection above a limit may have none as long as the others are open."""


class LimitProblem(NamedTuple):
    """What a broker did against a clause.

    Attributes:
        clause: the clause.
        sentence: what is wrong.
        payload: the response that is, without its size; empty if there is none.
    """

    clause: str
    sentence: str
    payload: bytes = b""


class AskedConnection(Protocol):
    """A connection, perhaps one that was refused."""

    def ask(self, request: Request) -> tuple[Reply, bytes]:
        """Send a request, and return what became of it and the response, or the bytes that are none."""

    def close(self) -> None:
        """Close it."""


class AskedBroker(Protocol):
    """A broker to which connections are opened."""

    @property
    def now_s(self) -> float:
        """The time in seconds."""

    def open(self) -> AskedConnection:
        """Open a connection; one that is refused answers each request with `Reply.CLOSED`."""

    def wait_until(self, at_s: float) -> None:
        """Return at a time, or at once if it is over."""


class ListenerToAsk:
    """One listener without TLS of a broker that runs; what was opened is closed at the end of the block."""

    def __init__(self, address: Address, running: ExitStack) -> None:
        """Keep the address; the connections are closed with `running`."""
        self._address = address
        self._running = running

    @property
    def now_s(self) -> float:
        """The time in seconds."""
        return time.monotonic()

    def open(self) -> AskedConnection:
        """Open a connection."""
        block = self._running.enter_context(ExitStack())
        try:
            transport = open_tcp(self._address)
        except ConnectionFailed:
            return _Connection(None, block)
        block.callback(transport.close)
        return _Connection(OwnConnection(transport, self._address, bound_s=SILENCE_S), block)

    def wait_until(self, at_s: float) -> None:
        """Sleep until then: only time ends a session."""
        time.sleep(max(0.0, at_s - self.now_s))


class _Connection:
    def __init__(self, connection: OwnConnection | None, block: ExitStack) -> None:
        self._connection = connection
        self._block = block

    def ask(self, request: Request) -> tuple[Reply, bytes]:
        connection = self._connection
        if connection is None:
            return Reply.CLOSED, b""
        return reply_from(lambda: connection.ask_for_own(request, changes_the_broker=True))

    def close(self) -> None:
        self._block.close()


def ask_for_versions(connection: AskedConnection, version: int = 0) -> tuple[Reply, bytes]:
    """Ask a connection for the versions that its broker serves."""
    return connection.ask(probe_request(version))


def table_in(reply: Reply, payload: bytes, version: int = 0) -> ApiVersionsResponse | None:
    """Return the table in a response to ApiVersions; None if there is no success that can be read."""
    if reply is not Reply.ANSWERED or read_error_code(payload) != 0:
        return None
    try:
        return read_table(payload, version)
    except DecodeError:
        return None
