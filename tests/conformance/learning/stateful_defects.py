"""Fifteen stateful defects that only this folder plants.

What a connection does depends on what it has seen.

They are no planted defects of the registry, because several clauses would notice each of them by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage, Tampering
from reference_model.broker.rules.connection_states import ConnectionEvent, ConnectionState
from reference_model.broker.rules.reaction import AnswerKind, Listing, Reaction
from reference_model.profiles.listeners import PLAINTEXT, SASL_PLAINTEXT
from wire.api_keys import LIST_GROUPS_KEY, METADATA_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.error_codes import ErrorCode
from wire.exchange import Outcome

Act = Callable[[RequestContext], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulDefect:
    """One defect.

    Attributes:
        tampering: what it does.
        listener: the listener on which it is learned.
        word: the shortest word that shows it.
        extra_states: the smallest bound with which the suite of the model finds it.
    """

    tampering: Tampering
    listener: str
    word: str
    extra_states: int


STATEFUL_DEFECTS: dict[str, StatefulDefect] = {}


def planted(word: str, *, listener: str = PLAINTEXT, extra_states: int = 1) -> Callable[[Act], Act]:
    """Register the decorated function as a defect; `word` has its letters with commas between them."""

    def register(act: Act) -> Act:
        tampering = Tampering(stage=Stage.REACTION, act=act)
        STATEFUL_DEFECTS[act.__name__.replace("_", "-")] = StatefulDefect(
            tampering=tampering, listener=listener, word=word, extra_states=extra_states
        )
        return act

    return register


def _key(context: RequestContext) -> int:
    return -1 if context.header is None else context.header.api_key


def _count(context: RequestContext, what: str, now: bool) -> int:
    """Return how often a connection has seen something before this frame, and count it now."""
    memory = context.connection.memory
    before = int(memory.get(what, 0))
    memory[what] = before + now
    return before


@planted("v0, v0, v0")
def the_third_v0_closes(context: RequestContext) -> None:
    """The third request in v0 closes the connection."""
    is_v0 = _key(context) == 18 and context.version == 0
    if _count(context, "v0", is_v0) == 2 and is_v0:
        context.replace_reaction(outcome=Outcome.CLOSED)


@planted("newest+1, newest+1, newest+1, v0", extra_states=2)
def three_refusals_close(context: RequestContext) -> None:
    """After three refused versions every request closes the connection."""
    if _count(context, "refused", context.refuses_version) >= 3:
        context.replace_reaction(outcome=Outcome.CLOSED)


@planted("newest+1, ListGroups")
def a_refused_version_costs_the_group_lists(context: RequestContext) -> None:
    """After a refused version ListGroups closes the connection."""
    if context.has_seen("r", now=context.refuses_version) and _key(context) == LIST_GROUPS_KEY:
        context.replace_reaction(outcome=Outcome.CLOSED)


@planted("handshake v0, bare token, handshake v1", listener=SASL_PLAINTEXT, extra_states=0)
def a_second_authentication_begins(context: RequestContext) -> None:
    """After authentication SaslHandshake v1 is taken, and tokens are awaited again."""
    is_step = _key(context) == SASL_HANDSHAKE_KEY and context.version == 1
    if context.state is ConnectionState.AUTHENTICATED and is_step:
        context.replace_reaction(
            error_code=ErrorCode.NONE,
            listing=Listing.EVERYTHING,
            next_event=ConnectionEvent.HANDSHAKE_V1,
        )


@planted("handshake v0, bare token, newest+1, handshake v0", listener=SASL_PLAINTEXT, extra_states=0)
def an_unknown_version_costs_the_authentication(context: RequestContext) -> None:
    """After authentication an unknown version sends the connection back to the beginning."""
    if context.state is ConnectionState.AUTHENTICATED and context.refuses_version:
        context.connection.state = ConnectionState.BEFORE_HANDSHAKE


@planted("v3 illegal name, Metadata", listener=SASL_PLAINTEXT)
def a_refused_name_authenticates(context: RequestContext) -> None:
    """Before authentication a refused name lets Metadata be served."""
    refused = context.reaction.error_code is ErrorCode.INVALID_REQUEST
    if context.has_seen("name", now=refused) and _key(context) == METADATA_KEY:
        context.reaction = _answer(AnswerKind.OTHER)


@planted("v3, handshake v0", listener=SASL_PLAINTEXT, extra_states=0)
def v3_hides_the_mechanisms(context: RequestContext) -> None:
    """After v3 a SaslHandshake response lists no mechanisms."""
    is_v3 = _key(context) == 18 and context.version == 3
    if context.has_seen("v3", now=is_v3) and context.reaction.kind is AnswerKind.SASL_HANDSHAKE:
        context.replace_reaction(listing=Listing.NOTHING)


@planted("half the ids, Metadata")
def half_the_ids_cost_the_metadata(context: RequestContext) -> None:
    """After half the ids Metadata closes the connection."""
    half = context.reaction.error_code is ErrorCode.INVALID_REQUEST and context.version == 5
    if context.has_seen("half", now=half) and _key(context) == METADATA_KEY:
        context.replace_reaction(outcome=Outcome.CLOSED)


@planted("Metadata, v2")
def metadata_makes_layouts_old(context: RequestContext) -> None:
    """After Metadata every table has the layout of v0."""
    seen = context.has_seen("metadata", now=_key(context) == METADATA_KEY)
    if seen and context.reaction.listing is Listing.EVERYTHING and _key(context) == 18:
        context.replace_reaction(response_version=0)


@planted("token, token")
def the_second_token_closes(context: RequestContext) -> None:
    """The second SaslAuthenticate on a listener without SASL closes the connection."""
    is_token = _key(context) == SASL_AUTHENTICATE_KEY
    if context.has_seen("token", now=is_token) and is_token:
        context.replace_reaction(outcome=Outcome.CLOSED)


@planted("handshake v0, v0", extra_states=0)
def a_refused_handshake_shortens_the_table(context: RequestContext) -> None:
    """After a refused SaslHandshake the table has only ApiVersions."""
    refused = context.reaction.error_code is ErrorCode.ILLEGAL_SASL_STATE
    if context.has_seen("sasl", now=refused) and context.reaction.listing is Listing.EVERYTHING:
        context.replace_reaction(listing=Listing.ITSELF)


@planted("newest, v0", extra_states=0)
def v0_is_empty_after_the_newest(context: RequestContext) -> None:
    """After the newest version v0 gets an empty table."""
    if context.has_seen("newest", now=context.version == 5) and context.version == 0:
        context.replace_reaction(listing=Listing.NOTHING)


@planted("handshake v1, handshake v0", listener=SASL_PLAINTEXT, extra_states=0)
def a_second_handshake_is_taken(context: RequestContext) -> None:
    """After SaslHandshake v1 another handshake is taken, and a token is still awaited."""
    is_late = context.state is ConnectionState.WRAPPED_TOKENS
    if is_late and _key(context) == SASL_HANDSHAKE_KEY and context.version < 2:
        context.reaction = _answer(AnswerKind.SASL_HANDSHAKE)


@planted("v0, v2", listener=SASL_PLAINTEXT, extra_states=0)
def v2_is_served_after_v0(context: RequestContext) -> None:
    """Before authentication v2 is served after another ApiVersions request."""
    is_late = context.state is ConnectionState.API_VERSIONS_SERVED
    if is_late and _key(context) == 18 and context.version == 2:
        context.reaction = replace(_answer(AnswerKind.API_VERSIONS), response_version=2, listing=Listing.EVERYTHING)


@planted("wrong ids, newest+1")
def misrouting_costs_unknown_versions(context: RequestContext) -> None:
    """After a misrouted request an unknown version closes the connection."""
    misrouted = context.reaction.error_code is ErrorCode.REBOOTSTRAP_REQUIRED
    if context.has_seen("misrouted", now=misrouted) and context.refuses_version:
        context.replace_reaction(outcome=Outcome.CLOSED)


def _answer(kind: AnswerKind) -> Reaction:
    return Reaction(clause="MODEL.sequence-agrees", kind=kind)
