"""The oracle: all reactions that a release may show to a frame.

The allowed reactions depend on the state of the connection.

Two rules hold for this module and everything it imports:
- It maps bytes to bytes and decisions, without sockets, clocks or randomness.
- It never guesses. If a broker has a choice, `reactions` returns every allowed reaction, the preferred one first.
  Each names the clause it follows from and the reason why it is not the only one.
"""

from __future__ import annotations

from reference_model.broker.rules.api_versions import reactions_of_broker
from reference_model.broker.rules.connection_states import SERVING, ConnectionState
from reference_model.broker.rules.reaction import Identity, Reaction
from reference_model.broker.rules.request_parser import ParsedHeader, Unreadable, parse_header
from reference_model.broker.rules.sasl import (
    Credentials,
    SaslConfiguration,
    reaction_while_serving,
    reactions_of_authenticator,
)
from reference_model.profiles.profile import Profile
from wire.api_keys import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY

API_KEY_BYTES = 2
_STEPS = tuple(key.to_bytes(API_KEY_BYTES) for key in (SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY))
NO_CREDENTIALS = SaslConfiguration(credentials=Credentials(username="", password=""))
"""For listeners without authentication, and for connections on which no token is sent."""


def first_state(profile: Profile) -> ConnectionState:
    """Return the state of a new connection."""
    if profile.asks_for_authentication:
        return ConnectionState.BEFORE_HANDSHAKE
    return ConnectionState.OPEN


def reactions(
    payload: bytes,
    profile: Profile,
    identity: Identity,
    *,
    state: ConnectionState | None = None,
    authentication: SaslConfiguration = NO_CREDENTIALS,
) -> tuple[Reaction, ...]:
    """Return all allowed reactions to one frame, the preferred one first.

    Args:
        payload: the frame without its size prefix.
        profile: the release, on one listener.
        identity: the broker's cluster and node id.
        state: the state of the connection; that of a new one if not given.
        authentication: credentials and mechanisms that a SASL listener accepts.

    Raises:
        NotModelled: the request is for another API, and the model cannot decide whether Kafka can parse it.
    """
    state = first_state(profile) if state is None else state
    if state not in SERVING:
        return reactions_of_authenticator(payload, profile, identity, authentication, state)
    header = _header_of_sasl_request(payload, profile)
    if header is not None:
        return (reaction_while_serving(payload, header, profile),)
    return reactions_of_broker(payload, profile, identity)


def _header_of_sasl_request(payload: bytes, profile: Profile) -> ParsedHeader | None:
    """Return the header if the request is a step of SASL in a version that the broker supports, else None."""
    if payload[:API_KEY_BYTES] not in _STEPS:
        return None
    try:
        header = parse_header(memoryview(payload), profile.traits)
    except Unreadable:
        return None
    return header if profile.accepts(header.api_key, header.api_version) else None
