"""`Reaction`: one response, or another way to treat a request, that the oracle allows."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_model.broker.rules.choices import Choice
from reference_model.broker.rules.connection_states import ConnectionEvent
from reference_model.broker.rules.request_parser import ParsedBody
from wire.error_codes import ErrorCode
from wire.exchange import Outcome


class NotModelled(Exception):
    """The model does not cover a request, such as one of another API that Kafka may be unable to parse."""


class Listing(enum.Enum):
    """The entries in the version table of a response: none, only ApiVersions itself, or all."""

    NOTHING = "nothing"
    ITSELF = "itself"
    EVERYTHING = "everything"


class AnswerKind(enum.Enum):
    """The kind of request that a response answers."""

    API_VERSIONS = "ApiVersions"
    SASL_HANDSHAKE = "SaslHandshake"
    SASL_AUTHENTICATE = "SaslAuthenticate"
    BARE_TOKEN = "bare token"
    OTHER = "another API"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A broker's cluster id and node id, for the check of KIP-1242; None if unknown."""

    cluster_id: str | None = None
    node_id: int | None = None

    def mismatch(self, body: ParsedBody) -> bool | None:
        """Return whether the ids of a request name another broker; None if that cannot be known."""
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
    """One way in which a broker may treat a request.

    Attributes:
        outcome: whether the broker answers, closes, ignores the request, or falls silent for good.
        clause: id of the clause that the reaction follows from.
        error_code: the error code of the response.
        kind: the kind of request that the response answers.
        response_version: the version of the response's body, which is not always that of the request.
        listing: the entries in the response's version table; in a SaslHandshake response, the mechanisms.
        before_authentication: whether the SASL authenticator answers, not the broker itself.
        next_event: the event that a response causes on the connection; None if the state does not change.
        reason: why other reactions are allowed too; None if this is the only one.
        unreadable: why the broker cannot decode the request; empty if it can. The clause is then only the nearest one.
    """

    outcome: Outcome = Outcome.ANSWER
    clause: str
    error_code: ErrorCode = ErrorCode.NONE
    kind: AnswerKind = AnswerKind.API_VERSIONS
    response_version: int = 0
    listing: Listing = Listing.NOTHING
    before_authentication: bool = False
    next_event: ConnectionEvent | None = None
    reason: Choice | None = None
    unreadable: str = field(default="", compare=False)

    @property
    def event(self) -> ConnectionEvent:
        """The event that the reaction causes on the connection."""
        if self.outcome is Outcome.ANSWER and self.next_event is not None:
            return self.next_event
        return _EVENT_OF[self.outcome]

    def __str__(self) -> str:
        rule = (
            f"it cannot decode the request: {self.unreadable}" if self.unreadable else self.clause
        )
        why = f"{rule}; {self.reason.reason}" if self.reason else rule
        if self.outcome is not Outcome.ANSWER:
            return f"{self.outcome.value} ({why})"
        closes = ", then closed" if self.event is ConnectionEvent.REFUSED else ""
        listing = self.listing.value
        if self.kind is AnswerKind.SASL_HANDSHAKE:
            return f"{self.error_code!r} to {self.kind.value} listing {listing}{closes} ({why})"
        if self.kind is not AnswerKind.API_VERSIONS:
            return f"{self.error_code!r} to {self.kind.value}{closes} ({why})"
        return f"{self.error_code!r} in v{self.response_version} listing {listing}{closes} ({why})"


def closed(clause: str, *, unreadable: str = "") -> Reaction:
    """Return the reaction that closes the connection without a response."""
    return Reaction(outcome=Outcome.CLOSED, clause=clause, unreadable=unreadable)
