"""Defects in the order of requests around SASL authentication."""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.connection_states import ConnectionEvent, ConnectionState
from reference_model.broker.rules.reaction import AnswerKind, Listing, Reaction
from reference_model.broker.rules.sasl import Token, refusal_of_token
from reference_model.faults.broker.registry import defect
from wire.api_keys import (
    API_VERSIONS_KEY,
    BROKER_HEARTBEAT_KEY,
    CREATE_TOPICS_KEY,
    LIST_GROUPS_KEY,
    METADATA_KEY,
    SASL_HANDSHAKE_KEY,
    VOTE_KEY,
)
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import encode_frame
from wire.primitives import write_int16, write_int32, write_nullable_string

SERVED_EARLY = ("MODEL.sequence-agrees", "PROTOCOL.nothing-served-before-authentication")
LOGS_IN = "PROTOCOL.listed-sasl-versions-log-in"


def is_late(context: RequestContext) -> bool:
    """Return whether the request is ApiVersions after SaslHandshake v1, refused with ILLEGAL_SASL_STATE."""
    reaction = context.reaction
    refused = reaction.error_code is ErrorCode.ILLEGAL_SASL_STATE
    late = context.state is ConnectionState.WRAPPED_TOKENS
    return late and refused and reaction.kind is AnswerKind.API_VERSIONS


@defect(Stage.REACTION, "KIP-35.after-handshake-illegal-state")
def late_requests_without_a_name_are_served(context: RequestContext) -> None:
    """After SaslHandshake v1, ApiVersions v0 is served."""
    if is_late(context) and context.version == 0:
        context.serve_in(0)


@defect(Stage.REACTION, "KIP-35.after-handshake-illegal-state")
def late_flexible_requests_are_refused_in_v0(context: RequestContext) -> None:
    """After SaslHandshake v1, a flexible ApiVersions request is refused in the v0 layout."""
    if is_late(context) and context.reaction.response_version >= FIRST_FLEXIBLE_VERSION:
        context.replace_reaction(response_version=0)


@defect(Stage.REACTION, "KIP-35.after-handshake-illegal-state")
def a_late_request_does_not_cost_the_connection(context: RequestContext) -> None:
    """After SaslHandshake v1, a refused ApiVersions v1 leaves the connection open."""
    if is_late(context) and context.version == 1:
        context.replace_reaction(next_event=None)


@defect(Stage.REACTION, "MODEL.sequence-agrees")
def versions_are_told_again_before_the_handshake(context: RequestContext) -> None:
    """A second ApiVersions v0 before SaslHandshake is served."""
    header = context.header
    if context.state is not ConnectionState.API_VERSIONS_SERVED or header is None:
        return
    if (header.api_key, header.api_version) == (API_VERSIONS_KEY, 0):
        context.serve_in(0)


@defect(Stage.REACTION, "MODEL.sequence-agrees")
def a_refused_name_uses_up_the_one_request(context: RequestContext) -> None:
    """Before authentication, only the handshake is possible after a refused client software name."""
    refused = context.reaction.error_code is ErrorCode.INVALID_REQUEST
    if refused and context.state is ConnectionState.BEFORE_HANDSHAKE:
        context.replace_reaction(next_event=ConnectionEvent.VERSIONS_GIVEN)


@defect(Stage.REACTION, "KIP-35.unknown-version-gives-35", "KIP-35.negative-version-gives-35")
def unknown_versions_close_before_authentication(context: RequestContext) -> None:
    """Before authentication, an unknown version closes the connection (streamnative/kop#688)."""
    if context.state is ConnectionState.BEFORE_HANDSHAKE and context.refuses_version:
        context.replace_reaction(outcome=Outcome.CLOSED)


def asks_for(context: RequestContext, api_key: int, *, api_version: int = 0, state: ConnectionState) -> bool:
    """Return whether a version of an API is requested on a connection in this state."""
    header = context.header
    if header is None or context.state is not state:
        return False
    return (header.api_key, header.api_version) == (api_key, api_version)


@defect(Stage.REACTION, *SERVED_EARLY, every_api=True)
def metadata_is_served_before_authentication(context: RequestContext) -> None:
    """Metadata v0 is served before authentication."""
    if asks_for(context, METADATA_KEY, state=ConnectionState.BEFORE_HANDSHAKE):
        context.replace_reaction(outcome=Outcome.ANSWER, kind=AnswerKind.OTHER)


@defect(Stage.REACTION, *SERVED_EARLY, every_api=True)
def late_metadata_does_not_cost_the_connection(context: RequestContext) -> None:
    """After SaslHandshake v1, a refused Metadata v0 leaves the connection open."""
    if asks_for(context, METADATA_KEY, state=ConnectionState.WRAPPED_TOKENS):
        context.replace_reaction(next_event=None)


@defect(Stage.ANSWER, *SERVED_EARLY, every_api=True)
def groups_are_listed_behind_the_handshake(context: RequestContext) -> None:
    """After SaslHandshake v1, ListGroups v0 names a group without an error, and then the connection is closed."""
    name_a_group(context, ErrorCode.NONE)


def name_a_group(context: RequestContext, error_code: ErrorCode) -> None:
    """Answer ListGroups v0 after SaslHandshake v1 with one group and an error code."""
    late = asks_for(context, LIST_GROUPS_KEY, state=ConnectionState.WRAPPED_TOKENS)
    if late and context.answer:
        assert context.header is not None
        group = write_nullable_string("payroll") + write_nullable_string("consumer")
        body = write_int16(error_code) + write_int32(1) + group
        context.answer = encode_frame(write_int32(context.header.correlation_id) + body)


def is_second_handshake(context: RequestContext) -> bool:
    """Return whether the request is a SaslHandshake v1 that comes after another one."""
    state = ConnectionState.WRAPPED_TOKENS
    return asks_for(context, SASL_HANDSHAKE_KEY, api_version=1, state=state)


@defect(Stage.ANSWER, *SERVED_EARLY, every_api=True)
def a_refusal_names_a_group(context: RequestContext) -> None:
    """After SaslHandshake v1 ListGroups v0 is refused with ILLEGAL_SASL_STATE, and the refusal names a group."""
    name_a_group(context, ErrorCode.ILLEGAL_SASL_STATE)


@defect(Stage.REACTION, "PROTOCOL.nothing-served-before-authentication", every_api=True)
def topics_are_created_before_authentication(context: RequestContext) -> None:
    """A client that has not authenticated can create topics."""
    header = context.header
    if header is None or context.state is not ConnectionState.BEFORE_HANDSHAKE:
        return
    if header.api_key == CREATE_TOPICS_KEY and header.api_version > 0:
        context.replace_reaction(
            outcome=Outcome.ANSWER,
            kind=AnswerKind.OTHER,
            response_version=header.api_version,
        )


@defect(Stage.REACTION, "MODEL.sequence-agrees", every_api=True)
def a_second_handshake_is_taken(context: RequestContext) -> None:
    """A SaslHandshake v1 after another one is answered without an error."""
    if is_second_handshake(context):
        context.replace_reaction(error_code=ErrorCode.NONE, next_event=None)


@defect(Stage.REACTION, "MODEL.sequence-agrees", every_api=True)
def a_refused_handshake_lists_the_mechanisms(context: RequestContext) -> None:
    """A second SaslHandshake v1 is refused, and the refusal lists the mechanisms."""
    if is_second_handshake(context):
        context.replace_reaction(listing=Listing.EVERYTHING)


@defect(Stage.REACTION, "MODEL.sequence-agrees", every_api=True)
def unlisted_apis_are_closed_on_after_the_handshake(context: RequestContext) -> None:
    """After SaslHandshake v1 an API of controllers closes the connection without ILLEGAL_SASL_STATE."""
    header = context.header
    if header is None or context.state is not ConnectionState.WRAPPED_TOKENS:
        return
    if header.api_key in (VOTE_KEY, BROKER_HEARTBEAT_KEY):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, *SERVED_EARLY, every_api=True)
def groups_are_listed_once_versions_are_told(context: RequestContext) -> None:
    """ListGroups v0 is served after an ApiVersions request, as if that were the authentication."""
    if asks_for(context, LIST_GROUPS_KEY, state=ConnectionState.API_VERSIONS_SERVED):
        context.replace_reaction(outcome=Outcome.ANSWER, kind=AnswerKind.OTHER)


def came_in_by_scram(context: RequestContext) -> bool:
    """Return whether the client has authenticated with SCRAM."""
    authenticated = context.state is ConnectionState.AUTHENTICATED
    return authenticated and context.connection.scram is not None


@defect(Stage.REACTION, "KIP-35.unknown-version-gives-35")
def unknown_versions_are_invalid_behind_scram(context: RequestContext) -> None:
    """After authentication with SCRAM, an unknown version gets INVALID_REQUEST."""
    unknown = context.reaction.error_code is ErrorCode.UNSUPPORTED_VERSION
    if came_in_by_scram(context) and unknown:
        context.replace_reaction(error_code=ErrorCode.INVALID_REQUEST)


def takes_token(context: RequestContext, kind: AnswerKind) -> bool:
    """Return whether a right token of a login is answered that came in this kind of request."""
    reaction = context.reaction
    awaited = context.state in (ConnectionState.BARE_TOKENS, ConnectionState.WRAPPED_TOKENS)
    is_right = reaction.error_code is ErrorCode.NONE and reaction.outcome is Outcome.ANSWER
    return awaited and is_right and reaction.kind is kind


@defect(Stage.REACTION, LOGS_IN, every_api=True)
def bare_tokens_are_read_as_requests(context: RequestContext) -> None:
    """After SaslHandshake v0 a token is read as a request, which no API has, and the connection is closed."""
    if takes_token(context, AnswerKind.BARE_TOKEN):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.ANSWER, LOGS_IN, every_api=True)
def bare_tokens_are_ignored(context: RequestContext) -> None:
    """After SaslHandshake v0, which is answered, tokens get no response and change nothing."""
    if takes_token(context, AnswerKind.BARE_TOKEN):
        context.answer = b""
        context.replace_reaction(next_event=None)


@defect(Stage.REACTION, LOGS_IN, every_api=True)
def only_one_bare_token_is_read(context: RequestContext) -> None:
    """After SaslHandshake v0 the second token, which SCRAM needs, closes the connection."""
    if takes_token(context, AnswerKind.BARE_TOKEN) and context.has_seen("bare token", now=True):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, LOGS_IN, every_api=True)
def flexible_tokens_are_refused(context: RequestContext) -> None:
    """SaslAuthenticate v2 gets SASL_AUTHENTICATION_FAILED although its token is right."""
    if takes_token(context, AnswerKind.SASL_AUTHENTICATE) and context.version == 2:
        context.reaction = refusal_of_token(Token(data=b"", kind=AnswerKind.SASL_AUTHENTICATE, layout=2))


@defect(Stage.REACTION, LOGS_IN, every_api=True)
def logins_with_v1_never_complete(context: RequestContext) -> None:
    """SaslAuthenticate v1 is answered without an error, but the connection still waits for a token."""
    if takes_token(context, AnswerKind.SASL_AUTHENTICATE) and context.version == 1:
        context.replace_reaction(next_event=None)


@defect(Stage.REACTION, *SERVED_EARLY, every_api=True)
def any_bare_token_is_taken(context: RequestContext) -> None:
    """After SaslHandshake v0, a wrong password is accepted."""
    if context.state is ConnectionState.BARE_TOKENS and context.payload.startswith(b"\0"):
        context.reaction = Reaction(
            clause="MODEL.sequence-agrees",
            kind=AnswerKind.BARE_TOKEN,
            next_event=ConnectionEvent.TOKEN_TAKEN,
        )
