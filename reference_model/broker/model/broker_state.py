"""State of the reference broker and its connections.

Frames and planted defects change it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reference_model.broker.model.client_software import ClientSoftware, Counts, Gauge, count
from reference_model.broker.model.cluster_features import ClusterFeatures
from reference_model.broker.model.scram import ScramExchange
from reference_model.broker.model.stages import Pause, Stage, Tampering
from reference_model.broker.rules.connection_states import (
    SERVING,
    TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)
from reference_model.broker.rules.oracle import NO_CREDENTIALS, first_state, reactions
from reference_model.broker.rules.reaction import AnswerKind, Identity, NotModelled, Reaction
from reference_model.broker.rules.request_parser import parse_header
from reference_model.broker.rules.sasl import SaslConfiguration
from reference_model.profiles.known_apis import default_answers
from reference_model.profiles.profile import Profile
from wire.exchange import Outcome
from wire.frames import SOCKET_REQUEST_MAX_BYTES, FrameReader

RECENT_MOST = 100
"""Of how many client programs Kafka keeps a metric at zero; a planted defect does so as well."""


@dataclass(slots=True, kw_only=True)
class BrokerState:
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
        opened: how many connections were opened so far.
        memory: data that a planted defect keeps as long as the broker runs.
        features: the levels that were finalized since the start; all nodes and their listeners share them.
    """

    profile: Profile
    identity: Identity
    tampering: Tampering | None = None
    authentication: SaslConfiguration = NO_CREDENTIALS
    log: Callable[[dict[str, Any]], None] | None = None
    address: tuple[str, int] = ("", 0)
    connections: list[OpenConnection] = field(default_factory=list)
    recent: deque[ClientSoftware] = field(default_factory=lambda: deque(maxlen=RECENT_MOST))
    opened: int = 0
    memory: dict[str, Any] = field(default_factory=dict)
    features: ClusterFeatures = field(default_factory=ClusterFeatures)

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
        known = (header.api_key, header.api_version) in default_answers()
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


class OpenConnection:
    """One open connection as planted defects see it: its state, its bytes, and the other connections.

    Attributes:
        number: its number among all that were opened, counted from 1.
        state: the state of the connection.
        software: the software that its client has announced.
        scram: the SCRAM authentication that the client began or completed; None if there is none.
        pause: the current pause, which lasts until `resume` is called; None if there is none.
        idle_ms: how long the client sent nothing before the current read, in milliseconds, as the owner of the
            connection measured it.
        unwritten: how many bytes the owner has taken from `data_to_send` and not written yet.
        frames: how many frames were handled on the connection.
        frames_of_read: how many of them began in the current read, before the current one.
        memory: data that a planted defect keeps between the frames of this connection.
    """

    def __init__(self, broker: BrokerState) -> None:
        broker.opened += 1
        self.number = broker.opened
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

    @property
    def unread(self) -> bytes:
        """The received bytes that are not handled yet: those after the frame that is handled."""
        return self._reader.unread

    @property
    def backlog(self) -> int:
        """How many bytes of responses wait for the client to read them."""
        return len(self._outgoing) + self.unwritten

    @property
    def memory_of_broker(self) -> dict[str, Any]:
        """What a planted defect keeps as long as the broker runs."""
        return self._broker.memory

    @property
    def neighbours(self) -> list[OpenConnection]:
        """Every other open connection to the listener, in the order in which they were opened."""
        return [each for each in self._broker.connections if each is not self]

    @property
    def older(self) -> list[OpenConnection]:
        """Every other open connection that was opened before this one."""
        every = self._broker.connections
        return every[: every.index(self)] if self in every else []

    def drop(self) -> None:
        """Close the connection from the broker's side."""
        self._move(ConnectionEvent.END_OF_STREAM)

    def _frame_bytes_max(self) -> int:
        if self.state in SERVING:
            return SOCKET_REQUEST_MAX_BYTES
        return self._broker.profile.traits.sasl_frame_bytes_max

    def _move(self, event: ConnectionEvent) -> None:
        self.state = TRANSITIONS[self.state, event]
        self._reader.max_frame_bytes = self._frame_bytes_max()
        if self.state is ConnectionState.CLOSED and self in self._broker.connections:
            self._broker.connections.remove(self)
