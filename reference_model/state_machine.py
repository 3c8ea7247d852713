"""The oracle: what a broker of a release may do with each request, as a pure state machine.

Two rules, for this module and everything it imports:
- it sees bytes, and gives bytes and decisions: no socket, no clock, no chance;
- where a broker really has a choice, `reactions` gives every allowed one, the preferred one first, each with
  the clause it rests on; it never guesses.

`BrokerConnection` serves one connection the way h11 does: `receive_data`, `receive_eof`, `data_to_send`. How a
connection moves on stands in `TRANSITIONS` and nowhere else.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reference_model.profile import Profile
from reference_model.request_parser import (
    ParsedBody,
    ParsedHeader,
    Unreadable,
    parse_body,
    parse_header,
)
from wire.api_versions import (
    API_VERSIONS_KEY,
    FIRST_FLEXIBLE_VERSION,
    ApiVersion,
    ApiVersionsResponse,
)
from wire.codec import encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import FrameReader, encode_frame
from wire.headers import ResponseHeader

SOCKET_REQUEST_MAX_BYTES = 104857600
FIRST_VERSION_WITH_ZERO_MINIMUM_FEATURES = 4


class NotModelled(Exception):
    """The model has no word on a request: it is one of another API than ApiVersions."""


class Listing(enum.Enum):
    """Which entries the table of an answer has."""

    NOTHING = "nothing"
    ITSELF = "itself"
    EVERYTHING = "everything"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """One thing that a broker may do with a request.

    Attributes:
        outcome: whether it answers, closes, ignores the request, or falls silent for good.
        clause: id of the clause that the reaction rests on.
        error_code: of the answer.
        layout: version of ApiVersions in which the answer's body is written.
        listing: which entries the answer's table has.
    """

    outcome: Outcome
    clause: str
    error_code: ErrorCode = ErrorCode.NONE
    layout: int = 0
    listing: Listing = Listing.NOTHING

    def __str__(self) -> str:
        if self.outcome is not Outcome.ANSWER:
            return f"{self.outcome.value} ({self.clause})"
        return f"{self.error_code!r} in v{self.layout} listing {self.listing.value} ({self.clause})"


def _answer(clause: str, error_code: ErrorCode, layout: int, listing: Listing) -> Reaction:
    return Reaction(
        outcome=Outcome.ANSWER,
        clause=clause,
        error_code=error_code,
        layout=layout,
        listing=listing,
    )


def reactions(payload: bytes, profile: Profile, identity: Identity) -> tuple[Reaction, ...]:
    """Return everything that a broker may do with one frame, the preferred reaction first.

    Args:
        payload: the frame without its size prefix.
        profile: the release.
        identity: who the broker is.

    Raises:
        NotModelled: the request is a readable one of another API.
    """
    traits = profile.traits
    if len(payload) < 2 and traits.short_frame_ignored:
        return (Reaction(outcome=Outcome.IGNORED, clause="PROTOCOL.short-frame-refused"),)
    data = memoryview(payload)
    try:
        header = parse_header(data, traits)
    except Unreadable:
        return (Reaction(outcome=Outcome.CLOSED, clause="PROTOCOL.short-frame-refused"),)
    if header.api_key != API_VERSIONS_KEY:
        return _reactions_to_other_api(header, profile)
    if not 0 <= header.api_version <= traits.api_versions_max:
        listing = Listing.ITSELF if traits.unsupported_names_range else Listing.NOTHING
        clause = "KIP-511.unsupported-version-answered-in-v0"
        return (_answer(clause, ErrorCode.UNSUPPORTED_VERSION, 0, listing),)
    forbidden = traits.unanswered_client_ids
    if forbidden and re.search(forbidden, header.client_id or ""):
        return (Reaction(outcome=Outcome.SILENT, clause="PROTOCOL.client-id-free"),)
    if header.api_version < FIRST_FLEXIBLE_VERSION:
        return (_success(header),)
    try:
        body = parse_body(data, header, traits)
    except Unreadable:
        return (Reaction(outcome=Outcome.CLOSED, clause="KIP-511.null-name-refused"),)
    return _reactions_to_names_and_ids(header, body, identity)


def _success(header: ParsedHeader) -> Reaction:
    clause = "KIP-35.same-table-at-every-version"
    return _answer(clause, ErrorCode.NONE, header.api_version, Listing.EVERYTHING)


def _reactions_to_other_api(header: ParsedHeader, profile: Profile) -> tuple[Reaction, ...]:
    served = next((e for e in profile.api_keys if e.api_key == header.api_key), None)
    if served is not None and served.min_version <= header.api_version <= served.max_version:
        raise NotModelled(f"api key {header.api_key} v{header.api_version} is not modelled")
    return (Reaction(outcome=Outcome.CLOSED, clause="PROTOCOL.unknown-api-refused"),)


def _reactions_to_names_and_ids(
    header: ParsedHeader, body: ParsedBody, identity: Identity
) -> tuple[Reaction, ...]:
    version = header.api_version
    if body.ids_are_half_given or not body.name_is_valid:
        clause = "KIP-511.refusal-in-request-version"
        return (_answer(clause, ErrorCode.INVALID_REQUEST, version, Listing.NOTHING),)
    wrong_ids = _answer(
        "KIP-1242.refusal-shape", ErrorCode.REBOOTSTRAP_REQUIRED, version, Listing.NOTHING
    )
    mismatch = identity.mismatch(body)
    if mismatch is None:
        return (_success(header), wrong_ids)
    return (wrong_ids,) if mismatch else (_success(header),)


def response_for(reaction: Reaction, profile: Profile) -> ApiVersionsResponse:
    """Return the body that a broker of this release answers with."""
    if reaction.listing is Listing.ITSELF:
        table: tuple[ApiVersion, ...] = (profile.own_range,)
    elif reaction.listing is Listing.EVERYTHING:
        table = profile.api_keys
    else:
        table = ()
    if reaction.listing is not Listing.EVERYTHING or reaction.layout < FIRST_FLEXIBLE_VERSION:
        return ApiVersionsResponse(error_code=reaction.error_code, api_keys=table)
    zero_allowed = reaction.layout >= FIRST_VERSION_WITH_ZERO_MINIMUM_FEATURES
    return ApiVersionsResponse(
        error_code=reaction.error_code,
        api_keys=table,
        supported_features=tuple(
            feature
            for feature in profile.supported_features
            if zero_allowed or feature.min_version > 0
        ),
        finalized_features_epoch=0 if profile.finalized_features else -1,
        finalized_features=profile.finalized_features,
    )


class ConnectionState(enum.Enum):
    """Where a connection stands: open, dead (neither answered nor closed), or closed."""

    OPEN = "open"
    DEAD = "dead"
    CLOSED = "closed"


class ConnectionEvent(enum.Enum):
    """What can happen to a connection."""

    SERVED = "served"
    SWALLOWED = "swallowed"
    REFUSED = "refused"
    END_OF_STREAM = "end of stream"


TRANSITIONS: Mapping[tuple[ConnectionState, ConnectionEvent], ConnectionState] = {
    (ConnectionState.OPEN, ConnectionEvent.SERVED): ConnectionState.OPEN,
    (ConnectionState.OPEN, ConnectionEvent.SWALLOWED): ConnectionState.DEAD,
    (ConnectionState.OPEN, ConnectionEvent.REFUSED): ConnectionState.CLOSED,
    (ConnectionState.OPEN, ConnectionEvent.END_OF_STREAM): ConnectionState.CLOSED,
    (ConnectionState.DEAD, ConnectionEvent.END_OF_STREAM): ConnectionState.CLOSED,
    (ConnectionState.CLOSED, ConnectionEvent.END_OF_STREAM): ConnectionState.CLOSED,
}
"""Every move that exists; any other is a bug of ours and raises KeyError."""

_EVENT_OF: Mapping[Outcome, ConnectionEvent] = {
    Outcome.ANSWER: ConnectionEvent.SERVED,
    Outcome.IGNORED: ConnectionEvent.SERVED,
    Outcome.SILENT: ConnectionEvent.SWALLOWED,
    Outcome.CLOSED: ConnectionEvent.REFUSED,
}


@dataclass(slots=True, kw_only=True)
class Handling:
    """One frame on its way through the reference broker; a planted defect changes it at one stage.

    Attributes:
        broker: the broker that serves the connection.
        connection: the connection that the frame came on.
        payload: the frame without its size prefix.
        segments: in how many pieces the frame arrived.
        header: what was read of the header; None where it is unreadable.
        reaction: what the broker does.
        response: the answer's body; None where there is none.
        answer: the answer's frame; empty where there is none.
    """

    broker: ReferenceBroker
    connection: BrokerConnection
    payload: bytes
    segments: int
    header: ParsedHeader | None
    reaction: Reaction
    response: ApiVersionsResponse | None = None
    answer: bytes = b""

    def encode_answer(
        self,
        *,
        layout: int | None = None,
        header_version: int = 0,
        raw: Mapping[str, bytes] | None = None,
    ) -> bytes:
        """Return the frame of the answer there is; a defect asks for another form than the right one."""
        assert self.header is not None
        assert self.response is not None
        header = ResponseHeader(correlation_id=self.header.correlation_id)
        version = self.reaction.layout if layout is None else layout
        body = encode(self.response, version=version, raw=raw)
        return encode_frame(encode(header, version=header_version) + body)


class Stage(enum.Enum):
    """When a planted defect acts: on the decision, on the message, on the bytes, on all answers of a read."""

    REACTION = "reaction"
    RESPONSE = "response"
    ANSWER = "answer"
    READ = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tampering:
    """What a planted defect does; the three first stages get a `Handling`, the last all answers of a read."""

    stage: Stage
    act: Callable[[Any], None]


@dataclass(slots=True, kw_only=True)
class ReferenceBroker:
    """What all connections of one broker share.

    Attributes:
        profile: the release that it behaves as.
        identity: its cluster and node id.
        tampering: a planted defect, where there is one.
        connections: those that are open.
    """

    profile: Profile
    identity: Identity
    tampering: Tampering | None = None
    connections: list[BrokerConnection] = field(default_factory=list)

    def connect(self) -> BrokerConnection:
        """Open one more connection."""
        connection = BrokerConnection(self)
        self.connections.append(connection)
        return connection

    def preferred(self, payload: bytes) -> Reaction:
        """Return what this broker does with a frame, planted defects apart."""
        try:
            return reactions(payload, self.profile, self.identity)[0]
        except NotModelled:
            # The reference broker serves nothing but ApiVersions, whatever its table says.
            return Reaction(outcome=Outcome.CLOSED, clause="PROTOCOL.unknown-api-refused")

    def tamper(self, stage: Stage, subject: Handling | list[bytes]) -> None:
        """Let the planted defect act, if there is one for this stage."""
        if self.tampering is not None and self.tampering.stage is stage:
            self.tampering.act(subject)


class BrokerConnection:
    """One connection to the reference broker, without a socket.

    Attributes:
        state: where the connection stands.
        memory: what a planted defect keeps between the frames of this connection.
    """

    def __init__(self, broker: ReferenceBroker) -> None:
        self.state = ConnectionState.OPEN
        self.memory: dict[str, Any] = {}
        self._broker = broker
        self._reader = FrameReader(max_frame_bytes=SOCKET_REQUEST_MAX_BYTES)
        self._segments = 0
        self._outgoing = bytearray()

    def receive_data(self, data: bytes) -> None:
        """Take bytes from the client; what they lead to shows in `data_to_send` and `state`."""
        self._segments += 1
        self._reader.receive_data(data)
        answers: list[bytes] = []
        while self.state is ConnectionState.OPEN:
            try:
                payload = self._reader.next_payload()
            except DecodeError:
                self._move(ConnectionEvent.REFUSED)
                break
            if payload is None:
                break
            answers.append(self._handle(payload))
            self._segments = 1 if self._reader.unread else 0
        self._broker.tamper(Stage.READ, answers)
        self._outgoing += b"".join(answers)

    def receive_eof(self) -> None:
        """Take the end of the client's stream; what was complete has been answered before it."""
        self._move(ConnectionEvent.END_OF_STREAM)

    def data_to_send(self) -> bytes:
        """Return what is to be written, once."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data

    def drop(self) -> None:
        """Close the connection from the broker's side."""
        if self.state is not ConnectionState.CLOSED:
            self._move(ConnectionEvent.END_OF_STREAM)

    def _move(self, event: ConnectionEvent) -> None:
        self.state = TRANSITIONS[self.state, event]
        if self.state is ConnectionState.CLOSED and self in self._broker.connections:
            self._broker.connections.remove(self)

    def _handle(self, payload: bytes) -> bytes:
        broker = self._broker
        try:
            header: ParsedHeader | None = parse_header(memoryview(payload), broker.profile.traits)
        except Unreadable:
            header = None
        handling = Handling(
            broker=broker,
            connection=self,
            payload=payload,
            segments=self._segments,
            header=header,
            reaction=broker.preferred(payload),
        )
        broker.tamper(Stage.REACTION, handling)
        if handling.reaction.outcome is Outcome.ANSWER:
            handling.response = response_for(handling.reaction, broker.profile)
            broker.tamper(Stage.RESPONSE, handling)
            handling.answer = handling.encode_answer()
        broker.tamper(Stage.ANSWER, handling)
        if self.state is ConnectionState.OPEN:
            self._move(_EVENT_OF[handling.reaction.outcome])
        return handling.answer
