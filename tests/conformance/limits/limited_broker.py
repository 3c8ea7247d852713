"""A model of a broker with limits, in virtual time, and faults of it.

A planted fault is a subclass that overrides one decision.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar

from fixtures.client.own_connection import Reply
from wire.api_keys import API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.exchange import Request

LIFETIME, ENDS, GOES_ON, LIMIT, UNSTABLE = (
    "KIP-368.session-lifetime-told",
    "KIP-368.session-ends",
    "KIP-368.reauthentication-goes-on",
    "PROTOCOL.connections-above-limit-wait",
    "PROTOCOL.unstable-versions-hidden",
)
EXCHANGE_S = 0.01
UNSTABLE_KEY, UNSTABLE_VERSION = 22, 6
"""InitProducerId v6, which 4.4.0 calls unstable."""
ERROR = struct.pack(">ihi", 7, -1, 0)


class BrokerWithLimits:
    """A correct broker.

    Attributes:
        breaks: the clause that a planted fault violates; empty for the correct broker.
        lifetime_ms: `connections.max.reauth.ms`; 0 for a listener without a login.
        limit: how many connections it serves.
        is_enabled: whether `unstable.api.versions.enable` is set.
    """

    breaks: ClassVar[str] = ""

    def __init__(self, *, lifetime_ms: int = 0, limit: int = 100, is_enabled: bool = False) -> None:
        self.now_s = 0.0
        self.lifetime_ms = lifetime_ms
        self.limit = limit
        self.is_enabled = is_enabled
        self.open_connections: list[LimitedConnection] = []

    def open(self) -> LimitedConnection:
        """Open a connection."""
        connection = LimitedConnection(self)
        self.open_connections.append(connection)
        return connection

    def wait_until(self, at_s: float) -> None:
        """Let the time pass."""
        self.now_s = max(self.now_s, at_s)

    def told_ms(self) -> int:
        """Return the lifetime that the response to a login states."""
        return self.lifetime_ms

    def real_ms(self) -> int:
        """Return how long a session lasts."""
        return self.lifetime_ms

    def to_late_request(self) -> tuple[Reply, bytes]:
        """Return what becomes of a request after the end of its session."""
        return Reply.CLOSED, b""

    def to_next_login(self, connection: LimitedConnection) -> Reply:
        """Return what becomes of a further login on a connection."""
        return Reply.ANSWERED

    def after_next_login(self, connection: LimitedConnection) -> None:
        """Begin another session."""
        connection.ends_s = self.now_s + self.real_ms() / 1000

    def above_limit(self, connection: LimitedConnection) -> tuple[Reply, bytes] | None:
        """Return what becomes of a request on a connection above the limit; None if it is served."""
        place = self.open_connections.index(connection)
        return (Reply.SILENT, b"") if place >= self.limit else None

    def lists_unstable(self) -> bool:
        """Return whether the table lists the unstable version."""
        return self.is_enabled

    def serves_unstable(self) -> bool:
        """Return whether the unstable version is answered."""
        return self.is_enabled

    def table(self) -> bytes:
        """Return the response to ApiVersions v0."""
        newest = UNSTABLE_VERSION if self.lists_unstable() else UNSTABLE_VERSION - 1
        keys = ((API_VERSIONS_KEY, 0, 4), (UNSTABLE_KEY, 0, newest))
        return struct.pack(">ihi", 7, 0, len(keys)) + b"".join(struct.pack(">hhh", *each) for each in keys)


@dataclass(eq=False, slots=True)
class LimitedConnection:
    """A connection to the model."""

    broker: BrokerWithLimits
    ends_s: float | None = None
    logins: int = 0
    is_open: bool = True

    def ask(self, request: Request) -> tuple[Reply, bytes]:
        """Answer as the broker does."""
        broker = self.broker
        broker.now_s += EXCHANGE_S
        if not self.is_open:
            return Reply.CLOSED, b""
        above = broker.above_limit(self)
        reply, payload = self._answer(request) if above is None else above
        if reply is Reply.CLOSED:
            self.close()
        return reply, payload

    def _answer(self, request: Request) -> tuple[Reply, bytes]:
        broker = self.broker
        if request.api_key == SASL_HANDSHAKE_KEY:
            return Reply.ANSWERED, struct.pack(">ihi", 17, 0, 0)
        if request.api_key == SASL_AUTHENTICATE_KEY:
            return self._log_in()
        if self.ends_s is not None and broker.now_s >= self.ends_s:
            return broker.to_late_request()
        if request.api_key == API_VERSIONS_KEY:
            extra = struct.pack(">i", 0) if request.api_version else b""
            return Reply.ANSWERED, broker.table() + extra
        return (Reply.ANSWERED, ERROR) if broker.serves_unstable() else (Reply.CLOSED, b"")

    def _log_in(self) -> tuple[Reply, bytes]:
        broker = self.broker
        self.logins += 1
        if self.logins == 1:
            self.ends_s = broker.now_s + broker.real_ms() / 1000
        else:
            reply = broker.to_next_login(self)
            if reply is not Reply.ANSWERED:
                return reply, b""
            broker.after_next_login(self)
        return Reply.ANSWERED, struct.pack(">ihhiq", 36, 0, -1, 0, broker.told_ms())

    def close(self) -> None:
        """Close it."""
        self.is_open = False
        if self in self.broker.open_connections:
            self.broker.open_connections.remove(self)


class NoLifetime(BrokerWithLimits):
    """It says that sessions never end."""

    breaks = LIFETIME

    def told_ms(self) -> int:
        return 0


class LongerLifetime(BrokerWithLimits):
    """It says that sessions last a millisecond longer than the setting."""

    breaks = LIFETIME

    def told_ms(self) -> int:
        return self.lifetime_ms + 1


class NegativeLifetime(BrokerWithLimits):
    """It says a lifetime below zero."""

    breaks = LIFETIME

    def told_ms(self) -> int:
        return -1


class SessionsEndEarly(BrokerWithLimits):
    """It ends a session before the time that it says."""

    breaks = ENDS

    def real_ms(self) -> int:
        return self.lifetime_ms - 700


class LateRequestsServed(BrokerWithLimits):
    """It serves versions after the end of a session."""

    breaks = ENDS

    def to_late_request(self) -> tuple[Reply, bytes]:
        return Reply.ANSWERED, self.table()


class LateRequestsRefused(BrokerWithLimits):
    """It answers with an error after the end of a session, instead of closing."""

    breaks = ENDS

    def to_late_request(self) -> tuple[Reply, bytes]:
        return Reply.ANSWERED, ERROR


class LateRequestsIgnored(BrokerWithLimits):
    """It leaves requests after the end of a session unanswered, and the connection open."""

    breaks = ENDS

    def to_late_request(self) -> tuple[Reply, bytes]:
        return Reply.SILENT, b""


class NextLoginCloses(BrokerWithLimits):
    """It closes a connection that logs in again."""

    breaks = GOES_ON

    def to_next_login(self, connection: LimitedConnection) -> Reply:
        return Reply.CLOSED


class LateLoginCloses(BrokerWithLimits):
    """It closes a connection that logs in again after the end of its session."""

    breaks = GOES_ON

    def to_next_login(self, connection: LimitedConnection) -> Reply:
        assert connection.ends_s is not None
        return Reply.CLOSED if self.now_s >= connection.ends_s else Reply.ANSWERED


class NextLoginForgotten(BrokerWithLimits):
    """It accepts a further login, and ends the first session all the same."""

    breaks = GOES_ON

    def after_next_login(self, connection: LimitedConnection) -> None:
        pass


class HalfOfThem(BrokerWithLimits):
    """It serves half of the connections that the limit allows."""

    breaks = LIMIT

    def above_limit(self, connection: LimitedConnection) -> tuple[Reply, bytes] | None:
        place = self.open_connections.index(connection)
        return (Reply.SILENT, b"") if place >= self.limit // 2 else None


class OneTooMany(BrokerWithLimits):
    """It serves one connection above the limit."""

    breaks = LIMIT

    def above_limit(self, connection: LimitedConnection) -> tuple[Reply, bytes] | None:
        place = self.open_connections.index(connection)
        return (Reply.SILENT, b"") if place > self.limit else None


class ErrorsAboveLimit(BrokerWithLimits):
    """It answers with an error above the limit."""

    breaks = LIMIT

    def above_limit(self, connection: LimitedConnection) -> tuple[Reply, bytes] | None:
        place = self.open_connections.index(connection)
        return (Reply.ANSWERED, ERROR) if place >= self.limit else None


class OldestGoes(BrokerWithLimits):
    """It closes the oldest connection for one above the limit."""

    breaks = LIMIT

    def open(self) -> LimitedConnection:
        connection = super().open()
        if len(self.open_connections) > self.limit:
            self.open_connections[0].close()
        return connection


class NeverServesAgain(BrokerWithLimits):
    """It counts closed connections as well."""

    breaks = LIMIT

    def open(self) -> LimitedConnection:
        connection = super().open()
        self.limit -= 1
        return connection

    def above_limit(self, connection: LimitedConnection) -> tuple[Reply, bytes] | None:
        return (Reply.SILENT, b"") if self.limit < 0 and connection.logins == 0 else None


class UnstableListed(BrokerWithLimits):
    """It lists the unstable version without the setting."""

    breaks = UNSTABLE

    def lists_unstable(self) -> bool:
        return True


class UnstableServed(BrokerWithLimits):
    """It serves the unstable version without the setting."""

    breaks = UNSTABLE

    def serves_unstable(self) -> bool:
        return True


class UnstableNeverListed(BrokerWithLimits):
    """It serves the unstable version with the setting, but does not list it."""

    breaks = UNSTABLE

    def lists_unstable(self) -> bool:
        return False


class UnstableNeverServed(BrokerWithLimits):
    """It lists the unstable version with the setting, but does not serve it."""

    breaks = UNSTABLE

    def serves_unstable(self) -> bool:
        return False


WRONG_BROKERS = (
    NoLifetime,
    LongerLifetime,
    NegativeLifetime,
    SessionsEndEarly,
    LateRequestsServed,
    LateRequestsRefused,
    LateRequestsIgnored,
    NextLoginCloses,
    LateLoginCloses,
    NextLoginForgotten,
    HalfOfThem,
    OneTooMany,
    ErrorsAboveLimit,
    OldestGoes,
    NeverServesAgain,
    UnstableListed,
    UnstableServed,
    UnstableNeverListed,
    UnstableNeverServed,
)
