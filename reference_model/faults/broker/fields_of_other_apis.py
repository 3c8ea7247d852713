"""Defects in how requests of other APIs are read.

They affect keys, correlation ids, client ids, and the tags in bodies.
"""

from __future__ import annotations

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.stages import Stage
from reference_model.broker.rules.request_parser import Unreadable, parse_header
from reference_model.faults.broker.kip_482 import is_of_other_api
from reference_model.faults.broker.registry import CORRELATION_ID, defect
from wire.api_keys import API_VERSIONS_KEY, DESCRIBE_CLUSTER_KEY, LIST_GROUPS_KEY, METADATA_KEY
from wire.api_versions import FIRST_FLEXIBLE_VERSION
from wire.codec import decode
from wire.described_messages import CLUSTER_APIS
from wire.errors import DecodeError
from wire.exchange import Outcome
from wire.frames import SIZE_BYTES, encode_frame
from wire.primitives import TaggedField, write_int16, write_int32

LOW_BYTE = 0xFF
LONG_BYTES = 128
FIRST_FLEXIBLE_LIST = 3
ERROR_CODE_OF_A_LIST = slice(SIZE_BYTES + 4, SIZE_BYTES + 6)
"""Position of the error code in the response to ListGroups v0."""
KEY_DECIDES = "PROTOCOL.api-key-decides"
ID_ECHOED = "PROTOCOL.correlation-id-echoed"
CLIENT_ID = "PROTOCOL.client-id-free"
TAGS_IGNORED = "KIP-482.unknown-tags-ignored"


def _key(context: RequestContext) -> int:
    """Return the key of a request of another API that is answered; that of ApiVersions for any other frame."""
    is_other = context.header is not None and is_of_other_api(context)
    return context.header.api_key if is_other and context.header is not None else API_VERSIONS_KEY


def _serve_as_api_versions(context: RequestContext) -> None:
    """React to a request as if it had the key of ApiVersions."""
    payload = write_int16(API_VERSIONS_KEY) + context.payload[2:]
    try:
        context.header = parse_header(memoryview(payload), context.broker.profile.traits)
    except Unreadable:
        return
    context.payload = payload
    context.reaction = context.broker.preferred(payload, context.state)


def _has_low_byte(context: RequestContext) -> bool:
    """Return whether the key of a request is another one than that of ApiVersions, with the same low byte."""
    header = context.header
    if header is None or header.api_key == API_VERSIONS_KEY:
        return False
    return header.api_key & LOW_BYTE == API_VERSIONS_KEY


@defect(Stage.REACTION, KEY_DECIDES, every_api=True)
def api_keys_have_one_byte(context: RequestContext) -> None:
    """Of an API key only the low byte counts."""
    if _has_low_byte(context):
        _serve_as_api_versions(context)


@defect(Stage.REACTION, KEY_DECIDES, every_api=True)
def negative_api_keys_lose_their_high_byte(context: RequestContext) -> None:
    """Of a negative API key only the low byte counts."""
    if _has_low_byte(context) and context.header is not None and context.header.api_key < 0:
        _serve_as_api_versions(context)


@defect(Stage.REACTION, KEY_DECIDES, every_api=True)
def flexible_requests_are_dispatched_by_one_byte(context: RequestContext) -> None:
    """From v3 on only the low byte of an API key counts."""
    if _has_low_byte(context) and context.version >= FIRST_FLEXIBLE_VERSION:
        _serve_as_api_versions(context)


def _change_id(context: RequestContext, correlation_id: int) -> None:
    answer = bytearray(context.answer)
    answer[CORRELATION_ID] = write_int32(correlation_id)
    context.answer = bytes(answer)


@defect(Stage.ANSWER, ID_ECHOED, every_api=True)
def correlation_ids_of_metadata_have_two_bytes(context: RequestContext) -> None:
    """Metadata is answered with the low two bytes of the correlation id."""
    if _key(context) == METADATA_KEY and context.header is not None:
        _change_id(context, context.header.correlation_id & 0xFFFF)


@defect(Stage.ANSWER, ID_ECHOED, every_api=True)
def negative_correlation_ids_of_group_lists_become_positive(context: RequestContext) -> None:
    """ListGroups with a negative correlation id is answered without its sign bit."""
    if _key(context) == LIST_GROUPS_KEY and context.header is not None:
        _change_id(context, context.header.correlation_id & 0x7FFFFFFF)


@defect(Stage.ANSWER, ID_ECHOED, every_api=True)
def correlation_ids_of_described_clusters_lose_a_bit(context: RequestContext) -> None:
    """DescribeCluster is answered without bit 30 of a positive correlation id."""
    if _key(context) == DESCRIBE_CLUSTER_KEY and context.header is not None:
        correlation_id = context.header.correlation_id
        if correlation_id > 0:
            _change_id(context, correlation_id & ~(1 << 30))


@defect(Stage.REACTION, CLIENT_ID, every_api=True)
def metadata_without_a_client_id_closes(context: RequestContext) -> None:
    """Metadata with a null client id closes the connection."""
    header = context.header
    if _key(context) == METADATA_KEY and header is not None and header.client_id is None:
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.ANSWER, CLIENT_ID, every_api=True)
def group_lists_for_an_empty_client_id_are_refused(context: RequestContext) -> None:
    """ListGroups v0 with an empty client id gets an error."""
    header = context.header
    if _key(context) == LIST_GROUPS_KEY and header is not None and header.client_id == "":
        answer = bytearray(context.answer)
        if header.api_version == 0:
            answer[ERROR_CODE_OF_A_LIST] = write_int16(1)
        context.answer = bytes(answer)


@defect(Stage.REACTION, CLIENT_ID, every_api=True)
def clusters_are_not_described_for_long_client_ids(context: RequestContext) -> None:
    """DescribeCluster with a client id of 128 bytes or more is never answered, and the connection hangs."""
    is_long = len(context.client_id.encode()) >= LONG_BYTES
    if _key(context) == DESCRIBE_CLUSTER_KEY and is_long:
        context.replace_reaction(outcome=Outcome.SILENT)


def _tags_of_body(context: RequestContext) -> tuple[TaggedField, ...]:
    """Return the unknown tagged fields in the body of Metadata or DescribeCluster; empty for any other request."""
    key, header = _key(context), context.header
    if key not in (METADATA_KEY, DESCRIBE_CLUSTER_KEY) or header is None:
        return ()
    body = context.payload[header.body_offset :]
    try:
        message = decode(CLUSTER_APIS[key].request, body, version=header.api_version)
    except DecodeError:
        return ()
    tags: tuple[TaggedField, ...] = message.unknown_tagged_fields
    return tags


@defect(Stage.REACTION, TAGS_IGNORED, every_api=True)
def tags_in_the_body_of_metadata_close_the_connection(context: RequestContext) -> None:
    """Metadata with a tagged field in its body closes the connection."""
    if _key(context) == METADATA_KEY and _tags_of_body(context):
        context.replace_reaction(outcome=Outcome.CLOSED)


@defect(Stage.ANSWER, TAGS_IGNORED, every_api=True)
def tags_in_the_body_shorten_described_clusters(context: RequestContext) -> None:
    """The response to DescribeCluster with a long tagged field in its body lacks its last byte."""
    is_long = any(len(tag.data) >= LONG_BYTES for tag in _tags_of_body(context))
    if _key(context) == DESCRIBE_CLUSTER_KEY and is_long:
        context.answer = encode_frame(context.answer[SIZE_BYTES:-1])


@defect(Stage.REACTION, TAGS_IGNORED, every_api=True)
def group_lists_end_before_their_tags(context: RequestContext) -> None:
    """ListGroups with a tagged field in its body, taken for surplus bytes, is ignored."""
    header = context.header
    if _key(context) != LIST_GROUPS_KEY or header is None:
        return
    # Empty arrays of states and types come before the tag section.
    arrays = header.api_version - FIRST_FLEXIBLE_LIST
    body = context.payload[header.body_offset :]
    if arrays >= 0 and body[arrays : arrays + 1] not in (b"", b"\0"):
        context.replace_reaction(outcome=Outcome.IGNORED)
