"""Defects against the protocol guide.

They affect frames, their order, and the effect of malformed frames on others.
"""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.connection_states import ConnectionState
from reference_model.faults.broker.registry import OPEN_LISTENERS, defect
from reference_model.profiles.listeners import TLS_LISTENERS
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame

MANY = 7
"""Number of requests in one read from which the ordering defects act."""
ERROR_CODE = slice(SIZE_BYTES + 4, SIZE_BYTES + 6)
"""Position of the error code in a response frame."""


@defect(Stage.READ, "PROTOCOL.answers-in-order")
def third_pipelined_answer_overtakes(answers: list[bytes]) -> None:
    """Of seven or more requests that arrive together, the third is answered before the second."""
    if len(answers) >= MANY:
        answers[1], answers[2] = answers[2], answers[1]


@defect(Stage.REACTION, "PROTOCOL.oversize-refused")
def half_of_the_frame_limit_holds_before_authentication(context: RequestContext) -> None:
    """Before authentication a frame larger than half the limit closes the connection."""
    early = context.state is ConnectionState.BEFORE_HANDSHAKE
    if early and len(context.payload) > context.broker.profile.traits.sasl_frame_bytes_max // 2:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.READ, "PROTOCOL.answers-in-order")
def short_answers_overtake_long_ones(answers: list[bytes]) -> None:
    """Of seven or more requests that arrive together, those with shorter responses are answered first."""
    if len(answers) >= MANY:
        answers.sort(key=len)


@defect(Stage.READ, "PROTOCOL.answers-in-order")
def errors_overtake_answers(answers: list[bytes]) -> None:
    """Of seven or more requests that arrive together, refused ones are answered first."""
    if len(answers) >= MANY:
        answers.sort(key=lambda answer: answer[ERROR_CODE] in (b"", b"\0\0"))


@defect(Stage.ANSWER, "PROTOCOL.size-prefix-exact")
def surplus_byte_in_v2_answers(context: RequestContext) -> None:
    """The frame of a v2 response has one byte after the body."""
    if context.answer and context.version == 2:
        context.answer = encode_frame(context.answer[SIZE_BYTES:] + b"\0")


@defect(Stage.ANSWER, "PROTOCOL.size-prefix-exact", "KIP-35.throttle-time")
def throttle_time_of_v1_has_eight_bytes(context: RequestContext) -> None:
    """The throttle time of v1 is written as an int64 instead of an int32."""
    if context.answer and context.reaction.response_version == 1:
        payload, throttle_time = context.answer[SIZE_BYTES:-4], context.answer[-4:]
        context.answer = encode_frame(payload + bytes(4) + throttle_time)


@defect(Stage.ANSWER, "PROTOCOL.size-prefix-exact")
def answers_to_long_client_ids_are_padded(context: RequestContext) -> None:
    """A response in v0 to v2 is padded if the client id has 21 to 40 characters: one byte per character above 20."""
    padding = len(context.client_id) - 20
    is_old = context.reaction.response_version < FIRST_FLEXIBLE_VERSION
    if context.answer and is_old and context.succeeds and 0 < padding <= 20:
        context.answer = encode_frame(context.answer[SIZE_BYTES:] + bytes(padding))


@defect(Stage.ANSWER, "PROTOCOL.size-prefix-exact")
def sizes_after_long_client_ids_are_one_too_large(context: RequestContext) -> None:
    """From v1 on, the size of a response counts one byte too many if the client id has 21 to 40 characters."""
    is_newer = context.reaction.response_version >= 1
    if context.answer and is_newer and 20 < len(context.client_id) <= 40:
        payload = context.answer[SIZE_BYTES:]
        context.answer = encode_frame(payload, size=len(payload) + 1)


@defect(
    Stage.REACTION,
    "PROTOCOL.well-formed-never-closed",
    "PROTOCOL.answers-in-order",
    listeners=OPEN_LISTENERS,
)
def a_connection_serves_one_table(context: RequestContext) -> None:
    """A second request that would be served closes the connection."""
    if context.succeeds and context.has_seen("the table", now=True):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, "PROTOCOL.split-independent")
def frames_in_many_segments_are_refused(context: RequestContext) -> None:
    """A request that arrives in eight or more pieces closes the connection."""
    if context.segments >= 8:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.RESPONSE, "PROTOCOL.split-independent")
def requests_in_six_segments_lose_an_entry(context: RequestContext) -> None:
    """Without TLS, the response to a request that arrives in six or more pieces lacks the last entry of its table."""
    if context.broker.profile.listener in TLS_LISTENERS:
        return
    if context.segments >= 6 and context.succeeds:
        context.replace_response(api_keys=context.message.api_keys[:-1])


@defect(Stage.RESPONSE, "PROTOCOL.split-independent")
def requests_byte_by_byte_get_an_error(context: RequestContext) -> None:
    """A request that arrives in more than ten pieces gets an error along with its table."""
    if context.segments > 10 and context.succeeds:
        context.replace_response(error_code=ErrorCode.NETWORK_EXCEPTION)


@defect(Stage.REACTION, "PROTOCOL.malformed-hurts-nobody")
def a_malformed_request_closes_every_connection(context: RequestContext) -> None:
    """A request that closes its own connection also closes all others."""
    if context.reaction.outcome is Outcome.CLOSED:
        for connection in context.connection.neighbours:
            connection.drop()


@defect(Stage.REACTION, "PROTOCOL.malformed-hurts-nobody")
def an_unreadable_header_silences_every_other_connection(context: RequestContext) -> None:
    """An unreadable header stops the thread that serves the other connections."""
    if context.header is None and context.reaction.outcome is Outcome.CLOSED:
        for connection in context.connection.neighbours:
            connection.memory["silent"] = True
    if context.connection.memory.get("silent"):
        context.replace_reaction(outcome=Outcome.SILENT)


@defect(Stage.REACTION, "PROTOCOL.malformed-hurts-nobody")
def an_unknown_api_closes_a_neighbour(context: RequestContext) -> None:
    """A request for an unknown API also closes the other connection that was opened first."""
    header = context.header
    unknown = header is not None and header.api_key != API_VERSIONS_KEY
    if unknown and context.reaction.outcome is Outcome.CLOSED:
        for connection in context.connection.neighbours[:1]:
            connection.drop()


@defect(Stage.ANSWER, "PROTOCOL.well-formed-never-closed")
def tags_in_the_header_cost_the_connection(context: RequestContext) -> None:
    """A request with tagged fields in its header is answered, and then the connection is closed."""
    if context.answer and context.tag_count:
        close_after_the_answer(context)


def close_after_the_answer(context: RequestContext) -> None:
    """Close the connection after the response is sent."""
    if context.connection.state is not ConnectionState.CLOSED:
        context.connection.drop()


@defect(Stage.ANSWER, "PROTOCOL.well-formed-never-closed", listeners=OPEN_LISTENERS)
def long_software_names_cost_the_connection(context: RequestContext) -> None:
    """A request with a long client software name is answered, and then the connection is closed."""
    body = context.body
    if body is not None and context.succeeds and len(body.client_software_name) > 23:
        close_after_the_answer(context)


@defect(Stage.ANSWER, "PROTOCOL.well-formed-never-closed", listeners=OPEN_LISTENERS)
def a_null_client_id_costs_a_flexible_connection(context: RequestContext) -> None:
    """A flexible request with a null client id is answered, and then the connection is closed."""
    flexible = context.version >= FIRST_FLEXIBLE_VERSION
    if flexible and context.header is not None and context.header.client_id is None:
        context.connection.drop()
