"""Defects against KIP-482: tagged fields and header versions."""

from __future__ import annotations

from reference_model.defects.protocol import answer_unreadable_header
from reference_model.defects.registry import (
    CLIENT_ID_OFFSET,
    defect,
    replace_response,
    success_in,
    unread_version,
)
from reference_model.state_machine import Handling, Stage
from wire import primitives
from wire.api_versions import FIRST_FLEXIBLE_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import TAG_SECTION, decode, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.primitives import TaggedField


@defect(Stage.RESPONSE, "KIP-482.unknown-tags-ignored")
def unknown_header_tags_are_refused(handling: Handling) -> None:
    """A tagged field in the request header gets INVALID_REQUEST."""
    if handling.header is not None and handling.header.tag_count:
        replace_response(handling, error_code=ErrorCode.INVALID_REQUEST)


@defect(Stage.ANSWER, "KIP-482.tags-ascending-in-answers")
def tags_descend(handling: Handling) -> None:
    """The tags of an answer stand in descending order."""
    response = handling.response
    if response is None or handling.reaction.layout < FIRST_FLEXIBLE_VERSION:
        return
    section = response_tag_section(response, handling.reaction.layout)
    fields, _ = primitives.read_raw_tagged_fields(memoryview(section), 0)
    descending = tuple(
        TaggedField(field.tag, section[field.start : field.end]) for field in reversed(fields)
    )
    raw = {TAG_SECTION: primitives.write_raw_tagged_fields(descending)}
    handling.answer = handling.encode_answer(raw=raw)


def response_tag_section(response: ApiVersionsResponse, version: int) -> bytes:
    """The bytes of the tag section that ends an answer's body."""
    without = encode(response, version=version, raw={TAG_SECTION: b""})
    return encode(response, version=version)[len(without) :]


@defect(Stage.ANSWER, "KIP-482.default-tags-omitted")
def a_default_tag_is_sent(handling: Handling) -> None:
    """The answer carries ZkMigrationReady although it is false."""
    if handling.response is not None and handling.reaction.layout >= FIRST_FLEXIBLE_VERSION:
        handling.answer = handling.encode_answer(raw={"zk_migration_ready": b"\0"})


@defect(Stage.REACTION, "KIP-482.tag-overrun-refused")
def a_tag_beyond_the_frame_is_cut_short(handling: Handling) -> None:
    """A readable request whose last tag section reaches beyond the frame is served all the same."""
    header = handling.header
    version = unread_version(handling)
    if header is None or version is None:
        return
    try:
        decode(ApiVersionsRequest, handling.payload[header.body_offset :], version=version)
    except DecodeError as error:
        if error.field_path == TAG_SECTION:
            handling.reaction = success_in(version)


@defect(Stage.REACTION, "KIP-482.header-version-from-request-version")
def an_old_header_on_a_flexible_version_is_served(handling: Handling) -> None:
    """A flexible request that reads only with the old header is served."""
    version = unread_version(handling)
    if version is None:
        return
    payload = memoryview(handling.payload)
    try:
        length, offset = primitives.read_int16(payload, CLIENT_ID_OFFSET)
        decode(ApiVersionsRequest, payload[offset + max(length, 0) :], version=version)
    except DecodeError:
        return
    answer_unreadable_header(handling, version)
