"""Request parser that is as lenient as Apache Kafka's.

Kafka's parser is more lenient than the specification.

Client ids may have any negative length and any bytes. Varints may be longer than necessary, and bits above the
32nd are dropped. Names are decoded with replacement characters. Requests that Kafka cannot parse raise
`Unreadable`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reference_model.profiles.profile import Traits
from wire import primitives
from wire.api_keys import (
    API_VERSIONS_KEY,
    BROKER_HEARTBEAT_KEY,
    DESCRIBE_CLUSTER_KEY,
    DESCRIBE_QUORUM_KEY,
    ENVELOPE_KEY,
    LIST_GROUPS_KEY,
    METADATA_KEY,
    PRODUCE_KEY,
    VOTE_KEY,
)
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK
from wire.errors import DecodeError
from wire.sasl import FIRST_FLEXIBLE_AUTHENTICATE

FIRST_FLEXIBLE = {
    API_VERSIONS_KEY: FIRST_FLEXIBLE_VERSION,
    METADATA_KEY: 9,
    LIST_GROUPS_KEY: 3,
    DESCRIBE_QUORUM_KEY: 0,
    DESCRIBE_CLUSTER_KEY: 0,
}
"""The first version with the flexible header, of the APIs whose header tags are read here."""
READABLE_BODIES = {
    (METADATA_KEY, 0): bytes(4),
    (LIST_GROUPS_KEY, 0): b"",
    # No tags in the header, no cluster id, no topics, no tags.
    (VOTE_KEY, 0): bytes.fromhex("00 00 01 00"),
    # No tags in the header, an empty request, an empty principal, the client's address, no tags.
    (ENVELOPE_KEY, 0): bytes.fromhex("00 01 01 05 7f000001 00"),
    # No tags in the header; broker id, epoch and offset are 0; neither fenced nor shutting down; no tags.
    (BROKER_HEARTBEAT_KEY, 0): bytes(1 + 4 + 8 + 8 + 1 + 1 + 1),
}
"""Bodies of other APIs that every release with the version parses, by key and version; any bytes may follow."""
_PRODUCE_NOTHING = (
    (range(3), re.compile(rb"\0\0.{4}\0{4}", re.DOTALL)),
    (range(3, 9), re.compile(rb"\xff\xff\0\0.{4}\0{4}", re.DOTALL)),
    (range(9, 14), re.compile(rb"\0{4}.{4}\x01\0", re.DOTALL)),
)
"""Bodies of Produce with acks 0, any timeout, no transaction and no topics, by version; from v9 on after a header
without tags."""
SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""A legal name or version of a client's software. Source: KIP-511, as Kafka has it."""


class Unreadable(Exception):
    """Kafka cannot parse the request and closes the connection."""


def is_valid_name(text: str) -> bool:
    """Whether a software name or version matches Kafka's expression."""
    return SOFTWARE_NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedHeader:
    """The fields of a request header as Kafka parses them, and the offset of the body."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    tag_count: int
    body_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedBody:
    """The body of an ApiVersions request, v3 or later, as Kafka parses it."""

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
    """Read an unsigned varint as a Java int: up to five bytes; surplus bits are dropped; it may be negative."""
    value = 0
    for index in range(primitives.VARINT_MAX_BYTES):
        if offset >= len(data):
            raise Unreadable("the varint is cut off")
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            value &= primitives.UINT32_MAX
            return value - (1 << 32) if value >= 1 << 31 else value, offset
    raise Unreadable("the varint is longer than five bytes")


def skip_tags(data: memoryview, offset: int, traits: Traits, *, ascending: bool) -> tuple[int, int]:
    """Skip a tag section.

    Args:
        data: the payload.
        offset: offset of the section.
        traits: the traits of the release.
        ascending: whether the tags must ascend, as signed numbers.

    Returns:
        The number of tags in the section, and the offset after it.
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
            raise Unreadable("the tags are not in ascending order")
        previous = tag
        size, offset = read_varint_as_int32(data, offset)
        if size < 0 or offset + size > len(data):
            raise Unreadable("the tag is larger than the frame")
        offset += size
    return max(count, 0), offset


def parse_header(data: memoryview, traits: Traits) -> ParsedHeader:
    """Parse a request header; the header version follows from the api key and version alone.

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
    first_flexible = FIRST_FLEXIBLE.get(api_key)
    if knows_flexible and first_flexible is not None and api_version >= first_flexible:
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
    if primitives.INT32_MIN < length_plus_one <= 0:
        return None, offset
    length = length_plus_one - 1
    # Java's subtraction wraps around: the smallest int32 becomes the largest, which is too long.
    if length < 0 or length > primitives.INT16_MAX or offset + length > len(data):
        raise Unreadable("the string is longer than allowed, or longer than the frame")
    return str(data[offset : offset + length], "utf-8", "replace"), offset + length


def _name(data: memoryview, offset: int) -> tuple[str, int]:
    text, offset = _compact_text(data, offset)
    if text is None:
        raise Unreadable("a name is null")
    return text, offset


def parse_body(data: memoryview, header: ParsedHeader, traits: Traits) -> ParsedBody:
    """Parse the body of an ApiVersions request, v3 or later.

    Raises:
        Unreadable: Kafka cannot parse the body; for example, a name is null or a field ends beyond the frame.
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
    """Return whether Kafka certainly parses this request: its body begins with one of `READABLE_BODIES`."""
    body = READABLE_BODIES.get((header.api_key, header.api_version))
    return body is not None and bytes(data[header.body_offset :]).startswith(body)


def gets_no_response(data: memoryview, header: ParsedHeader) -> bool:
    """Return whether this is Produce with acks 0 that writes nothing: with an error, Kafka closes the connection."""
    body = bytes(data[header.body_offset :])
    return header.api_key == PRODUCE_KEY and any(
        header.api_version in versions and pattern.fullmatch(body) for versions, pattern in _PRODUCE_NOTHING
    )


def read_mechanism(data: memoryview, header: ParsedHeader) -> str:
    """Return the mechanism in a SaslHandshake request.

    Raises:
        Unreadable: the mechanism is null or ends beyond the frame.
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
    """Return the token in a SaslAuthenticate request.

    Raises:
        Unreadable: the token is null or ends beyond the frame.
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
