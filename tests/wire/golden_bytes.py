"""Loads tests/vectors/: bytes that another codec wrote, and their values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from wire.fields import FieldType, Message
from wire.headers import RequestHeader, ResponseHeader
from wire.primitives import TaggedField

_FOLDER = Path(__file__).parents[1] / "vectors"
MESSAGES: Mapping[str, type[Any]] = {
    message.__name__: message for message in (ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader)
}


def load_vectors(name: str) -> dict[str, Any]:
    """Return the content of a file in tests/vectors/."""
    loaded: dict[str, Any] = json.loads((_FOLDER / name).read_text("utf-8"))
    return loaded


def message_of(message: type[Any], fields: Mapping[str, Any]) -> Message:
    """Return a message with the plain values of a vector; fields that it does not name have defaults."""
    values = dict(fields)
    unknown = values.pop("unknown_tagged_fields", [])
    for each in message.FIELDS:
        value = values.get(each.name)
        if value is None:
            continue
        if each.type is FieldType.ARRAY:
            values[each.name] = tuple(message_of(each.element, element) for element in value)
        elif each.convert is not None:
            values[each.name] = each.convert(value)
    tags = tuple(TaggedField(tag, bytes.fromhex(data)) for tag, data in unknown)
    made: Message = message(**values, unknown_tagged_fields=tags)
    return made
