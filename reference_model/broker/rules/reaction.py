"""`Reaction`: one way to treat a request that the oracle allows.

It is a response or another treatment. A `Choice` is the reason why the oracle allows several.

`python -m workflows.documents` writes each `Choice` into `docs/allowed-outcomes.md`. A test walks requests of every
kind over every release, and fails if more than one outcome is allowed without one.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_model.broker.rules.connection_states import ConnectionEvent
from reference_model.broker.rules.request_parser import ParsedBody
from wire.error_codes import ErrorCode
from wire.exchange import Outcome

_EVENT_OF: Mapping[Outcome, ConnectionEvent] = {
    Outcome.ANSWER: ConnectionEvent.SERVED,
    Outcome.IGNORED: ConnectionEvent.SERVED,
    Outcome.SILENT: ConnectionEvent.SWALLOWED,
    Outcome.CLOSED: ConnectionEvent.REFUSED,
}


class Choice(enum.Enum):
    """Why more than one outcome is allowed.

    Attributes:
        reason: in a few words, as failures print it.
        allowed: the outcomes.
        observed: what real brokers did, on which releases.
    """

    reason: str
    allowed: str
    observed: str

    def __init__(self, reason: str, allowed: str, observed: str) -> None:
        self.reason = reason
        self.allowed = allowed
        self.observed = observed

    CLIENT_ID_USED_BEFORE = (
        "only the first request with such a client id is lost, because the broker cannot name its metrics",
        "no response and no close, or the usual response",
        'On 0.11.0.3 the first request whose client id contains a newline or one of `" * , : = ?` is never answered; '
        "later requests with the same id are answered, and so are requests in a version that is not served.",
    )
    IDS_UNKNOWN = (
        "the suite does not know the broker's ids",
        "the table, or REBOOTSTRAP_REQUIRED",
        "The broker at a given address names its cluster id and node id neither in Metadata nor in DescribeCluster, "
        "so the suite does not know whether the ids in a request are right.",
    )
    BODY_MAY_NOT_READ = (
        "if the broker cannot decode the request's body, it closes the connection",
        "ILLEGAL_SASL_STATE and then a close, or only a close",
        "After SaslHandshake v1, releases from 1.0 on refuse a request of another API if they can decode it, and close "
        "the connection if not. The model decodes only a few bodies of other APIs.",
    )
    ENDED_AFTER_FRAME = (
        "the client's end of stream arrives directly after a frame",
        "all responses, or a close without some of them; on 0.10.2 and 0.11 also silence",
        "0.10.0.1 to 2.4.1, after authentication if there is any: which of the two a broker reads first is a race. "
        "Before SASL authentication 22 of 22 requests were answered, and from 2.5 on all are.",
    )
    REFUSED_AFTER_FRAME = (
        "after a frame comes a size that the broker refuses, or a size without its frame and then the end of the stream",
        "the close, with or without the responses before it",
        "0.10.0.1, 0.11.0.3, 1.1.1, 2.0.1 and 2.4.1, after authentication if there is any: the responses were lost 20 of "
        "20 times if both arrived in one read, which TCP does not guarantee. From 2.5 on the responses come first.",
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """One way in which a broker may treat a request.

    Attributes:
        outcome: whether the broker answers, as it does unless this says otherwise, closes, ignores the request, or
            falls silent for good.
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
        rule = f"it cannot decode the request: {self.unreadable}" if self.unreadable else self.clause
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
