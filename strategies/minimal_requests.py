"""One minimal request of every API and version.

A broker can answer it without changing anything.

`minimal_requests.toml` holds the values that differ from the schema's defaults. It also lists the APIs whose
requests would destroy something if the names in them existed.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

from wire.codec import encode
from wire.exchange import Request, encode_request
from wire.fields import Field, FieldType
from wire.message_schemas import Api
from wire.plain_header import PLAIN_CLIENT_ID, PLAIN_SOFTWARE_VERSION, plain_header

FILE = Path(__file__).with_name("minimal_requests.toml")
CORRELATION_ID = 7
NULL = "null"
"""Stands for null in the data file, because TOML has no null."""
_OUR_SOFTWARE = {
    "client_software_name": PLAIN_CLIENT_ID,
    "client_software_version": PLAIN_SOFTWARE_VERSION,
}
_FROM_TOML: Mapping[FieldType, Callable[[Any], Any]] = {
    FieldType.BYTES: bytes.fromhex,
    FieldType.UUID: UUID,
    FieldType.ARRAY: tuple,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimalValues:
    """The contents of the data file.

    Attributes:
        everywhere: values by field name, for every API that has the field.
        by_api: values by API name; they take precedence over `everywhere`.
        destructive: the APIs that could destroy something, each with what it does and why its request is harmless.
        nameless: those of them with a request that names nothing, each with the values that it has instead of the
            minimal ones.
    """

    everywhere: Mapping[str, Any]
    by_api: Mapping[str, Mapping[str, Any]]
    destructive: Mapping[str, str]
    nameless: Mapping[str, Mapping[str, Any]]


@functools.cache
def minimal_values() -> MinimalValues:
    """Return the contents of the data file."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return MinimalValues(
        everywhere={**_OUR_SOFTWARE, **tables.pop("everywhere")},
        by_api=tables.pop("api"),
        destructive=tables.pop("destructive"),
        nameless=tables.pop("nameless"),
    )


def minimal_request(
    api: Api,
    api_version: int,
    *,
    layout: int | None = None,
    correlation_id: int = CORRELATION_ID,
    client_id: str | None = PLAIN_CLIENT_ID,
    values: Mapping[str, Any] = MappingProxyType({}),
) -> Request:
    """Return the minimal request for one version of an API, if wanted in another layout.

    `values` replace the minimal values.
    """
    written = api_version if layout is None else layout
    header = plain_header(api.api_key, api_version, correlation_id, client_id=client_id)
    body = minimal_body(api, written, values=values)
    return encode_request(header, body, layout=api.layout(written))


def minimal_body(
    api: Api,
    api_version: int,
    *,
    values: Mapping[str, Any] = MappingProxyType({}),
    raw: Mapping[str, bytes] | None = None,
) -> bytes:
    """Return the body of the minimal request for one version of an API.

    `values` replace fields, and `raw` replaces the bytes of fields.
    """
    minimal = minimal_values()
    own = {**minimal.everywhere, **minimal.by_api.get(api.name, {}), **values}
    return encode(_message(api.request, own), version=api_version, raw=raw)


def _message(message: type[Any], values: Mapping[str, Any]) -> Any:
    """Build a message from those values that it has a field for."""
    fields = {field.name: field for field in message.FIELDS}
    return message(**{name: _value(fields[name], value) for name, value in values.items() if name in fields})


def _value(field: Field, value: Any) -> Any:
    if value == NULL:
        return None
    if field.type is FieldType.ARRAY and field.element is not None:
        return tuple(_message(field.element, each) for each in value)
    if field.type is FieldType.STRUCT and field.element is not None:
        return _message(field.element, value)
    convert = _FROM_TOML.get(field.type)
    return value if convert is None else convert(value)
