"""The reference broker without a socket.

It encodes the oracle's preferred reactions, optionally with a defect.

`BrokerConnection` serves one connection with an API like h11's: `receive_data`, `receive_eof`, `data_to_send`. It
uses no clock: when a client is throttled, the connection pauses until `resume` is called.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reference_model.broker.model.broker_state import BrokerState, OpenConnection
from reference_model.broker.model.client_software import log_entry, software_named
from reference_model.broker.model.fault_injection import ReceivedBytes, RequestContext, StreamEnd
from reference_model.broker.model.scram import SCRAM, SCRAM_MECHANISMS, ScramExchange, ScramRefused
from reference_model.broker.model.stages import Pause, Stage
from reference_model.broker.rules.connection_states import (
    SERVING,
    TAKING_REQUESTS,
    ConnectionEvent,
    ConnectionState,
)
from reference_model.broker.rules.reaction import AnswerKind
from reference_model.broker.rules.request_parser import (
    ParsedHeader,
    Unreadable,
    parse_header,
    read_mechanism,
)
from reference_model.broker.rules.responses import answer_of_other_api, encode_step, response_for
from reference_model.broker.rules.sasl import answer_to_token, refusal_of_token, token_in
from wire import primitives
from wire.api_keys import UPDATE_FEATURES_KEY
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import FrameReader, encode_frame
from wire.sasl import PLAIN

THROTTLED_CLIENT_IDS = "throttled"
"""Prefix of client ids that the broker treats as having exhausted their request quota."""
THROTTLE_TIME_MS = 150
HANDSHAKES = (ConnectionEvent.HANDSHAKE_V0, ConnectionEvent.HANDSHAKE_V1)
MECHANISMS = (PLAIN, SCRAM)
"""The mechanisms that the reference broker enables on a SASL listener."""


@dataclass(slots=True, kw_only=True)
class ReferenceBroker(BrokerState):
    """The reference broker: it opens connections that share its state."""

    def connect(self) -> BrokerConnection:
        """Open a new connection."""
        connection = BrokerConnection(self)
        self.connections.append(connection)
        return connection


class BrokerConnection(OpenConnection):
    """One connection to the reference broker, without a socket: what its owner calls when bytes arrive."""

    def receive_data(self, data: bytes) -> None:
        """Accept bytes from the client; the results are in `data_to_send`, `state` and `pause`."""
        self._segments += 1
        self.frames_of_read = 0
        received = ReceivedBytes(connection=self, unread=self.unread, data=data)
        self._broker.tamper(Stage.BYTES, received)
        self._reader.receive_data(received.data)
        self._handle_frames()

    def receive_eof(self) -> None:
        """Accept the end of the client's stream.

        All complete requests are already answered, unless the connection pauses.
        """
        self._ended = True
        if self.pause is None:
            self._end()

    def receive_reset(self) -> None:
        """Accept a reset of the connection by the client: nothing more can be sent or read."""
        self._broker.tamper(Stage.RESET, StreamEnd(connection=self, unread=self.unread))
        self._move(ConnectionEvent.END_OF_STREAM)

    def resume(self) -> None:
        """End the pause and process the bytes that arrived during it."""
        assert self.pause is not None
        self._outgoing += self.pause.afterwards
        self.pause = None
        self._handle_frames()
        if self._ended and self.pause is None:
            self._end()

    def data_to_send(self) -> bytes:
        """Return the bytes to write, and forget them."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data

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
            if header.api_key == UPDATE_FEATURES_KEY:
                self._finalize(header, context.payload)
            body = answer_of_other_api(header, reaction.error_code, broker.identity, broker.address)
            correlation_id = primitives.write_int32(header.correlation_id)
            context.answer = encode_frame(correlation_id + body)
        elif reaction.kind is not AnswerKind.API_VERSIONS:
            context.answer = encode_step(reaction, header, broker.authentication.mechanisms, token=context.token)
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

    def _finalize(self, header: ParsedHeader, payload: bytes) -> None:
        broker = self._broker
        levels = {each.name: each.max_version_level for each in broker.profile.finalized_features}
        broker.features.update(payload, header.api_version, levels)

    def _answer_api_versions(self, context: RequestContext) -> None:
        response = self._broker.features.listed_in(response_for(context.reaction, self._broker.profile))
        if context.state in SERVING and context.client_id.startswith(THROTTLED_CLIENT_IDS):
            context.pause = Pause(milliseconds=THROTTLE_TIME_MS)
            if context.reaction.response_version > 0:
                response = replace(response, throttle_time_ms=THROTTLE_TIME_MS)
        context.response = response
        self._broker.tamper(Stage.RESPONSE, context)
        context.answer = context.encode_answer()
