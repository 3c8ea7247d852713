"""The reference broker without a socket: it encodes the oracle's preferred reactions, optionally with a defect.

`BrokerConnection` serves one connection with an API like h11's: `receive_data`, `receive_eof`, `data_to_send`. It
uses no clock: when a client is throttled, the connection pauses until `resume` is called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from reference_model.client_software import (
    ClientSoftware,
    Counts,
    Gauge,
    count,
    log_entry,
    software_named,
)
from reference_model.connection_states import (
    SERVING,
    TAKING_REQUESTS,
    TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)
from reference_model.fault_injection import (
    Pause,
    ReceivedBytes,
    RequestContext,
    Stage,
    StreamEnd,
    Tampering,
    TlsOpening,
)
from reference_model.oracle import NO_CREDENTIALS, first_state, reactions
from reference_model.profile import Profile
from reference_model.reaction import AnswerKind, Identity, Listing, NotModelled, Reaction
from reference_model.request_parser import (
    ParsedHeader,
    Unreadable,
    parse_header,
    read_mechanism,
)
from reference_model.responses import (
    answer_of_other_api,
    answers_of_other_apis,
    encode_step,
    response_for,
)
from reference_model.sasl import (
    Authentication,
    Credentials,
    answer_to_token,
    refusal_of_token,
    token_in,
)
from reference_model.scram import SCRAM, SCRAM_MECHANISMS, ScramExchange, ScramRefused
from wire import primitives
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import SOCKET_REQUEST_MAX_BYTES, FrameReader, encode_frame
from wire.sasl import PLAIN

__all__ = [
    "TRANSITIONS",
    "AnswerKind",
    "Authentication",
    "BrokerConnection",
    "ConnectionEvent",
    "ConnectionState",
    "Credentials",
    "Identity",
    "Listing",
    "NotModelled",
    "Pause",
    "Reaction",
    "ReceivedBytes",
    "ReferenceBroker",
    "RequestContext",
    "Stage",
    "StreamEnd",
    "Tampering",
    "TlsOpening",
    "reactions",
    "response_for",
]

THROTTLED_CLIENT_IDS = "throttled"
"""Prefix of client ids that the broker treats as having exhausted their request quota."""
THROTTLE_TIME_MS = 150
RECENT_MOST = 100
"""Of how many client programs Kafka keeps a metric at zero; a planted defect does so as well."""
HANDSHAKES = (ConnectionEvent.HANDSHAKE_V0, ConnectionEvent.HANDSHAKE_V1)
MECHANISMS = (PLAIN, SCRAM)
"""The mechanisms that the reference broker enables on a SASL listener."""


@dataclass(slots=True, kw_only=True)
class ReferenceBroker:
    """The state shared by all connections to one listener of a broker.

    Attributes:
        profile: the release whose behaviour it follows, on that listener.
        identity: its cluster and node id.
        tampering: a planted defect, or None.
        authentication: accepted credentials and mechanisms, for a SASL listener.
        log: called with each entry of the request log; None if there is no log.
        address: the host and port that Metadata and DescribeCluster name.
        connections: the open connections.
        recent: the software that was named last, whether or not a connection of it is open.
    """

    profile: Profile
    identity: Identity
    tampering: Tampering | None = None
    authentication: Authentication = NO_CREDENTIALS
    log: Callable[[dict[str, Any]], None] | None = None
    address: tuple[str, int] = ("", 0)
    connections: list[BrokerConnection] = field(default_factory=list)
    recent: deque[ClientSoftware] = field(default_factory=lambda: deque(maxlen=RECENT_MOST))

    def connect(self) -> BrokerConnection:
        """Open a new connection."""
        connection = BrokerConnection(self)
        self.connections.append(connection)
        return connection

    def preferred(self, payload: bytes, state: ConnectionState | None = None) -> Reaction:
        """Return this broker's reaction to a frame, without its planted defect."""
        try:
            allowed = reactions(
                payload,
                self.profile,
                self.identity,
                state=state,
                authentication=self.authentication,
            )
        except NotModelled:
            return self._reaction_to_other_api(payload)
        return allowed[0]

    def _reaction_to_other_api(self, payload: bytes) -> Reaction:
        header = parse_header(memoryview(payload), self.profile.traits)
        clause = "KIP-35.every-advertised-version-served"
        known = (header.api_key, header.api_version) in answers_of_other_apis()
        return Reaction(
            outcome=Outcome.ANSWER if known else Outcome.CLOSED,
            clause=clause,
            kind=AnswerKind.OTHER,
            response_version=header.api_version,
        )

    def counts(self) -> Counts:
        """Count the open connections by client software, without the planted defect."""
        return count(self.profile.listener, (each.software for each in self.connections))

    def unused_gauges(self) -> list[Gauge]:
        """Return the gauges of the software that was named lately, but has no open connection."""
        counted = self.counts()
        named = (Gauge(self.profile.listener, each) for each in self.recent)
        return [gauge for gauge in named if gauge not in counted]

    def tamper(self, stage: Stage, subject: object) -> None:
        """Let the planted defect act, if there is one for this stage."""
        if self.tampering is not None and self.tampering.stage is stage:
            self.tampering.act(subject)


class BrokerConnection:
    """One connection to the reference broker, without a socket.

    Attributes:
        state: the state of the connection.
        software: the software that its client has announced.
        scram: the SCRAM authentication that the client began or completed; None if there is none.
        pause: the current pause, which lasts until `resume` is called; None if there is none.
        idle_ms: how long the client sent nothing before the current read, in milliseconds, as the owner of the connection
            measured it.
        unwritten: how many bytes the owner has taken from `data_to_send` and not written yet.
        frames: how many frames were handled on the connection.
        frames_of_read: how many of them began in the current read, before the current one.
        memory: data that a planted defect keeps between the frames of this connection.
    """

    def __init__(self, broker: ReferenceBroker) -> None:
        self.state = first_state(broker.profile)
        self.software = ClientSoftware()
        self.scram: ScramExchange | None = None
        self.pause: Pause | None = None
        self.idle_ms = 0
        self.unwritten = 0
        self.frames = 0
        self.frames_of_read = 0
        self.memory: dict[str, Any] = {}
        self._broker = broker
        self._reader = FrameReader(max_frame_bytes=self._frame_bytes_max())
        self._segments = 0
        self._outgoing = bytearray()
        self._ended = False

    def receive_data(self, data: bytes) -> None:
        """Accept bytes from the client; the results are in `data_to_send`, `state` and `pause`."""
        self._segments += 1
        self.frames_of_read = 0
        received = ReceivedBytes(connection=self, unread=self.unread, data=data)
        self._broker.tamper(Stage.BYTES, received)
        self._reader.receive_data(received.data)
        self._handle_frames()

    @property
    def unread(self) -> bytes:
        """The received bytes that are not handled yet."""
        return self._reader.unread

    def receive_eof(self) -> None:
        """Accept the end of the client's stream. Unless the connection pauses, all complete requests were answered before."""
        self._ended = True
        if self.pause is None:
            self._end()

    def receive_reset(self) -> None:
        """Accept a reset of the connection by the client: nothing more can be sent or read."""
        self._broker.tamper(Stage.RESET, StreamEnd(connection=self, unread=self.unread))
        self._move(ConnectionEvent.END_OF_STREAM)

    @property
    def backlog(self) -> int:
        """How many bytes of responses wait for the client to read them."""
        return len(self._outgoing) + self.unwritten

    @property
    def neighbours(self) -> list[BrokerConnection]:
        """Every other open connection to the listener, in the order in which they were opened."""
        return [each for each in self._broker.connections if each is not self]

    def resume(self) -> None:
        """End the pause and process the bytes that arrived during it."""
        assert self.pause is not None
        self._outgoing += self.pause.afterwards
        self.pause = None
        self._handle_frames()
        if self._ended and self.pause is None:
            self._end()

    @property
    def has_unread(self) -> bool:
        """Whether bytes have arrived after the frame that is handled."""
        return bool(self._reader.unread)

    def data_to_send(self) -> bytes:
        """Return the bytes to write, and forget them."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data

    def drop(self) -> None:
        """Close the connection from the broker's side."""
        self._move(ConnectionEvent.END_OF_STREAM)

    def _frame_bytes_max(self) -> int:
        if self.state in SERVING:
            return SOCKET_REQUEST_MAX_BYTES
        return self._broker.profile.traits.sasl_frame_bytes_max

    def _handle_frames(self) -> None:
        """Handle every complete frame received so far."""
        answers: list[bytes] = []
        while self.state in TAKING_REQUESTS and self.pause is None:
            try:
                payload = self._reader.next_payload()
            except DecodeError:
                if self._refuse_size(answers):
                    break
                continue
            if payload is None:
                break
            answers.append(self._handle(payload))
            self.frames += 1
            self.frames_of_read += 1
            self._segments = 1 if self._reader.unread else 0
        self._broker.tamper(Stage.READ, answers)
        self._outgoing += b"".join(answers)

    def _end(self) -> None:
        """Close after the end of the client's stream, unless a defect keeps the connection open."""
        ending = StreamEnd(connection=self, unread=self._reader.unread)
        self._broker.tamper(Stage.END, ending)
        self._outgoing += ending.answer
        if not ending.keeps_open:
            self._move(ConnectionEvent.END_OF_STREAM)

    def _refuse_size(self, answers: list[bytes]) -> bool:
        """Close after an invalid size prefix; return False if a defect skips it and reads on."""
        unread = self._reader.unread
        ending = StreamEnd(connection=self, unread=unread)
        self._broker.tamper(Stage.SIZE, ending)
        answers.append(ending.answer)
        if ending.skipped_bytes:
            self._reader = FrameReader(max_frame_bytes=self._frame_bytes_max())
            self._reader.receive_data(unread[ending.skipped_bytes :])
            return False
        if not ending.keeps_open:
            self._move(ConnectionEvent.REFUSED)
        return True

    def _move(self, event: ConnectionEvent) -> None:
        self.state = TRANSITIONS[self.state, event]
        self._reader.max_frame_bytes = self._frame_bytes_max()
        if self.state is ConnectionState.CLOSED and self in self._broker.connections:
            self._broker.connections.remove(self)

    def _handle(self, payload: bytes) -> bytes:
        broker = self._broker
        context = RequestContext(
            broker=broker,
            connection=self,
            state=self.state,
            payload=payload,
            segments=self._segments,
            header=self._header_of(payload),
            reaction=broker.preferred(payload, self.state),
        )
        if self.scram is not None:
            self._continue_scram(self.scram, context)
        broker.tamper(Stage.REACTION, context)
        if context.reaction.outcome is Outcome.ANSWER:
            self._answer(context)
        broker.tamper(Stage.ANSWER, context)
        if context.reaction.event in HANDSHAKES:
            self._begin_authentication(context)
        self.pause = context.pause
        if self.state is not ConnectionState.CLOSED:
            self._move(context.reaction.event)
        return context.answer

    def _begin_authentication(self, context: RequestContext) -> None:
        assert context.header is not None
        mechanism = read_mechanism(memoryview(context.payload), context.header)
        credentials = self._broker.authentication.credentials
        is_scram = mechanism in SCRAM_MECHANISMS
        self.scram = ScramExchange(credentials, mechanism) if is_scram else None

    def _continue_scram(self, scram: ScramExchange, context: RequestContext) -> None:
        """Process a token with SCRAM, because the oracle has judged it as a token of PLAIN."""
        token = token_in(context.payload, self._broker.profile, context.state)
        if token is None:
            return
        try:
            context.token = scram.answer_to(token.data)
            context.reaction = answer_to_token(token, is_last=scram.is_over)
        except ScramRefused:
            context.reaction = refusal_of_token(token)

    def _header_of(self, payload: bytes) -> ParsedHeader | None:
        if self.state is ConnectionState.BARE_TOKENS:
            return None
        try:
            return parse_header(memoryview(payload), self._broker.profile.traits)
        except Unreadable:
            return None

    def _answer(self, context: RequestContext) -> None:
        """Build the response, write the request log and record the client's software."""
        reaction, header, broker = context.reaction, context.header, self._broker
        if reaction.kind is AnswerKind.OTHER:
            assert header is not None
            body = answer_of_other_api(header, reaction.error_code, broker.identity, broker.address)
            correlation_id = primitives.write_int32(header.correlation_id)
            context.answer = encode_frame(correlation_id + body)
        elif reaction.kind is not AnswerKind.API_VERSIONS:
            context.answer = encode_step(
                reaction, header, broker.authentication.mechanisms, token=context.token
            )
        else:
            self._answer_api_versions(context)
        if header is not None:
            if context.state in SERVING and broker.log is not None:
                entry = log_entry(header, broker.profile.listener, self.software)
                broker.tamper(Stage.LOG, entry)
                broker.log(entry)
            announced = software_named(context.payload, header, broker.profile.traits)
            if announced is not None:
                self.software = announced
                if announced not in broker.recent:
                    broker.recent.append(announced)

    def _answer_api_versions(self, context: RequestContext) -> None:
        response = response_for(context.reaction, self._broker.profile)
        header = context.header
        client_id = "" if header is None else header.client_id or ""
        if context.state in SERVING and client_id.startswith(THROTTLED_CLIENT_IDS):
            context.pause = Pause(milliseconds=THROTTLE_TIME_MS)
            if context.reaction.response_version > 0:
                response = replace(response, throttle_time_ms=THROTTLE_TIME_MS)
        context.response = response
        self._broker.tamper(Stage.RESPONSE, context)
        context.answer = context.encode_answer()
