"""Defects against the protocol guide."""

from __future__ import annotations

from reference_model.defects.registry import (
    CLIENT_ID_OFFSET,
    defect,
    replace_reaction,
    replace_response,
    unread_version,
    version_of,
)
from reference_model.state_machine import Handling, Stage
from wire import primitives
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame
from wire.headers import ResponseHeader


@defect(Stage.ANSWER, "PROTOCOL.correlation-id-echoed")
def negative_correlation_ids_lose_their_sign(handling: Handling) -> None:
    """A negative correlation id comes back with its sign bit cleared."""
    answer = bytearray(handling.answer)
    if answer:
        answer[SIZE_BYTES] &= 0x7F
    handling.answer = bytes(answer)


@defect(Stage.READ, "PROTOCOL.answers-in-order")
def third_pipelined_answer_overtakes(answers: list[bytes]) -> None:
    """Of three or more requests that arrive together, the third is answered before the second."""
    if len(answers) >= 3:
        answers[1], answers[2] = answers[2], answers[1]


@defect(Stage.ANSWER, "PROTOCOL.size-prefix-exact")
def surplus_byte_in_v2_answers(handling: Handling) -> None:
    """The answer to v2 has one byte more in its frame than its body needs."""
    if handling.answer and version_of(handling) == 2:
        handling.answer = encode_frame(handling.answer[SIZE_BYTES:] + b"\0")


@defect(Stage.REACTION, "PROTOCOL.split-independent")
def frames_in_many_segments_are_refused(handling: Handling) -> None:
    """A request that arrives in eight pieces or more closes the connection."""
    if handling.segments >= 8:
        replace_reaction(handling, outcome=Outcome.CLOSED)


@defect(Stage.RESPONSE, "PROTOCOL.client-id-free")
def non_ascii_client_ids_are_refused(handling: Handling) -> None:
    """A client id that is not ASCII gets INVALID_REQUEST."""
    assert handling.header is not None
    if not (handling.header.client_id or "").isascii():
        replace_response(handling, error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.REACTION, "PROTOCOL.client-id-old-encoding")
def compact_client_ids_are_understood(handling: Handling) -> None:
    """A flexible request whose header does not read is read again with a compact client id, and served."""
    version = unread_version(handling)
    if version is None:
        return
    payload = memoryview(handling.payload)
    try:
        _, offset = primitives.read_compact_nullable_string(payload, CLIENT_ID_OFFSET)
        _, offset = primitives.read_raw_tagged_fields(payload, offset)
        decode(ApiVersionsRequest, payload[offset:], version=version)
    except DecodeError:
        return
    answer_unreadable_header(handling, version)


def answer_unreadable_header(handling: Handling, version: int) -> None:
    """Serve a request whose header does not read by the rules."""
    correlation_id, _ = primitives.read_int32(memoryview(handling.payload), 4)
    replace_reaction(handling, outcome=Outcome.IGNORED)
    response = ApiVersionsResponse(
        error_code=ErrorCode.NONE, api_keys=handling.broker.profile.api_keys
    )
    header = encode(ResponseHeader(correlation_id=correlation_id), version=0)
    handling.answer = encode_frame(header + encode(response, version=version))


@defect(Stage.REACTION, "PROTOCOL.malformed-hurts-nobody")
def a_malformed_request_closes_every_connection(handling: Handling) -> None:
    """A request that closes its own connection closes all others with it."""
    if handling.reaction.outcome is Outcome.CLOSED:
        for connection in tuple(handling.broker.connections):
            if connection is not handling.connection:
                connection.drop()


@defect(Stage.ANSWER, "PROTOCOL.well-formed-never-closed")
def a_null_client_id_costs_a_flexible_connection(handling: Handling) -> None:
    """A flexible request with a null client id is answered, and then the connection is closed."""
    flexible = version_of(handling) >= FIRST_FLEXIBLE_VERSION
    if flexible and handling.header is not None and handling.header.client_id is None:
        handling.connection.drop()
