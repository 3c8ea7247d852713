"""Encoding and decoding of any message that has a field table.

Decoding is strict: bytes that do not follow the schema raise a `DecodeError` with the field's path and offsets.
Encoding is strict too, except for fields whose bytes are given in `raw`, which may be wrong on purpose.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from wire import primitives
from wire.errors import BufferUnderflow, DecodeError, EncodeError, TrailingBytes, UnexpectedNull
from wire.fields import Field, FieldType, Message
from wire.primitives import TaggedField

M = TypeVar("M", bound=Message)
Reader = Callable[[memoryview, int], tuple[Any, int]]
Writer = Callable[[Any], bytes]

TAG_SECTION = "tagged_fields"
"""The key in `raw` that replaces a complete tag section."""


_NUMBERS: Mapping[FieldType, tuple[Reader, Writer]] = {
    FieldType.BOOLEAN: (primitives.read_boolean, primitives.write_boolean),
    FieldType.INT8: (primitives.read_int8, primitives.write_int8),
    FieldType.INT16: (primitives.read_int16, primitives.write_int16),
    FieldType.INT32: (primitives.read_int32, primitives.write_int32),
    FieldType.INT64: (primitives.read_int64, primitives.write_int64),
    FieldType.UINT16: (primitives.read_uint16, primitives.write_uint16),
    FieldType.UINT32: (primitives.read_uint32, primitives.write_uint32),
    FieldType.FLOAT64: (primitives.read_float64, primitives.write_float64),
    FieldType.UUID: (primitives.read_uuid, primitives.write_uuid),
}
_BYTES = (primitives.read_nullable_bytes, primitives.write_nullable_bytes)
_COMPACT_BYTES = (primitives.read_compact_nullable_bytes, primitives.write_compact_nullable_bytes)
_LENGTHS: Mapping[FieldType, tuple[tuple[Reader, Writer], tuple[Reader, Writer]]] = {
    FieldType.STRING: (
        (primitives.read_nullable_string, primitives.write_nullable_string),
        (primitives.read_compact_nullable_string, primitives.write_compact_nullable_string),
    ),
    FieldType.ARRAY: (
        (primitives.read_array_length, primitives.write_array_length),
        (primitives.read_compact_array_length, primitives.write_compact_array_length),
    ),
    FieldType.BYTES: (_BYTES, _COMPACT_BYTES),
    FieldType.RECORDS: (_BYTES, _COMPACT_BYTES),
}
"""Types that begin with a length, or are one: (plain form, compact form)."""
_NULLABLE_STRUCT = (primitives.read_struct_presence, primitives.write_struct_presence)


@dataclass(frozen=True, slots=True)
class Span:
    """The position of one value in the bytes, for hex dumps and error marks.

    The spans of a decoded message follow each other without gap or overlap. The span of an array covers
    only its count, and so does the span of a tag section (`TAG_SECTION`). `tagged_fields[i]` covers the
    tag and the size of the field at position i in the tag section.

    Attributes:
        field_path: path of the field, outermost first.
        start: offset of its first byte.
        end: offset after its last byte.
        value: the value read there; for `tagged_fields[i]` the tag.
    """

    field_path: str
    start: int
    end: int
    value: Any


Trace = list[Span]


def _pair(type_: FieldType, *, compact: bool, nullable: bool) -> tuple[Reader, Writer]:
    if type_ in _LENGTHS:
        return _LENGTHS[type_][compact]
    if type_ is FieldType.STRUCT:
        # A struct that cannot be null has no presence byte.
        return _NULLABLE_STRUCT if nullable else (lambda _, at: (True, at), lambda _: b"")
    return _NUMBERS[type_]


@dataclass(frozen=True, slots=True)
class _Step:
    """One field in one version, with its readers and writers already chosen."""

    field: Field
    nullable: bool
    read: Reader
    write: Writer
    item: tuple[Reader, Writer] | None


def _step(field: Field, message: type[Message], version: int) -> _Step:
    flexible = message.FLEXIBLE if field.flexible is None else field.flexible
    compact = version in flexible
    nullable = version in field.nullable
    item = None
    if field.items is not None:
        item = _pair(field.items, compact=compact, nullable=False)
    return _Step(field, nullable, *_pair(field.type, compact=compact, nullable=nullable), item)


@functools.cache
def _plan(message: type[Message], version: int) -> tuple[tuple[_Step, ...], dict[int, _Step]]:
    """Return the untagged fields of a version in order, and the tagged ones by tag."""
    present = [field for field in message.FIELDS if version in field.versions]
    steps = [_step(field, message, version) for field in present]
    untagged = tuple(step for step in steps if step.field.tag is None)
    return untagged, {step.field.tag: step for step in steps if step.field.tag is not None}


def decode(message: type[M], data: bytes | memoryview, *, version: int, trace: Trace | None = None) -> M:
    """Decode bytes that contain exactly one message.

    Args:
        message: the class to decode.
        data: the message's bytes, no more and no less.
        version: the message's version (for a header: the header version).
        trace: if given, a `Span` for every value is appended to it.

    Raises:
        DecodeError: the bytes do not follow the schema; `TrailingBytes` if some are left over.
    """
    decoded, end = decode_prefix(message, data, version=version, trace=trace)
    if end != len(data):
        raise TrailingBytes(f"{len(data) - end} bytes are left", start=end, end=len(data))
    return decoded


def decode_prefix(
    message: type[M],
    data: bytes | memoryview,
    *,
    version: int,
    offset: int = 0,
    trace: Trace | None = None,
) -> tuple[M, int]:
    """Decode one message that begins at `offset`; return it and the offset after it."""
    return _decode_struct(message, memoryview(data), offset, version, trace, "")


def _decode_struct(
    message: type[M], data: memoryview, offset: int, version: int, trace: Trace | None, path: str
) -> tuple[M, int]:
    untagged, tagged = _plan(message, version)
    values: dict[str, Any] = {}
    for step in untagged:
        values[step.field.name], offset = _decode_field(step, data, offset, version, trace, path)
    if version in message.FLEXIBLE:
        try:
            offset = _decode_tag_section(values, tagged, data, offset, version, trace, path)
        except DecodeError as error:
            raise error if error.field_path else error.within(TAG_SECTION) from None
    return message(**values), offset


def _decode_tag_section(
    values: dict[str, Any],
    known: Mapping[int, _Step],
    data: memoryview,
    offset: int,
    version: int,
    trace: Trace | None,
    path: str,
) -> int:
    """Decode a tag section into the values of its struct; return the offset after the section."""
    fields, section_end = primitives.read_raw_tagged_fields(data, offset)
    if trace is not None:
        count_end = fields[0].offset if fields else section_end
        trace.append(Span(f"{path}{TAG_SECTION}", offset, count_end, len(fields)))
    if not fields:
        return section_end
    unknown: list[TaggedField] = []
    for index, (tag, tag_offset, start, end) in enumerate(fields):
        if trace is not None:
            trace.append(Span(f"{path}{TAG_SECTION}[{index}]", tag_offset, start, tag))
        step = known.get(tag)
        if step is None:
            raw = bytes(data[start:end])
            if trace is not None:
                name = f"{path}unknown_tagged_fields[{len(unknown)}]"
                trace.append(Span(name, start, end, raw))
            unknown.append(TaggedField(tag, raw))
            continue
        value, after = _decode_field(step, data[:end], start, version, trace, path)
        if after != end:
            raise TrailingBytes(
                f"tag {tag} names {end - start} bytes, its value has {after - start}",
                start=after,
                end=end,
                field_path=step.field.name,
            )
        values[step.field.name] = value
    values["unknown_tagged_fields"] = tuple(unknown)
    values["tag_order"] = tuple(field.tag for field in fields)
    return section_end


def _decode_field(
    step: _Step, data: memoryview, offset: int, version: int, trace: Trace | None, path: str
) -> tuple[Any, int]:
    field = step.field
    try:
        value, end = step.read(data, offset)
        if value is None and not step.nullable:
            raise UnexpectedNull("null is not allowed here", start=offset, end=end)
        if field.convert is not None:
            value = field.convert(value)
        if trace is not None and end > offset:
            trace.append(Span(f"{path}{field.name}", offset, end, value))
        if field.type is FieldType.ARRAY and value is not None:
            value, end = _decode_array(step, value, data, end, version, trace, path)
        elif field.type is FieldType.STRUCT and value is not None:
            assert field.element is not None
            where = f"{path}{field.name}."
            value, end = _decode_struct(field.element, data, end, version, trace, where)
    except DecodeError as error:
        raise error.within(field.name) from None
    return value, end


def _decode_array(
    step: _Step,
    count: int,
    data: memoryview,
    offset: int,
    version: int,
    trace: Trace | None,
    path: str,
) -> tuple[tuple[Any, ...], int]:
    # Every element takes at least one byte, so a count larger than the number of bytes left is refused here.
    if count > len(data) - offset:
        raise BufferUnderflow(
            f"{count} elements announced, {len(data) - offset} bytes left",
            start=offset,
            end=len(data),
        )
    elements = []
    for index in range(count):
        where = f"{path}{step.field.name}[{index}]"
        try:
            value, offset = _decode_element(step, data, offset, version, trace, where)
        except DecodeError as error:
            raise error.within(f"[{index}]") from None
        elements.append(value)
    return tuple(elements), offset


def _decode_element(
    step: _Step, data: memoryview, offset: int, version: int, trace: Trace | None, path: str
) -> tuple[Any, int]:
    if step.item is None:
        assert step.field.element is not None
        return _decode_struct(step.field.element, data, offset, version, trace, f"{path}.")
    value, end = step.item[0](data, offset)
    if value is None:
        raise UnexpectedNull("null is not allowed here", start=offset, end=end)
    if trace is not None:
        trace.append(Span(path, offset, end, value))
    return value, end


def encode(message: Message, *, version: int, raw: Mapping[str, bytes] | None = None) -> bytes:
    """Encode a message.

    Args:
        message: the message to write; fields that do not exist in this version are left out.
        version: the message's version (for a header: the header version).
        raw: bytes to write in place of a field, by the field's name. For a tagged field the tag and size
            are still written in front of these bytes, even if its value is the default. `TAG_SECTION`
            replaces the complete tag section. Without it, the section contains the known tagged fields
            that differ from their default and the unknown ones, in ascending order.

    Raises:
        EncodeError: a value does not fit its field; an unknown tag is a known one or occurs twice; or `raw`
            names a field that this version does not have, or a tagged field together with `TAG_SECTION`.
    """
    untagged, tagged = _plan(type(message), version)
    replaced = dict(raw or {})
    parts = []
    for step in untagged:
        substitute = replaced.pop(step.field.name, None)
        parts.append(_encode_field(step, message, version) if substitute is None else substitute)
    if version in message.FLEXIBLE:
        section = replaced.pop(TAG_SECTION, None)
        if section is None:
            section = _encode_tag_section(tagged, message, version, replaced)
        parts.append(section)
    if replaced:
        raise EncodeError(f"version {version} has no place for {', '.join(sorted(replaced))}")
    return b"".join(parts)


def _encode_field(step: _Step, message: Message, version: int) -> bytes:
    field = step.field
    value = getattr(message, field.name)
    if value is None and not step.nullable:
        raise EncodeError(f"{field.name} is not nullable in version {version}")
    try:
        if value is None or field.type not in (FieldType.ARRAY, FieldType.STRUCT):
            return step.write(value)
        if field.type is FieldType.STRUCT:
            return step.write(value) + encode(value, version=version)
        if step.item is not None:
            elements = [step.item[1](element) for element in value]
        else:
            elements = [encode(element, version=version) for element in value]
        return step.write(len(value)) + b"".join(elements)
    except EncodeError as error:
        raise EncodeError(f"{field.name}: {error}") from error


def _encode_tag_section(
    tagged: Mapping[int, _Step], message: Message, version: int, replaced: dict[str, bytes]
) -> bytes:
    fields: list[TaggedField] = []
    taken = set(tagged)
    for unknown in message.unknown_tagged_fields:
        if unknown.tag in taken:
            raise EncodeError(f"tag {unknown.tag} is a known one or occurs twice")
        taken.add(unknown.tag)
        fields.append(unknown)
    for tag, step in tagged.items():
        data = replaced.pop(step.field.name, None)
        if data is None and getattr(message, step.field.name) != step.field.default:
            data = _encode_field(step, message, version)
        if data is not None:
            fields.append(TaggedField(tag, data))
    return primitives.write_raw_tagged_fields(tuple(sorted(fields)))
