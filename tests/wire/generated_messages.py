"""Generated messages of every class and version, from the field tables alone.

Independent of `strategies/`, so that neither can hide the other's faults.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from hypothesis import strategies as st

from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.codec import decode_prefix
from wire.fields import Field, FieldType, Message
from wire.headers import RequestHeader, ResponseHeader
from wire.message_schemas import api
from wire.primitives import UINT32_MAX, TaggedField

_NUMBERS = {
    FieldType.BOOLEAN: st.booleans(),
    FieldType.INT8: st.integers(-(2**7), 2**7 - 1),
    FieldType.INT16: st.integers(-(2**15), 2**15 - 1),
    FieldType.INT32: st.integers(-(2**31), 2**31 - 1),
    FieldType.INT64: st.integers(-(2**63), 2**63 - 1),
    FieldType.UUID: st.uuids(),
}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


EveryType = api("""
    99 EveryType 0-2 1+
    request
        ABoolean bool 0+
        AnInt8 int8 0+
        AnInt64 int64 0+
        AUuid uuid 0+
        AString string 0+
        ANullableString string 0+ nullable=0+
        APlainString string 1 nullable=1 flexibleVersions=none default=null
        ANullableArray []Pair 0+ nullable=0+
            Left int8 0+
            Right bool 1+ tag=300 default=true
        ATaggedString string 1+ nullable=1+ tag=1 default=tagged
        ATaggedArray []Pair 2+ nullable=2+ tag=200 default=null
            Left int8 0+
            Right bool 1+ tag=300 default=true
    response
    """).request
"""A message with every field type and every option, including those that no Kafka message here has."""


class MessageLayout(NamedTuple):
    """A message class in one version."""

    message: type[Any]
    version: int

    def read(self, data: memoryview, offset: int) -> tuple[Any, int]:
        """Decode one message at an offset; this is the layout's decoder."""
        return decode_prefix(self.message, data, version=self.version, offset=offset)

    def __str__(self) -> str:
        return f"{self.message.__name__}-v{self.version}"


KAFKA_LAYOUTS = (
    *(MessageLayout(ApiVersionsRequest, version) for version in range(NEWEST_VERSION + 1)),
    *(MessageLayout(ApiVersionsResponse, version) for version in range(NEWEST_VERSION + 1)),
    *(MessageLayout(RequestHeader, version) for version in range(3)),
    *(MessageLayout(ResponseHeader, version) for version in range(2)),
)
LAYOUTS = (*KAFKA_LAYOUTS, *(MessageLayout(EveryType, version) for version in range(3)))


@functools.cache
def messages(layout: MessageLayout) -> st.SearchStrategy[Any]:
    """Messages that only have the fields of their version."""
    message, version = layout
    values = {each.name: _values(each, version) for each in message.FIELDS if version in each.versions}
    if version in message.FLEXIBLE:
        values["unknown_tagged_fields"] = _unknown_tagged_fields(message)
    return st.builds(message, **values)


def _values(each: Field, version: int) -> st.SearchStrategy[Any]:
    values: st.SearchStrategy[Any]
    if each.element is not None:
        values = st.lists(messages(MessageLayout(each.element, version)), max_size=3).map(tuple)
    elif each.type is FieldType.STRING:
        values = TEXT
    else:
        values = _NUMBERS[each.type]
    if each.convert is not None:
        values = values.map(each.convert)
    return st.none() | values if version in each.nullable else values


def _unknown_tagged_fields(message: type[Message]) -> st.SearchStrategy[tuple[TaggedField, ...]]:
    known = {each.tag for each in message.FIELDS}
    tags = st.integers(0, 300) | st.integers(0, UINT32_MAX)
    fields = st.dictionaries(tags.filter(lambda tag: tag not in known), st.binary(max_size=5), max_size=3)
    return fields.map(lambda found: tuple(TaggedField(*each) for each in sorted(found.items())))
