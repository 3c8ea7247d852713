"""Defects against the protocol guide: frames, their order, and the effect of malformed ones on others."""

from __future__ import annotations

from reference_model.defects.registry import (
    OPEN_LISTENERS,
    body_of,
    defect,
    replace_reaction,
    replace_response,
    succeeds,
    version_of,
)
from reference_model.state_machine import BrokerConnection, ConnectionState, RequestContext, Stage
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
def half_of_the_frame_limit_holds_before_authentication(handling: RequestContext) -> None:
    """Before authentication a frame larger than half the limit closes the connection."""
    early = handling.state is ConnectionState.BEFORE_HANDSHAKE
    if early and len(handling.payload) > handling.broker.profile.traits.sasl_frame_bytes_max // 2:
        replace_reaction(handling, outcome=Outcome.CLOSED)


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


@defect(Stage.ANSWER, "PROTOCOL.size-prefix-exact", "KIP-35.every-advertised-version-served")
def surplus_byte_in_v2_answers(handling: RequestContext) -> None:
    """The frame of a v2 response has one byte after the body."""
    if handling.answer and version_of(handling) == 2:
        handling.answer = encode_frame(handling.answer[SIZE_BYTES:] + b"\0")


@defect(
    Stage.ANSWER,
    "PROTOCOL.size-prefix-exact",
    "KIP-35.every-advertised-version-served",
    "KIP-35.throttle-time",
)
def throttle_time_of_v1_has_eight_bytes(handling: RequestContext) -> None:
    """The throttle time of v1 is written as an int64 instead of an int32."""
    if handling.answer and handling.reaction.layout == 1:
        payload, throttle_time = handling.answer[SIZE_BYTES:-4], handling.answer[-4:]
        handling.answer = encode_frame(payload + bytes(4) + throttle_time)


@defect(Stage.ANSWER, "PROTOCOL.size-prefix-exact")
def answers_to_long_client_ids_are_padded(handling: RequestContext) -> None:
    """A response in v0 to v2 is padded if the client id has 21 to 40 characters: one byte per character above 20."""
    header = handling.header
    if handling.answer and header is not None and handling.reaction.layout < FIRST_FLEXIBLE_VERSION:
        padding = len(header.client_id or "") - 20
        if succeeds(handling) and 0 < padding <= 20:
            handling.answer = encode_frame(handling.answer[SIZE_BYTES:] + bytes(padding))


@defect(Stage.REACTION, "PROTOCOL.split-independent")
def frames_in_many_segments_are_refused(handling: RequestContext) -> None:
    """A request that arrives in eight or more pieces closes the connection."""
    if handling.segments >= 8:
        replace_reaction(handling, outcome=Outcome.CLOSED)


@defect(Stage.RESPONSE, "PROTOCOL.split-independent")
def requests_in_six_segments_lose_an_entry(handling: RequestContext) -> None:
    """The response to a request that arrives in six or more pieces lacks the last entry of its table."""
    if handling.segments >= 6 and succeeds(handling) and handling.response is not None:
        replace_response(handling, api_keys=handling.response.api_keys[:-1])


@defect(Stage.RESPONSE, "PROTOCOL.split-independent")
def requests_byte_by_byte_get_an_error(handling: RequestContext) -> None:
    """A request that arrives in more than ten pieces gets an error along with its table."""
    if handling.segments > 10 and succeeds(handling):
        replace_response(handling, error_code=ErrorCode.NETWORK_EXCEPTION)


@defect(Stage.REACTION, "PROTOCOL.malformed-hurts-nobody")
def a_malformed_request_closes_every_connection(handling: RequestContext) -> None:
    """A request that closes its own connection also closes all others."""
    if handling.reaction.outcome is Outcome.CLOSED:
        for connection in tuple(handling.broker.connections):
            if connection is not handling.connection:
                connection.drop()


@defect(Stage.REACTION, "PROTOCOL.malformed-hurts-nobody")
def an_unreadable_header_silences_every_other_connection(handling: RequestContext) -> None:
    """An unreadable header stops the thread that serves the other connections."""
    if handling.header is None and handling.reaction.outcome is Outcome.CLOSED:
        for connection in neighbours_of(handling):
            connection.memory["silent"] = True
    if handling.connection.memory.get("silent"):
        replace_reaction(handling, outcome=Outcome.SILENT)


def neighbours_of(handling: RequestContext) -> list[BrokerConnection]:
    """Return every other open connection to the listener."""
    connections = handling.broker.connections
    return [each for each in connections if each is not handling.connection]


@defect(Stage.REACTION, "PROTOCOL.malformed-hurts-nobody")
def an_unknown_api_closes_a_neighbour(handling: RequestContext) -> None:
    """A request for an unknown API also closes the other connection that was opened first."""
    header = handling.header
    unknown = header is not None and header.api_key != API_VERSIONS_KEY
    if unknown and handling.reaction.outcome is Outcome.CLOSED:
        for connection in neighbours_of(handling)[:1]:
            connection.drop()


@defect(Stage.ANSWER, "PROTOCOL.well-formed-never-closed")
def tags_in_the_header_cost_the_connection(handling: RequestContext) -> None:
    """A request with tagged fields in its header is answered, and then the connection is closed."""
    if handling.answer and handling.header is not None and handling.header.tag_count:
        close_behind_the_answer(handling)


def close_behind_the_answer(handling: RequestContext) -> None:
    """Close the connection after the response is sent."""
    if handling.connection.state is not ConnectionState.CLOSED:
        handling.connection.drop()


@defect(Stage.ANSWER, "PROTOCOL.well-formed-never-closed", listeners=OPEN_LISTENERS)
def long_software_names_cost_the_connection(handling: RequestContext) -> None:
    """A request with a long client software name is answered, and then the connection is closed."""
    body = body_of(handling)
    if body is not None and succeeds(handling) and len(body.client_software_name) > 23:
        close_behind_the_answer(handling)


@defect(Stage.ANSWER, "PROTOCOL.well-formed-never-closed", listeners=OPEN_LISTENERS)
def a_null_client_id_costs_a_flexible_connection(handling: RequestContext) -> None:
    """A flexible request with a null client id is answered, and then the connection is closed."""
    flexible = version_of(handling) >= FIRST_FLEXIBLE_VERSION
    if flexible and handling.header is not None and handling.header.client_id is None:
        handling.connection.drop()
