"""Where a connection may stand, and every move between two such places.

How a connection moves on stands in `TRANSITIONS` and nowhere else. A SASL listener opens a connection
before the handshake; every other listener opens it served.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping


class ConnectionState(enum.Enum):
    """Where a connection stands."""

    OPEN = "open"
    """Requests are served, and nobody has authenticated."""
    BEFORE_HANDSHAKE = "before the handshake"
    """Of a SASL listener: one ApiVersions, or the handshake."""
    VERSIONS_TOLD = "versions told"
    """Of a SASL listener: the one ApiVersions was served, and only the handshake may follow."""
    BARE_TOKENS = "bare tokens"
    """After SaslHandshake v0: every frame is a token."""
    WRAPPED_TOKENS = "wrapped tokens"
    """After SaslHandshake v1: tokens come in SaslAuthenticate requests."""
    AUTHENTICATED = "authenticated"
    """Requests are served; another handshake is possible."""
    DEAD = "dead"
    """Neither answered nor closed any more."""
    CLOSED = "closed"


class ConnectionEvent(enum.Enum):
    """What can happen to a connection."""

    SERVED = "served"
    VERSIONS_GIVEN = "versions given"
    HANDSHAKE_V0 = "handshake v0"
    HANDSHAKE_V1 = "handshake v1"
    TOKEN_TAKEN = "token taken"
    SWALLOWED = "swallowed"
    REFUSED = "refused"
    END_OF_STREAM = "end of stream"


_State, _Event = ConnectionState, ConnectionEvent

SERVING = (_State.OPEN, _State.AUTHENTICATED)
"""States in which the broker itself handles requests, rather than its SASL authenticator."""
TAKING_REQUESTS = (
    *SERVING,
    _State.BEFORE_HANDSHAKE,
    _State.VERSIONS_TOLD,
    _State.BARE_TOKENS,
    _State.WRAPPED_TOKENS,
)
"""States in which a frame is looked at."""

TRANSITIONS: Mapping[tuple[ConnectionState, ConnectionEvent], ConnectionState] = {
    **{(state, _Event.SERVED): state for state in TAKING_REQUESTS},
    **{(state, _Event.REFUSED): _State.CLOSED for state in TAKING_REQUESTS},
    **{(state, _Event.SWALLOWED): _State.DEAD for state in TAKING_REQUESTS},
    (_State.BEFORE_HANDSHAKE, _Event.VERSIONS_GIVEN): _State.VERSIONS_TOLD,
    (_State.BEFORE_HANDSHAKE, _Event.HANDSHAKE_V0): _State.BARE_TOKENS,
    (_State.BEFORE_HANDSHAKE, _Event.HANDSHAKE_V1): _State.WRAPPED_TOKENS,
    (_State.VERSIONS_TOLD, _Event.HANDSHAKE_V0): _State.BARE_TOKENS,
    (_State.VERSIONS_TOLD, _Event.HANDSHAKE_V1): _State.WRAPPED_TOKENS,
    (_State.BARE_TOKENS, _Event.TOKEN_TAKEN): _State.AUTHENTICATED,
    (_State.WRAPPED_TOKENS, _Event.TOKEN_TAKEN): _State.AUTHENTICATED,
    (_State.AUTHENTICATED, _Event.HANDSHAKE_V0): _State.BARE_TOKENS,
    (_State.AUTHENTICATED, _Event.HANDSHAKE_V1): _State.WRAPPED_TOKENS,
    **{(state, _Event.END_OF_STREAM): _State.CLOSED for state in _State},
}
"""Every move that exists; any other is a bug of ours and raises KeyError."""
