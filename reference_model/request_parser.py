"""How Apache Kafka reads a request, which is more lenient than the specification.

Client ids may have any negative length and any bytes; varints may be long, and bits above the 32nd are
dropped; names are decoded with replacement characters. What Kafka refuses to read is `Unreadable`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reference_model.profile import Traits
from wire import primitives
from wire.api_versions import (
    API_VERSIONS_KEY,
    FIRST_FLEXIBLE_VERSION,
    FIRST_VERSION_WITH_CLUSTER_CHECK,
)
from wire.errors import DecodeError

_INT32_MIN = -(2**31)
FIRST_FLEXIBLE_AUTHENTICATE = 2
METADATA_KEY = 3
LIST_GROUPS_KEY = 16
_BODIES_THAT_READ = {(METADATA_KEY, 0): bytes(4), (LIST_GROUPS_KEY, 0): b""}
"""How a request of another API begins behind its header, where nothing more is needed to read it."""
_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class Unreadable(Exception):
    """Kafka's parser gives up; the connection is closed."""


def is_valid_name(text: str) -> bool:
    """Whether a software name or version matches Kafka's expression."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedHeader:
    """What Kafka reads of a request header, and where the body begins."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    tag_count: int
    body_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedBody:
    """What Kafka reads of the body of an ApiVersions request from v3 on."""

    client_software_name: str
    client_software_version: str
    cluster_id: str | None
    node_id: int
    end: int

    @property
    def name_is_valid(self) -> bool:
        """Whether name and version match Kafka's expression. Source: KIP-511, as Kafka has it."""
        return all(map(is_valid_name, (self.client_software_name, self.client_software_version)))

    @property
    def ids_are_half_given(self) -> bool:
        """Whether exactly one of cluster id and node id is given. Source: KIP-1242."""
        return (self.cluster_id is None) != (self.node_id == -1)


def read_varint_as_int32(data: memoryview, offset: int) -> tuple[int, int]:
    """Read an unsigned varint into a Java int: up to five bytes, surplus bits dropped, maybe negative."""
    value = 0
    for index in range(primitives.VARINT_MAX_BYTES):
        if offset >= len(data):
            raise Unreadable("the varint has no last byte")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            value &= primitives.UINT32_MAX
            return value - (1 << 32) if value >= 1 << 31 else value, offset
    raise Unreadable("the varint is longer than five bytes")


def skip_tags(data: memoryview, offset: int, traits: Traits, *, ascending: bool) -> tuple[int, int]:
    """Read over a tag section.

    Args:
        data: the payload.
        offset: where the section begins.
        traits: those of the release.
        ascending: whether the tags must ascend, as signed numbers.

    Returns:
        How many tags it holds, and the offset after it.
    """
    count, offset = read_varint_as_int32(data, offset)
    if count < 0 and not traits.negative_tag_count_accepted:
        raise Unreadable("negative tag count")
    if 0 <= traits.max_tags < count:
        raise Unreadable("too many tags")
    previous = -1
    for _ in range(count):
        tag, offset = read_varint_as_int32(data, offset)
        if ascending and tag <= previous:
            raise Unreadable("tags do not ascend")
        previous = tag
        size, offset = read_varint_as_int32(data, offset)
        if size < 0 or offset + size > len(data):
            raise Unreadable("the tag is larger than the frame")
        offset += size
    return max(count, 0), offset


def parse_header(data: memoryview, traits: Traits) -> ParsedHeader:
    """Read a request header; which header version it is follows from key and version alone.

    Raises:
        Unreadable: the frame ends inside the header.
    """
    try:
        api_key, offset = primitives.read_int16(data, 0)
        api_version, offset = primitives.read_int16(data, offset)
        correlation_id, offset = primitives.read_int32(data, offset)
        length, offset = primitives.read_int16(data, offset)
        client_id = None
        if length >= 0:
            raw, offset = primitives.read_bytes(data, offset, length)
            client_id = str(raw, "utf-8", "replace")
    except DecodeError as error:
        raise Unreadable(str(error)) from error
    tag_count = 0
    knows_flexible = traits.api_versions_max >= FIRST_FLEXIBLE_VERSION
    flexible = api_key == API_VERSIONS_KEY and api_version >= FIRST_FLEXIBLE_VERSION
    if knows_flexible and flexible:
        tag_count, offset = skip_tags(data, offset, traits, ascending=False)
    return ParsedHeader(
        api_key=api_key,
        api_version=api_version,
        correlation_id=correlation_id,
        client_id=client_id,
        tag_count=tag_count,
        body_offset=offset,
    )


def _compact_text(data: memoryview, offset: int) -> tuple[str | None, int]:
    length_plus_one, offset = read_varint_as_int32(data, offset)
    if _INT32_MIN < length_plus_one <= 0:
        return None, offset
    length = length_plus_one - 1
    # Java's subtraction wraps round: the smallest int32 becomes the largest, which is too long.
    if length < 0 or length > primitives.INT16_MAX or offset + length > len(data):
        raise Unreadable("the string is longer than it may be, or than the frame")
    return str(data[offset : offset + length], "utf-8", "replace"), offset + length


def _name(data: memoryview, offset: int) -> tuple[str, int]:
    text, offset = _compact_text(data, offset)
    if text is None:
        raise Unreadable("a name is null")
    return text, offset


def parse_body(data: memoryview, header: ParsedHeader, traits: Traits) -> ParsedBody:
    """Read the body of an ApiVersions request from v3 on.

    Raises:
        Unreadable: a field is null or reaches beyond the frame.
    """
    name, offset = _name(data, header.body_offset)
    version, offset = _name(data, offset)
    cluster_id, node_id = None, -1
    if header.api_version >= FIRST_VERSION_WITH_CLUSTER_CHECK:
        cluster_id, offset = _compact_text(data, offset)
        try:
            node_id, offset = primitives.read_int32(data, offset)
        except DecodeError as error:
            raise Unreadable(str(error)) from error
    _, offset = skip_tags(data, offset, traits, ascending=traits.body_tags_ascending)
    return ParsedBody(
        client_software_name=name,
        client_software_version=version,
        cluster_id=cluster_id,
        node_id=node_id,
        end=offset,
    )


def other_api_reads(data: memoryview, header: ParsedHeader) -> bool:
    """Tell whether the request of another API is one that surely reads: Metadata of all topics, ListGroups."""
    body = _BODIES_THAT_READ.get((header.api_key, header.api_version))
    return body is not None and bytes(data[header.body_offset :]).startswith(body)


def read_mechanism(data: memoryview, header: ParsedHeader) -> str:
    """Read the body of a SaslHandshake request.

    Raises:
        Unreadable: the mechanism is null or reaches beyond the frame.
    """
    try:
        length, offset = primitives.read_int16(data, header.body_offset)
        if length < 0:
            raise Unreadable("the mechanism is null")
        raw, _ = primitives.read_bytes(data, offset, length)
    except DecodeError as error:
        raise Unreadable(str(error)) from error
    return str(raw, "utf-8", "replace")


def read_token(data: memoryview, header: ParsedHeader, traits: Traits) -> bytes:
    """Read the body of a SaslAuthenticate request.

    Raises:
        Unreadable: the token is null or reaches beyond the frame.
    """
    flexible = header.api_version >= FIRST_FLEXIBLE_AUTHENTICATE
    offset = header.body_offset
    try:
        if flexible:
            _, offset = skip_tags(data, offset, traits, ascending=False)
            length_plus_one, offset = read_varint_as_int32(data, offset)
            length = length_plus_one - 1
        else:
            length, offset = primitives.read_int32(data, offset)
        if length < 0:
            raise Unreadable("the token is null")
        token, offset = primitives.read_bytes(data, offset, length)
    except DecodeError as error:
        raise Unreadable(str(error)) from error
    if flexible:
        skip_tags(data, offset, traits, ascending=traits.body_tags_ascending)
    return bytes(token)
