"""Defects that depend on what else a connection carries.

This is other frames of the same write, or bytes after a frame.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from reference_model.broker.model.fault_injection import ReceivedBytes, RequestContext, StreamEnd
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.connection_states import ConnectionEvent, ConnectionState
from reference_model.broker.rules.reaction import AnswerKind, Reaction
from reference_model.faults.broker.registry import CORRELATION_ID, defect
from wire.api_keys import METADATA_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame, read_size
from wire.headers import CLIENT_ID_LENGTH_END, CLIENT_ID_OFFSET

CLIENT_ID_END = slice(SIZE_BYTES + CLIENT_ID_OFFSET, SIZE_BYTES + CLIENT_ID_LENGTH_END)

MANY_FRAMES = 45
MANY_TOGETHER = 5
MAX_QUEUE = 32
SEND_BUFFER_BYTES = 16 << 10
MANY_UNUSED = 25
MANY_ALIKE = 9
LONG_PAUSE_MS = 300
SHORT_PAUSE_MS = 30
IDLE_LIMIT_MS = 2000
MANY_MALFORMED = 30
MANY_RESETS = 20
LOST = 13
"""Of so many connections one is lost."""


def _cut_at(received: ReceivedBytes) -> int | None:
    """Return the size of the first frame of a read, if the read has bytes after that frame; else None."""
    size = read_size(received.data)
    is_cut = not received.unread and 0 <= size < len(received.data) - SIZE_BYTES
    return size if is_cut else None


def _client_id_end(data: bytes) -> int:
    """Return the offset in the payload at which the client id of the first frame ends."""
    return CLIENT_ID_LENGTH_END + max(int.from_bytes(data[CLIENT_ID_END], signed=True), 0)


@defect(Stage.BYTES, "PROTOCOL.size-prefix-decides")
def a_size_inside_the_client_id_is_corrected(received: ReceivedBytes) -> None:
    """If a size ends inside the client id, all bytes of the read are taken for the request."""
    size = _cut_at(received)
    if size is not None and CLIENT_ID_LENGTH_END <= size < _client_id_end(received.data):
        received.data = encode_frame(received.data[SIZE_BYTES:])


@defect(Stage.BYTES, "PROTOCOL.size-prefix-decides")
def a_client_id_is_read_beyond_its_frame(received: ReceivedBytes) -> None:
    """If a size ends inside the client id, its rest is read from the bytes after the frame.

    Those bytes also begin the next frame.
    """
    size = _cut_at(received)
    if size is not None and CLIENT_ID_LENGTH_END <= size < _client_id_end(received.data):
        end = SIZE_BYTES + _client_id_end(received.data)
        received.data = encode_frame(received.data[SIZE_BYTES:end]) + received.data[SIZE_BYTES + size :]


@defect(Stage.REACTION, "PROTOCOL.size-prefix-decides")
def a_cut_body_takes_what_follows(context: RequestContext) -> None:
    """If a flexible body is cut and another request follows, the cut one is answered as complete."""
    version = context.unread_version
    if version is not None and context.header is not None and len(context.connection.unread) > 40:
        context.reaction = Reaction(
            clause="PROTOCOL.size-prefix-decides",
            kind=AnswerKind.API_VERSIONS,
            response_version=0,
        )


@defect(Stage.SIZE, "MODEL.sequence-agrees")
def a_refused_size_after_a_request_is_skipped(ending: StreamEnd) -> None:
    """A refused size that follows a request costs the rest of the read, but not the connection."""
    if ending.connection.frames_of_read:
        ending.skipped_bytes = len(ending.unread)


@defect(Stage.REACTION, "MODEL.sequence-agrees", every_api=True)
def a_malformed_request_among_others_is_skipped(context: RequestContext) -> None:
    """A request that would close the connection is skipped if others arrived before and after it."""
    is_among_others = context.connection.frames_of_read and context.connection.unread
    if is_among_others and context.reaction.outcome is Outcome.CLOSED:
        context.replace_reaction(outcome=Outcome.IGNORED, next_event=None)


@defect(Stage.REACTION, "MODEL.sequence-agrees", "PROTOCOL.answers-in-order", every_api=True)
def other_apis_among_pipelined_requests_close(context: RequestContext) -> None:
    """Metadata that arrives between two other requests closes the connection."""
    is_among_others = context.connection.frames_of_read and context.connection.unread
    if is_among_others and context.header is not None and context.header.api_key == METADATA_KEY:
        context.replace_reaction(outcome=Outcome.CLOSED)


def _is_unreadable_step(context: RequestContext, api_key: int) -> bool:
    header = context.header
    is_step = header is not None and header.api_key == api_key and header.api_version >= 0
    return is_step and context.reaction.outcome is Outcome.CLOSED


@defect(Stage.REACTION, "MODEL.sequence-agrees", every_api=True)
def a_null_mechanism_is_unsupported(context: RequestContext) -> None:
    """Before authentication, a SaslHandshake with an unreadable mechanism gets UNSUPPORTED_SASL_MECHANISM.

    The connection stays open.
    """
    if context.state is ConnectionState.BEFORE_HANDSHAKE and _is_unreadable_step(context, SASL_HANDSHAKE_KEY):
        context.reaction = Reaction(
            clause="MODEL.sequence-agrees",
            error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            kind=AnswerKind.SASL_HANDSHAKE,
            response_version=0,
        )


@defect(Stage.REACTION, "MODEL.sequence-agrees", every_api=True)
def a_null_token_is_a_wrong_one(context: RequestContext) -> None:
    """A SaslAuthenticate without a readable token gets SASL_AUTHENTICATION_FAILED before the close."""
    if context.state is ConnectionState.WRAPPED_TOKENS and _is_unreadable_step(context, SASL_AUTHENTICATE_KEY):
        context.reaction = Reaction(
            clause="MODEL.sequence-agrees",
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
            kind=AnswerKind.SASL_AUTHENTICATE,
            response_version=context.version,
            next_event=ConnectionEvent.REFUSED,
        )


@defect(Stage.REACTION, "MODEL.sequence-agrees", every_api=True)
def tags_cost_the_authentication(context: RequestContext) -> None:
    """A right token in a SaslAuthenticate request that ends with tagged fields is refused."""
    reaction = context.reaction
    taken = reaction.next_event is ConnectionEvent.TOKEN_TAKEN
    if taken and reaction.response_version > 1 and not context.payload.endswith(b"secret\0"):
        context.reaction = replace(
            reaction,
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
            next_event=ConnectionEvent.REFUSED,
        )


def _is_long(context: RequestContext) -> bool:
    """Return whether a successful response comes after many others on its connection."""
    return context.connection.frames >= MANY_FRAMES and context.succeeds


@defect(Stage.RESPONSE, "KIP-35.same-table-at-every-version")
def a_long_connection_loses_an_entry(context: RequestContext) -> None:
    """After 45 requests on a connection the table lacks its last entry."""
    if _is_long(context):
        context.replace_response(api_keys=context.message.api_keys[:-1])


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def a_long_connection_loses_a_feature(context: RequestContext) -> None:
    """After 45 requests on a connection one finalized feature is missing."""
    if _is_long(context):
        finalized = context.message.finalized_features
        context.replace_response(finalized_features=finalized[:-1])


@defect(Stage.RESPONSE, "FEATURES.same-on-repeat")
def a_connection_keeps_the_features_of_its_oldest_version(context: RequestContext) -> None:
    """Once a connection was answered in v3, its responses in v4 leave out what v3 leaves out."""
    version = context.reaction.response_version if context.succeeds else 0
    had_v3 = context.has_seen("v3", now=version == FIRST_FLEXIBLE_VERSION)
    if had_v3 and version > FIRST_FLEXIBLE_VERSION:
        shown = tuple(each for each in context.message.supported_features if each.min_version > 0)
        context.replace_response(supported_features=shown)


@defect(Stage.READ, "PROTOCOL.answers-in-order")
def equal_ids_get_the_last_response(answers: list[bytes]) -> None:
    """Of five or more requests in one read, all with equal correlation ids get the response to the last."""
    if len(answers) >= MANY_TOGETHER:
        latest = {answer[CORRELATION_ID]: answer for answer in answers}
        answers[:] = [latest[answer[CORRELATION_ID]] for answer in answers]


@defect(Stage.READ, "PROTOCOL.answers-in-order")
def equal_ids_are_answered_once(answers: list[bytes]) -> None:
    """Of five or more requests that arrive together, those with equal correlation ids get one response."""
    if len(answers) >= MANY_TOGETHER:
        first = {answer[CORRELATION_ID]: answer for answer in reversed(answers)}
        answers[:] = [each for each in answers if first.get(each[CORRELATION_ID]) is each]


@defect(Stage.READ, "PROTOCOL.answers-in-order")
def the_last_of_a_long_pipeline_is_lost(answers: list[bytes]) -> None:
    """Of more than 32 requests that arrive together, the last ones are not answered."""
    if len(answers) > MAX_QUEUE:
        del answers[MAX_QUEUE:]


def _close_neighbours(ending: StreamEnd) -> None:
    for connection in ending.connection.neighbours:
        connection.drop()


@defect(Stage.RESET, "PROTOCOL.malformed-hurts-nobody")
def a_reset_inside_a_frame_closes_the_others(ending: StreamEnd) -> None:
    """A client that resets its connection inside a frame costs all others theirs."""
    if ending.unread:
        _close_neighbours(ending)


@defect(Stage.RESET, "PROTOCOL.malformed-hurts-nobody")
def responses_that_are_not_read_close_the_others(ending: StreamEnd) -> None:
    """A client that closes its connection before it reads two responses costs all others theirs."""
    if ending.connection.frames > 1 and ending.connection.backlog:
        _close_neighbours(ending)


def _ban_after_many_malformed(context: RequestContext, outcome: Outcome) -> None:
    """After many malformed requests, give all requests on newer connections this outcome.

    It lasts as long as one connection that was open then stays open.
    """
    memory, connection = context.broker.memory, context.connection
    banned_from, witnesses = memory.get("ban", (connection.number, ()))
    if connection.number > banned_from:
        if any(each in context.broker.connections for each in witnesses):
            context.replace_reaction(outcome=outcome)
            return
        del memory["ban"]
    if context.reaction.outcome is Outcome.CLOSED:
        memory["malformed"] = memory.get("malformed", 0) + 1
        if memory["malformed"] >= MANY_MALFORMED and "ban" not in memory:
            memory["malformed"] = 0
            if connection.neighbours:
                memory["ban"] = (context.broker.opened, connection.neighbours)


@defect(Stage.REACTION, "PROTOCOL.malformed-hurts-nobody", every_api=True)
def thirty_malformed_requests_close_new_connections(context: RequestContext) -> None:
    """After thirty malformed requests new connections are closed, until those that were open then have ended."""
    _ban_after_many_malformed(context, Outcome.CLOSED)


@defect(Stage.REACTION, "PROTOCOL.malformed-hurts-nobody", every_api=True)
def thirty_malformed_requests_silence_new_connections(context: RequestContext) -> None:
    """After thirty malformed requests new connections are not served, until those that were open then have ended."""
    _ban_after_many_malformed(context, Outcome.SILENT)


@defect(Stage.RESET, "PROTOCOL.malformed-hurts-nobody")
def the_twentieth_reset_inside_a_frame_closes_the_others(ending: StreamEnd) -> None:
    """Every twentieth client that resets its connection inside a frame costs all others theirs."""
    if ending.unread:
        count = ending.connection.memory_of_broker["resets"] = ending.connection.memory_of_broker.get("resets", 0) + 1
        if count % MANY_RESETS == 0:
            _close_neighbours(ending)


@defect(Stage.BYTES, "PROTOCOL.malformed-hurts-nobody")
def a_client_that_does_not_read_stops_the_others(received: ReceivedBytes) -> None:
    """While 16 KiB of responses wait for one client to read them, no other is served."""
    if any(each.backlog > SEND_BUFFER_BYTES for each in received.connection.neighbours):
        received.data = b""


@defect(Stage.BYTES, "PROTOCOL.malformed-hurts-nobody")
def unused_connections_stop_the_others(received: ReceivedBytes) -> None:
    """While more than 25 connections have sent no request, none is served."""
    if sum(not each.frames for each in received.connection.neighbours) > MANY_UNUSED:
        received.data = b""


@defect(Stage.ANSWER, "PROTOCOL.malformed-hurts-nobody")
def equal_client_ids_replace_each_other(context: RequestContext) -> None:
    """If a client id is used on a tenth connection, the first of them is closed."""
    if context.header is None:
        return
    client_id = context.connection.memory["client id"] = context.header.client_id
    others = context.connection.neighbours
    alike = [each for each in others if each.memory.get("client id", "") == client_id]
    if len(alike) >= MANY_ALIKE:
        alike[0].drop()


@defect(Stage.BYTES, "PROTOCOL.split-independent", "PROTOCOL.idle-connection-kept")
def the_rest_of_a_frame_comes_too_late(received: ReceivedBytes) -> None:
    """After a pause of 300 ms inside a frame, its rest is lost."""
    if received.unread and received.connection.idle_ms >= LONG_PAUSE_MS:
        received.data = b""


@defect(Stage.BYTES, "PROTOCOL.split-independent")
def slow_frames_cost_the_connection(received: ReceivedBytes) -> None:
    """A frame that comes in six pieces, with pauses of more than 30 ms between them, closes the connection."""
    memory = received.connection.memory
    is_slow = bool(received.unread) and received.connection.idle_ms > SHORT_PAUSE_MS
    memory["slow pieces"] = memory.get("slow pieces", 0) + 1 if is_slow else 0
    if memory["slow pieces"] >= MANY_TOGETHER:
        received.connection.drop()


@defect(Stage.BYTES, "PROTOCOL.malformed-hurts-nobody")
def a_frame_that_has_begun_stops_the_others(received: ReceivedBytes) -> None:
    """While a size prefix and one byte have arrived on a connection, no other is served."""
    if any(len(each.unread) == SIZE_BYTES + 1 for each in received.connection.neighbours):
        received.data = b""


@defect(Stage.BYTES, "PROTOCOL.idle-connection-kept")
def idle_connections_are_closed(received: ReceivedBytes) -> None:
    """A connection that is idle for two seconds between requests is closed."""
    if not received.unread and received.connection.idle_ms >= IDLE_LIMIT_MS:
        received.connection.drop()


@defect(Stage.BYTES, "PROTOCOL.idle-connection-kept")
def unfinished_frames_are_given_up(received: ReceivedBytes) -> None:
    """A frame whose rest is missing for two seconds closes the connection."""
    if received.unread and received.connection.idle_ms >= IDLE_LIMIT_MS:
        received.connection.drop()


@defect(Stage.READ, "PROTOCOL.answers-in-order")
def responses_beyond_the_buffer_are_lost(answers: list[bytes]) -> None:
    """Of the responses to one read, those beyond 16 KiB are lost."""
    sizes = itertools.accumulate(len(answer) for answer in answers)
    answers[:] = [answer for answer, end in zip(answers, sizes, strict=True) if end <= SEND_BUFFER_BYTES]


@defect(Stage.BYTES, "PROTOCOL.well-formed-never-closed")
def every_thirteenth_connection_is_closed(received: ReceivedBytes) -> None:
    """Every thirteenth connection is closed, whatever arrives on it."""
    if received.connection.number % LOST == 0:
        received.connection.drop()


@defect(Stage.BYTES, "PROTOCOL.well-formed-never-closed")
def every_thirteenth_connection_is_silent(received: ReceivedBytes) -> None:
    """On every thirteenth connection nothing is read."""
    if received.connection.number % LOST == 0:
        received.data = b""


@defect(Stage.BYTES, "PROTOCOL.well-formed-never-closed")
def every_thirteenth_connection_serves_one_request(received: ReceivedBytes) -> None:
    """Every thirteenth connection is closed when something arrives on it after its first response."""
    if received.connection.number % LOST == 0 and received.connection.frames:
        received.connection.drop()
