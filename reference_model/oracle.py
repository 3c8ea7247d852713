"""The oracle: everything that a broker of a release may do with a frame, given where its connection stands.

Two rules, for this module and everything it imports:
- it sees bytes, and gives bytes and decisions: no socket, no clock, no chance;
- where a broker really has a choice, `reactions` gives every allowed one, the preferred one first, each with
  the clause it rests on and the reason why it is not the only one; it never guesses.
"""

from __future__ import annotations

from reference_model.api_versions import reactions_of_broker
from reference_model.connection_states import SERVING, ConnectionState
from reference_model.profile import Profile
from reference_model.reaction import Identity, Reaction
from reference_model.request_parser import ParsedHeader, Unreadable, parse_header
from reference_model.sasl import (
    Authentication,
    Credentials,
    reaction_while_serving,
    reactions_of_authenticator,
)
from wire.sasl import SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY

API_KEY_BYTES = 2
_STEPS = tuple(key.to_bytes(API_KEY_BYTES) for key in (SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY))
NOBODY = Authentication(credentials=Credentials(username="", password=""))
"""For listeners that ask for no authentication, and where no token is sent."""


def first_state(profile: Profile) -> ConnectionState:
    """Return where a new connection stands."""
    if profile.asks_for_authentication:
        return ConnectionState.BEFORE_HANDSHAKE
    return ConnectionState.OPEN


def reactions(
    payload: bytes,
    profile: Profile,
    identity: Identity,
    *,
    state: ConnectionState | None = None,
    authentication: Authentication = NOBODY,
) -> tuple[Reaction, ...]:
    """Return everything that a broker may do with one frame, the preferred reaction first.

    Args:
        payload: the frame without its size prefix.
        profile: the release, on one listener.
        identity: who the broker is.
        state: where the connection stands; a new one's place if not given.
        authentication: who may come in on a SASL listener, and how.

    Raises:
        NotModelled: the request is one of another API of which we cannot tell whether it reads.
    """
    state = first_state(profile) if state is None else state
    if state not in SERVING:
        return reactions_of_authenticator(payload, profile, identity, authentication, state)
    header = _header_of_sasl_request(payload, profile)
    if header is not None:
        return (reaction_while_serving(payload, header, profile),)
    return reactions_of_broker(payload, profile, identity)


def _header_of_sasl_request(payload: bytes, profile: Profile) -> ParsedHeader | None:
    """Return the header of a request that is a step of SASL in a version that the broker has."""
    if payload[:API_KEY_BYTES] not in _STEPS:
        return None
    try:
        header = parse_header(memoryview(payload), profile.traits)
    except Unreadable:
        return None
    return header if profile.accepts(header.api_key, header.api_version) else None
