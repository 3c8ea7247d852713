"""Defects against the protocol guide: the fields of request headers."""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.faults.broker.registry import CORRELATION_ID, OPEN_LISTENERS, defect
from reference_model.profiles.listeners import PLAINTEXT
from wire import primitives
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame
from wire.headers import CLIENT_ID_OFFSET, ResponseHeader
from wire.primitives import INT32_MAX

UNUSED_BIT = 0x40
"""Bit 30 of a correlation id, as a mask of its first byte."""
SIGNED_BYTE = 128
FLOAT_STEP = 16
"""The smallest distance between neighbouring 32-bit floats from 2**27 up."""


@defect(Stage.ANSWER, "PROTOCOL.correlation-id-echoed")
def negative_correlation_ids_lose_their_sign(context: RequestContext) -> None:
    """A negative correlation id comes back with its sign bit cleared."""
    answer = bytearray(context.answer)
    if answer:
        answer[SIZE_BYTES] &= 0x7F
    context.answer = bytes(answer)


@defect(Stage.ANSWER, "PROTOCOL.correlation-id-echoed")
def large_correlation_ids_lose_a_bit(context: RequestContext) -> None:
    """A correlation id from 2**30 up comes back without bit 30, as if ids had only 30 bits."""
    answer = bytearray(context.answer)
    if answer and answer[SIZE_BYTES] < 0x80:
        answer[SIZE_BYTES] &= ~UNUSED_BIT
    context.answer = bytes(answer)


@defect(Stage.ANSWER, "PROTOCOL.correlation-id-echoed")
def large_correlation_ids_go_through_a_float(context: RequestContext) -> None:
    """A correlation id from 2**27 up comes back rounded, as if stored in a 32-bit float."""
    answer = bytearray(context.answer)
    if answer and 0x08 <= answer[SIZE_BYTES] < 0x80:
        correlation_id = int.from_bytes(answer[CORRELATION_ID])
        rounded = min(round(correlation_id / FLOAT_STEP) * FLOAT_STEP, INT32_MAX)
        answer[CORRELATION_ID] = rounded.to_bytes(4)
    context.answer = bytes(answer)


@defect(Stage.RESPONSE, "PROTOCOL.client-id-free", "PROTOCOL.client-id-bytes")
def non_ascii_client_ids_are_refused(context: RequestContext) -> None:
    """A client id that is not ASCII gets INVALID_REQUEST."""
    if not context.client_id.isascii():
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.RESPONSE, "PROTOCOL.client-id-free", listeners=OPEN_LISTENERS)
def empty_client_ids_are_refused_from_v1(context: RequestContext) -> None:
    """An empty client id gets INVALID_REQUEST in v1 and later."""
    assert context.header is not None
    if context.header.client_id == "" and context.succeeds and context.reaction.response_version > 0:
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(
    Stage.REACTION,
    "PROTOCOL.client-id-free",
    "PROTOCOL.size-prefix-exact",
    "PROTOCOL.well-formed-never-closed",
    "KIP-35.v0-always-served",
    "KIP-35.throttle-time",
    listeners=(PLAINTEXT,),
)
def client_ids_from_128_bytes_close_the_connection(context: RequestContext) -> None:
    """A client id of 128 bytes or more, whose length is read as a signed byte, closes the connection."""
    if len(context.client_id.encode()) >= SIGNED_BYTE:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.RESPONSE, "PROTOCOL.client-id-free")
def client_ids_of_one_letter_get_a_shorter_table(context: RequestContext) -> None:
    """A client id that is a single non-ASCII letter gets a table without its last entry."""
    client_id = context.client_id
    is_letter = len(client_id) == 1 and client_id.isalpha() and not client_id.isascii()
    if is_letter:
        context.replace_response(api_keys=context.message.api_keys[:-1])


@defect(Stage.REACTION, "PROTOCOL.client-id-old-encoding")
def compact_client_ids_are_understood(context: RequestContext) -> None:
    """A flexible request whose header is readable only with a compact client id is served."""
    found = compact_client_id(context)
    if found is not None:
        answer_unreadable_header(context, found[0])


def compact_client_id(context: RequestContext) -> tuple[int, str] | None:
    """Return the version and client id of a request that is readable only with a compact client id, else None."""
    version = context.unread_version
    if version is None:
        return None
    payload = memoryview(context.payload)
    try:
        client_id, offset = primitives.read_compact_nullable_string(payload, CLIENT_ID_OFFSET)
        _, offset = primitives.read_raw_tagged_fields(payload, offset)
        decode(ApiVersionsRequest, payload[offset:], version=version)
    except DecodeError:
        return None
    return version, client_id or ""


@defect(Stage.REACTION, "PROTOCOL.client-id-old-encoding")
def compact_client_ids_are_understood_at_the_newest_version(context: RequestContext) -> None:
    """The newest version is also served with a compact client id, as if it had its own header version."""
    found = compact_client_id(context)
    if found is not None and found[0] == NEWEST_VERSION:
        answer_unreadable_header(context, found[0])


@defect(Stage.REACTION, "PROTOCOL.client-id-old-encoding")
def short_compact_client_ids_are_understood(context: RequestContext) -> None:
    """A flexible request with a compact client id of up to three characters is served."""
    found = compact_client_id(context)
    if found is not None and len(found[1]) <= 3:
        answer_unreadable_header(context, found[0])


@defect(Stage.REACTION, "PROTOCOL.client-id-old-encoding")
def compact_client_ids_are_waited_for(context: RequestContext) -> None:
    """A flexible request with a compact client id is never answered, and the connection hangs."""
    if compact_client_id(context) is not None:
        context.replace_reaction(outcome=Outcome.SILENT)


def answer_unreadable_header(context: RequestContext, version: int) -> None:
    """Answer a request whose header is unreadable by the rules with the complete table."""
    correlation_id, _ = primitives.read_int32(memoryview(context.payload), 4)
    context.replace_reaction(outcome=Outcome.IGNORED)
    response = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=context.broker.profile.api_keys)
    header = encode(ResponseHeader(correlation_id=correlation_id), version=0)
    context.answer = encode_frame(header + encode(response, version=version))
