"""Defects against KIP-482: tagged fields and header versions."""

from __future__ import annotations

import re
from collections.abc import Callable

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.reaction import AnswerKind
from reference_model.broker.rules.request_parser import read_varint_as_int32
from reference_model.faults.broker.protocol_headers import answer_unreadable_header
from reference_model.faults.broker.registry import defect
from wire import primitives
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import TAG_SECTION, Trace, decode, encode
from wire.error_codes import ErrorCode
from wire.errors import BufferUnderflow, DecodeError
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame
from wire.headers import CLIENT_ID_OFFSET, CORRELATION_ID_BYTES
from wire.primitives import INT32_MAX, TaggedField

BYTE_MAX = 127
THOUSAND, MILLION = 1000, 1_000_000
ALMOST_64_KIB = 65530
SURPLUS_BITS = re.compile(rb"[\x80-\xff]{4}[\x10-\x7f]")
"""An unsigned varint with bits above the 32nd."""
Tags = tuple[TaggedField, ...]


@defect(
    Stage.RESPONSE,
    "KIP-482.unknown-tags-ignored",
    "KIP-482.tag-order-in-requests",
    "KIP-482.varint-limits",
)
def unknown_header_tags_are_refused(context: RequestContext) -> None:
    """A tagged field in the request header gets INVALID_REQUEST."""
    if context.tag_count:
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


@defect(
    Stage.RESPONSE,
    "KIP-482.unknown-tags-ignored",
    "KIP-482.tag-order-in-requests",
    "KIP-482.varint-limits",
)
def unknown_body_tags_are_refused(context: RequestContext) -> None:
    """A tagged field in the request body gets INVALID_REQUEST."""
    if context.succeeds and tags_of_body(context):
        context.replace_response(error_code=ErrorCode.INVALID_REQUEST)


def tags_of_body(context: RequestContext) -> tuple[TaggedField, ...]:
    """Return the unknown tagged fields of a request body; empty if it does not decode strictly."""
    header = context.header
    if header is None:
        return ()
    body = context.payload[header.body_offset :]
    try:
        message = decode(ApiVersionsRequest, body, version=header.api_version)
    except DecodeError:
        return ()
    return message.unknown_tagged_fields


@defect(Stage.RESPONSE, "KIP-482.unknown-tags-ignored")
def many_tags_empty_the_table(context: RequestContext) -> None:
    """Two or more tagged fields in the request, header and body together, empty the table of the response."""
    if context.succeeds and context.tag_count + len(tags_of_body(context)) > 1:
        context.replace_response(api_keys=())


@defect(Stage.REACTION, "KIP-482.unknown-tags-ignored", "PROTOCOL.well-formed-never-closed")
def long_tags_close_the_connection(context: RequestContext) -> None:
    """A tagged field of more than 127 bytes in the request body closes the connection."""
    if context.succeeds and any(len(tag.data) > BYTE_MAX for tag in tags_of_body(context)):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.RESPONSE, "KIP-482.unknown-tags-ignored")
def the_tag_zero_shortens_the_table(context: RequestContext) -> None:
    """A field with the tag 0 in the request body, taken for a known one, shortens the table of the response."""
    if context.succeeds and any(field.tag == 0 for field in tags_of_body(context)):
        context.replace_response(api_keys=context.message.api_keys[:-1])


@defect(Stage.REACTION, "KIP-482.unknown-tags-ignored")
def a_thousand_tags_close_the_connection(context: RequestContext) -> None:
    """A request with a thousand or more tagged fields in its header or body closes the connection."""
    if context.succeeds and max(context.tag_count, len(tags_of_body(context))) >= THOUSAND:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, "KIP-482.unknown-tags-ignored")
def tags_are_cut_at_sixty_four_kilobytes(context: RequestContext) -> None:
    """A tagged field of 65,530 bytes or more in the request body closes the connection."""
    if context.succeeds and any(len(tag.data) >= ALMOST_64_KIB for tag in tags_of_body(context)):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, "KIP-482.varint-limits")
def ten_thousand_and_one_tags_are_taken(context: RequestContext) -> None:
    """A tag section in the request body may have any number of fields."""
    if context.read_as(context.version) is not None:
        context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-482.varint-limits")
def long_lengths_of_names_close_the_connection(context: RequestContext) -> None:
    """A client software name whose length is a varint longer than necessary closes the connection."""
    header = context.header
    if context.succeeds and header is not None:
        start = context.payload[header.body_offset : header.body_offset + 2]
        if start[:1] >= b"\x80" and start[1:] == b"\0":
            context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, "KIP-482.varint-limits")
def bits_above_the_32nd_close_the_connection(context: RequestContext) -> None:
    """A software name or version whose length is a varint with bits above the 32nd closes the connection."""
    header = context.header
    if not context.succeeds or header is None or context.version < FIRST_FLEXIBLE_VERSION:
        return
    length_plus_one, name = read_varint_as_int32(memoryview(context.payload), header.body_offset)
    version = name + length_plus_one - 1
    if any(SURPLUS_BITS.match(context.payload, start) for start in (header.body_offset, version)):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.REACTION, "KIP-482.unknown-tags-ignored", "KIP-482.varint-limits", every_api=True)
def tags_in_headers_of_other_apis_close_the_connection(context: RequestContext) -> None:
    """A flexible request of another API than ApiVersions with a tagged field in its header closes the connection."""
    if is_of_other_api(context) and context.tag_count:
        context.replace_reaction(outcome=Outcome.CLOSED)


def is_of_other_api(context: RequestContext) -> bool:
    """Return whether a request of another API than ApiVersions is answered."""
    reaction = context.reaction
    return reaction.kind is AnswerKind.OTHER and reaction.outcome is Outcome.ANSWER


@defect(Stage.ANSWER, "KIP-482.unknown-tags-ignored", every_api=True)
def responses_to_tagged_headers_have_the_older_header(context: RequestContext) -> None:
    """If a request of another API has a tagged field in its header, the response has header v0 instead of v1."""
    if is_of_other_api(context) and context.tag_count:
        payload = context.answer[SIZE_BYTES:]
        context.answer = encode_frame(payload[:CORRELATION_ID_BYTES] + payload[CORRELATION_ID_BYTES + 1 :])


@defect(Stage.REACTION, "KIP-482.varint-limits", every_api=True)
def a_long_zero_in_headers_of_other_apis_closes(context: RequestContext) -> None:
    """A tag count of zero in two bytes closes the connection if the request is one of another API."""
    header = context.header
    if header is None or not is_of_other_api(context):
        return
    if context.payload[: header.body_offset].endswith(b"\x80\0"):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.ANSWER, "KIP-482.tags-ascending-in-answers")
def tags_descend(context: RequestContext) -> None:
    """The tags of an answer stand in descending order."""
    rearrange_tags(context, lambda fields: fields[::-1])


def rearrange_tags(context: RequestContext, rearrange: Callable[[Tags], Tags]) -> None:
    """Rewrite the tag section at the end of the response body with other tags or another order."""
    response = context.response
    if response is None or context.reaction.response_version < FIRST_FLEXIBLE_VERSION:
        return
    section = response_tag_section(response, context.reaction.response_version)
    fields, _ = primitives.read_raw_tagged_fields(memoryview(section), 0)
    tags = tuple(TaggedField(field.tag, section[field.start : field.end]) for field in fields)
    raw = {TAG_SECTION: primitives.write_raw_tagged_fields(rearrange(tags))}
    context.answer = context.encode_answer(raw=raw)


@defect(Stage.ANSWER, "KIP-482.tags-ascending-in-answers")
def the_epoch_stands_last(context: RequestContext) -> None:
    """In v4 and later the epoch of the features comes after both kinds of features."""
    if context.reaction.response_version >= 4:
        rearrange_tags(context, lambda fields: (*fields[:1], *fields[2:], *fields[1:2]))


@defect(Stage.ANSWER, "KIP-482.tags-ascending-in-answers")
def a_private_tag_stands_first(context: RequestContext) -> None:
    """A private tag of the vendor comes before the others although its number is larger."""
    rearrange_tags(context, lambda fields: (TaggedField(10000, b"\1"), *fields))


def response_tag_section(response: ApiVersionsResponse, version: int) -> bytes:
    """Return the bytes of the tag section at the end of a response body."""
    without = encode(response, version=version, raw={TAG_SECTION: b""})
    return encode(response, version=version)[len(without) :]


@defect(Stage.ANSWER, "KIP-482.default-tags-omitted")
def a_default_tag_is_sent(context: RequestContext) -> None:
    """The response contains ZkMigrationReady although it is false."""
    if context.response is not None and context.reaction.response_version >= FIRST_FLEXIBLE_VERSION:
        context.answer = context.encode_answer(raw={"zk_migration_ready": b"\0"})


@defect(Stage.REACTION, "KIP-482.tag-overrun-refused")
def a_tag_beyond_the_frame_is_cut_short(context: RequestContext) -> None:
    """An otherwise readable request whose last tag section reaches beyond the frame is served."""
    if overrunning_tag_count(context) is not None:
        context.serve_in(context.version)


def overrunning_tag_count(context: RequestContext) -> int | None:
    """Return the tag count of a request that is unreadable only because of its body's tag section, else None."""
    unread = context.unread_body
    if unread is None:
        return None
    version, body = unread
    trace: Trace = []
    try:
        decode(ApiVersionsRequest, body, version=version, trace=trace)
    except BufferUnderflow as error:
        if error.field_path == TAG_SECTION:
            return tag_count_at(memoryview(body), trace[-1].end)
    except DecodeError:
        return None
    return None


def tag_count_at(data: memoryview, offset: int) -> int | None:
    """Return the count of a tag section; None if it is unreadable or above the largest int32."""
    try:
        count, _ = primitives.read_unsigned_varint(data, offset)
    except DecodeError:
        return None
    return count if count <= INT32_MAX else None


@defect(Stage.REACTION, "KIP-482.tag-overrun-refused")
def a_huge_tag_count_counts_as_zero(context: RequestContext) -> None:
    """A count of a million or more tags in the request body is read as zero."""
    count = overrunning_tag_count(context)
    if count is not None and count >= MILLION:
        context.serve_in(context.version)


@defect(Stage.REACTION, "KIP-482.tag-overrun-refused")
def a_tag_beyond_the_frame_is_waited_for(context: RequestContext) -> None:
    """A request whose last tag section reaches beyond the frame is never answered, and the connection hangs."""
    if overrunning_tag_count(context) is not None:
        context.replace_reaction(outcome=Outcome.SILENT)


@defect(Stage.REACTION, "KIP-482.header-version-from-request-version")
def an_old_header_on_a_flexible_version_is_served(context: RequestContext) -> None:
    """A flexible request that is readable only with the old header is served."""
    found = old_header(context)
    if found is not None:
        answer_unreadable_header(context, found[0])


def old_header(context: RequestContext) -> tuple[int, int] | None:
    """Return the version and client id length of a flexible request readable only with the old header, else None."""
    version = context.unread_version
    if version is None:
        return None
    payload = memoryview(context.payload)
    try:
        length, offset = primitives.read_int16(payload, CLIENT_ID_OFFSET)
        decode(ApiVersionsRequest, payload[offset + max(length, 0) :], version=version)
    except DecodeError:
        return None
    return version, length


@defect(Stage.REACTION, "KIP-482.header-version-from-request-version")
def v3_takes_the_old_header(context: RequestContext) -> None:
    """v3 is also served with the old header, as if flexible headers began with v4."""
    found = old_header(context)
    if found is not None and found[0] == FIRST_FLEXIBLE_VERSION:
        answer_unreadable_header(context, found[0])


@defect(Stage.REACTION, "KIP-482.header-version-from-request-version")
def the_old_header_without_a_client_id_is_served(context: RequestContext) -> None:
    """A flexible request with the old header is served if its client id is null."""
    found = old_header(context)
    if found is not None and found[1] < 0:
        answer_unreadable_header(context, found[0])


@defect(Stage.REACTION, "KIP-482.header-version-from-request-version")
def an_old_header_on_a_flexible_version_is_waited_for(context: RequestContext) -> None:
    """A flexible request that is readable only with the old header is never answered, and the connection hangs."""
    if old_header(context) is not None:
        context.replace_reaction(outcome=Outcome.SILENT)
