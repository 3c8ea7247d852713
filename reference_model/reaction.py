"""What a broker may do with one request: a `Reaction`, the oracle's unit of speech."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from reference_model.choices import Choice
from reference_model.connection_states import ConnectionEvent
from reference_model.request_parser import ParsedBody
from wire.error_codes import ErrorCode
from wire.exchange import Outcome


class NotModelled(Exception):
    """The model has no word on a request: it is one of another API than ApiVersions, and may not read."""


class Listing(enum.Enum):
    """Which entries the table of an answer has."""

    NOTHING = "nothing"
    ITSELF = "itself"
    EVERYTHING = "everything"


class AnswerKind(enum.Enum):
    """What an answer is an answer to."""

    API_VERSIONS = "ApiVersions"
    SASL_HANDSHAKE = "SaslHandshake"
    SASL_AUTHENTICATE = "SaslAuthenticate"
    BARE_TOKEN = "bare token"
    OTHER = "another API"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a broker is, for the check of KIP-1242; None where we do not know."""

    cluster_id: str | None = None
    node_id: int | None = None

    def mismatch(self, body: ParsedBody) -> bool | None:
        """Tell whether the ids of a request name another broker; None where we cannot know."""
        if body.cluster_id is None:
            return False
        if self.cluster_id is None or self.node_id is None:
            return None
        return (body.cluster_id, body.node_id) != (self.cluster_id, self.node_id)


_EVENT_OF: Mapping[Outcome, ConnectionEvent] = {
    Outcome.ANSWER: ConnectionEvent.SERVED,
    Outcome.IGNORED: ConnectionEvent.SERVED,
    Outcome.SILENT: ConnectionEvent.SWALLOWED,
    Outcome.CLOSED: ConnectionEvent.REFUSED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """One thing that a broker may do with a request.

    Attributes:
        outcome: whether it answers, closes, ignores the request, or falls silent for good.
        clause: id of the clause that the reaction rests on.
        error_code: of the answer.
        kind: what the answer is an answer to.
        layout: version of the API in which the answer's body is written.
        listing: which entries the answer's table has; of a SaslHandshake answer, whether it lists the mechanisms.
        before_authentication: whether the SASL authenticator answers, rather than the broker itself.
        moves: what an answer does to the connection, where that is not nothing.
        reason: why it is not the only one that is allowed; None if it is.
    """

    outcome: Outcome
    clause: str
    error_code: ErrorCode = ErrorCode.NONE
    kind: AnswerKind = AnswerKind.API_VERSIONS
    layout: int = 0
    listing: Listing = Listing.NOTHING
    before_authentication: bool = False
    moves: ConnectionEvent | None = None
    reason: Choice | None = None

    @property
    def event(self) -> ConnectionEvent:
        """What the reaction does to the connection."""
        if self.outcome is Outcome.ANSWER and self.moves is not None:
            return self.moves
        return _EVENT_OF[self.outcome]

    def __str__(self) -> str:
        why = f"{self.clause}; {self.reason.reason}" if self.reason else self.clause
        if self.outcome is not Outcome.ANSWER:
            return f"{self.outcome.value} ({why})"
        closes = ", then closed" if self.event is ConnectionEvent.REFUSED else ""
        listing = self.listing.value
        if self.kind is AnswerKind.SASL_HANDSHAKE:
            return f"{self.error_code!r} to {self.kind.value} listing {listing}{closes} ({why})"
        if self.kind is not AnswerKind.API_VERSIONS:
            return f"{self.error_code!r} to {self.kind.value}{closes} ({why})"
        return f"{self.error_code!r} in v{self.layout} listing {listing}{closes} ({why})"


def closed(clause: str) -> Reaction:
    """Return the reaction that closes the connection without a word."""
    return Reaction(outcome=Outcome.CLOSED, clause=clause)
