"""The states of a connection, and every transition between them.

`TRANSITIONS` is the only place that defines transitions. A connection to a SASL listener starts as
`BEFORE_HANDSHAKE`; a connection to any other listener starts as `OPEN`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping


class ConnectionState(enum.Enum):
    """The state of a connection."""

    OPEN = "open"
    """Requests are served without authentication."""
    BEFORE_HANDSHAKE = "before the handshake"
    """On a SASL listener: the broker awaits one ApiVersions request or the handshake."""
    API_VERSIONS_SERVED = "API versions served"
    """On a SASL listener: the one ApiVersions request was served, and only the handshake may follow."""
    BARE_TOKENS = "bare tokens"
    """After SaslHandshake v0: every frame is a token."""
    WRAPPED_TOKENS = "wrapped tokens"
    """After SaslHandshake v1: tokens arrive in SaslAuthenticate requests."""
    AUTHENTICATED = "authenticated"
    """Requests are served."""
    DEAD = "dead"
    """The broker neither answers nor closes."""
    CLOSED = "closed"


class ConnectionEvent(enum.Enum):
    """An event that changes or confirms the state of a connection."""

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
"""States in which the broker itself handles requests, not its SASL authenticator."""
TAKING_REQUESTS = (
    *SERVING,
    _State.BEFORE_HANDSHAKE,
    _State.API_VERSIONS_SERVED,
    _State.BARE_TOKENS,
    _State.WRAPPED_TOKENS,
)
"""States in which the broker processes frames."""

TRANSITIONS: Mapping[tuple[ConnectionState, ConnectionEvent], ConnectionState] = {
    **{(state, _Event.SERVED): state for state in TAKING_REQUESTS},
    **{(state, _Event.REFUSED): _State.CLOSED for state in TAKING_REQUESTS},
    **{(state, _Event.SWALLOWED): _State.DEAD for state in TAKING_REQUESTS},
    (_State.BEFORE_HANDSHAKE, _Event.VERSIONS_GIVEN): _State.API_VERSIONS_SERVED,
    (_State.BEFORE_HANDSHAKE, _Event.HANDSHAKE_V0): _State.BARE_TOKENS,
    (_State.BEFORE_HANDSHAKE, _Event.HANDSHAKE_V1): _State.WRAPPED_TOKENS,
    (_State.API_VERSIONS_SERVED, _Event.HANDSHAKE_V0): _State.BARE_TOKENS,
    (_State.API_VERSIONS_SERVED, _Event.HANDSHAKE_V1): _State.WRAPPED_TOKENS,
    (_State.BARE_TOKENS, _Event.TOKEN_TAKEN): _State.AUTHENTICATED,
    (_State.WRAPPED_TOKENS, _Event.TOKEN_TAKEN): _State.AUTHENTICATED,
    # Only a planted defect begins a second handshake.
    (_State.AUTHENTICATED, _Event.HANDSHAKE_V0): _State.BARE_TOKENS,
    (_State.AUTHENTICATED, _Event.HANDSHAKE_V1): _State.WRAPPED_TOKENS,
    **{(state, _Event.END_OF_STREAM): _State.CLOSED for state in _State},
}
"""All transitions; any other is a bug in the model and raises KeyError."""
