"""Rules of Kafka's SASL authenticator.

They return the allowed reactions before a connection is authenticated.

The authenticator accepts ApiVersions requests until one succeeds, then SaslHandshake, then tokens. After
SaslHandshake v0 tokens are bare; after v1 they are wrapped in SaslAuthenticate. Only the tokens of PLAIN are
modelled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reference_model.broker.rules.api_versions import reactions_to_served_version, unsupported
from reference_model.broker.rules.connection_states import ConnectionEvent, ConnectionState
from reference_model.broker.rules.reaction import (
    AnswerKind,
    Choice,
    Identity,
    Listing,
    NotModelled,
    Reaction,
    closed,
)
from reference_model.broker.rules.request_parser import (
    ParsedHeader,
    Unreadable,
    other_api_reads,
    parse_body,
    parse_header,
    read_mechanism,
    read_token,
)
from reference_model.profiles.profile import Profile
from wire.api_keys import API_VERSIONS_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.sasl import PLAIN

PLAIN_TOKEN_PARTS = 3
CLAUSE = "MODEL.sequence-agrees"
"""The clause that reactions to the steps of SASL name: other clauses judge only what these steps lead to."""
_AFTER_HANDSHAKE = "KIP-35.after-handshake-illegal-state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The user that PLAIN accepts."""

    username: str
    password: str

    def match(self, token: bytes) -> bool:
        """Return whether a PLAIN token is right and acts for no other user. Source: RFC 4616, section 2."""
        parts = token.decode("utf-8", "replace").split("\0")
        if len(parts) != PLAIN_TOKEN_PARTS:
            return False
        acts_as, username, password = parts
        return acts_as in ("", username) and (username, password) == (self.username, self.password)


CREDENTIALS = Credentials(username="conformance", password="conformance-secret")
"""The user of the brokers that the project itself plays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token that a client sent.

    Attributes:
        data: its bytes.
        kind: the kind of request that carried it.
        layout: the version whose layout the response uses.
    """

    data: bytes
    kind: AnswerKind = AnswerKind.BARE_TOKEN
    layout: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslConfiguration:
    """The configuration of the SASL authenticator: the enabled mechanisms and the accepted user."""

    credentials: Credentials
    mechanisms: tuple[str, ...] = (PLAIN,)


def token_in(payload: bytes, profile: Profile, state: ConnectionState) -> Token | None:
    """Return the token in a frame; None if it contains none, or if the broker awaits no token in this state."""
    if state is ConnectionState.BARE_TOKENS:
        return Token(data=payload)
    if state is not ConnectionState.WRAPPED_TOKENS:
        return None
    data = memoryview(payload)
    try:
        header = parse_header(data, profile.traits)
        if not _carries_token(header, profile):
            return None
        token = read_token(data, header, profile.traits)
    except Unreadable:
        return None
    return Token(data=token, kind=AnswerKind.SASL_AUTHENTICATE, layout=header.api_version)


def answer_to_token(token: Token, *, is_last: bool) -> Reaction:
    """Return the reaction to a right token; `is_last` means that it completes the authentication."""
    return Reaction(
        clause=CLAUSE,
        kind=token.kind,
        response_version=token.layout,
        next_event=ConnectionEvent.TOKEN_TAKEN if is_last else None,
    )


def refusal_of_token(token: Token) -> Reaction:
    """Return the reaction to a wrong token."""
    if token.kind is AnswerKind.BARE_TOKEN:
        return closed(CLAUSE)
    error = ErrorCode.SASL_AUTHENTICATION_FAILED
    return _refused_by_answer(CLAUSE, token.kind, error, token.layout)


def _carries_token(header: ParsedHeader, profile: Profile) -> bool:
    highest = profile.traits.sasl_authenticate_max
    return header.api_key == SASL_AUTHENTICATE_KEY and 0 <= header.api_version <= highest


def illegal_state(kind: AnswerKind, layout: int, *, listing: Listing = Listing.NOTHING) -> Reaction:
    """Return the reaction ILLEGAL_SASL_STATE of a broker that awaits no step of SASL."""
    return Reaction(
        clause=CLAUSE,
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        kind=kind,
        response_version=layout,
        listing=listing,
    )


def reaction_while_serving(payload: bytes, header: ParsedHeader, profile: Profile) -> Reaction:
    """Return the reaction to a SASL request in a supported version on a connection that is already served.

    Re-authentication is not modelled. A broker allows it if its sessions expire (`connections.max.reauth.ms`).
    """
    data = memoryview(payload)
    try:
        if header.api_key == SASL_AUTHENTICATE_KEY:
            read_token(data, header, profile.traits)
            return illegal_state(AnswerKind.SASL_AUTHENTICATE, header.api_version)
        read_mechanism(data, header)
    except Unreadable:
        return closed(CLAUSE)
    lists = profile.traits.mechanisms_with_illegal_state
    listing = Listing.EVERYTHING if lists else Listing.NOTHING
    return illegal_state(AnswerKind.SASL_HANDSHAKE, header.api_version, listing=listing)


def reactions_of_authenticator(
    payload: bytes,
    profile: Profile,
    identity: Identity,
    authentication: SaslConfiguration,
    state: ConnectionState,
) -> tuple[Reaction, ...]:
    """Return all allowed reactions to one frame on a connection that is not authenticated yet."""
    token = token_in(payload, profile, state)
    if token is not None:
        if authentication.credentials.match(token.data):
            return (answer_to_token(token, is_last=True),)
        return (refusal_of_token(token),)
    data = memoryview(payload)
    try:
        header = parse_header(data, profile.traits)
    except Unreadable as error:
        return (closed("PROTOCOL.short-frame-refused", unreadable=str(error)),)
    if state is ConnectionState.WRAPPED_TOKENS:
        return _after_handshake(data, header, profile)
    if header.api_key == API_VERSIONS_KEY:
        return _to_api_versions(data, header, profile, identity, state)
    if header.api_key == SASL_HANDSHAKE_KEY:
        return _to_handshake(data, header, profile, authentication.mechanisms)
    return (closed("PROTOCOL.unknown-api-refused"),)


def _to_api_versions(
    data: memoryview,
    header: ParsedHeader,
    profile: Profile,
    identity: Identity,
    state: ConnectionState,
) -> tuple[Reaction, ...]:
    traits = profile.traits
    if state is ConnectionState.API_VERSIONS_SERVED and traits.sasl_versions_once:
        # No source forbids to ask twice.
        return (closed(CLAUSE),)
    if not 0 <= header.api_version <= traits.api_versions_max:
        return (unsupported(profile),)
    checked = identity if traits.ids_checked_before_authentication else None
    return tuple(
        _as_served(reaction, state) for reaction in reactions_to_served_version(data, header, profile, checked)
    )


def _as_served(reaction: Reaction, state: ConnectionState) -> Reaction:
    if reaction.listing is not Listing.EVERYTHING:
        return reaction
    first = state is ConnectionState.BEFORE_HANDSHAKE
    next_event = ConnectionEvent.VERSIONS_GIVEN if first else None
    return replace(reaction, before_authentication=True, next_event=next_event)


def _to_handshake(
    data: memoryview,
    header: ParsedHeader,
    profile: Profile,
    mechanisms: tuple[str, ...] | None,
) -> tuple[Reaction, ...]:
    """Return all allowed reactions to SaslHandshake; `mechanisms` are the enabled ones, None if it comes too late."""
    version = header.api_version
    if not 0 <= version <= profile.traits.sasl_handshake_max:
        return (closed(CLAUSE),)
    try:
        mechanism = read_mechanism(data, header)
    except Unreadable:
        return (closed(CLAUSE),)
    if mechanisms is None:
        kind, error = AnswerKind.SASL_HANDSHAKE, ErrorCode.ILLEGAL_SASL_STATE
        return (_refused_by_answer(CLAUSE, kind, error, version),)
    answer = Reaction(
        clause=CLAUSE,
        kind=AnswerKind.SASL_HANDSHAKE,
        response_version=version,
        listing=Listing.EVERYTHING,
    )
    if mechanism not in mechanisms:
        refused = replace(
            answer,
            error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            next_event=ConnectionEvent.REFUSED,
        )
        return (refused,)
    next_event = ConnectionEvent.HANDSHAKE_V1 if version else ConnectionEvent.HANDSHAKE_V0
    return (replace(answer, next_event=next_event),)


def _after_handshake(data: memoryview, header: ParsedHeader, profile: Profile) -> tuple[Reaction, ...]:
    """Return all allowed reactions to a frame without a token when a token is awaited.

    Raises:
        NotModelled: the request is one of another API, and there is no record of what the release can parse.
    """
    if header.api_key == API_VERSIONS_KEY:
        return _to_late_api_versions(data, header, profile)
    if header.api_key == SASL_HANDSHAKE_KEY:
        return _to_handshake(data, header, profile, None)
    # A token that cannot be parsed closes the connection, in every supported version.
    if header.api_key == SASL_AUTHENTICATE_KEY:
        return (closed(CLAUSE),)
    if not profile.readable_keys:
        raise NotModelled(f"there is no record of the other APIs that {profile.release} decodes")
    version = header.api_version
    if not profile.reads(header.api_key, version):
        return (closed(CLAUSE),)
    other = _refused_by_answer(CLAUSE, AnswerKind.OTHER, ErrorCode.ILLEGAL_SASL_STATE, version)
    if other_api_reads(data, header):
        return (other,)
    return tuple(replace(each, reason=Choice.BODY_MAY_NOT_READ) for each in (other, closed(CLAUSE)))


def _to_late_api_versions(data: memoryview, header: ParsedHeader, profile: Profile) -> tuple[Reaction, ...]:
    served = 0 <= header.api_version <= profile.traits.api_versions_max
    if served and header.api_version >= FIRST_FLEXIBLE_VERSION:
        try:
            parse_body(data, header, profile.traits)
        except Unreadable:
            return (closed(_AFTER_HANDSHAKE),)
    layout = header.api_version if served else 0
    kind, error = AnswerKind.API_VERSIONS, ErrorCode.ILLEGAL_SASL_STATE
    return (_refused_by_answer(_AFTER_HANDSHAKE, kind, error, layout),)


def _refused_by_answer(clause: str, kind: AnswerKind, error: ErrorCode, layout: int) -> Reaction:
    return Reaction(
        clause=clause,
        error_code=error,
        kind=kind,
        response_version=layout,
        next_event=ConnectionEvent.REFUSED,
    )
