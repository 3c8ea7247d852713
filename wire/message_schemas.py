"""Message classes of every Kafka API, built from Kafka's own schemas.

A schema is one parsed JSON file from a `kafka-clients` jar. It becomes a frozen dataclass with a field table,
which `wire.codec` encodes and decodes like the handwritten messages of this package. Names are the schema's,
snake_cased. `fixtures.artefacts.schema_jars` reads the jars.

Source: apache/kafka, clients/src/main/resources/common/message/README.md, for the meaning of a schema's keys.
"""

from __future__ import annotations

import copyreg
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from inspect import cleandoc
from typing import Any
from uuid import UUID

from wire.codec import decode, decode_prefix, encode
from wire.error_codes import ErrorCode
from wire.errors import DecodeError
from wire.exchange import Request, encode_request
from wire.fields import NO_VERSIONS, Field, FieldType, Versions, versions
from wire.header_versions import HEADER_VERSIONS, Layout, Schema, header_version
from wire.headers import RequestHeader, ResponseHeader
from wire.plain_header import PLAIN_CLIENT_ID, PLAIN_CORRELATION_ID, plain_header
from wire.primitives import TaggedField

_ARRAY = "[]"
_ERROR_CODE = "ErrorCode"
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ZERO: Mapping[FieldType, Any] = {
    FieldType.BOOLEAN: False,
    FieldType.FLOAT64: 0.0,
    FieldType.UUID: UUID(int=0),
    FieldType.STRING: "",
    FieldType.BYTES: b"",
    FieldType.RECORDS: b"",
    FieldType.ARRAY: (),
}
"""The default of a field whose schema names none; 0 for the integer types, which are not listed."""


def snake_case(name: str) -> str:
    """Return a schema's name in snake case: "ThrottleTimeMs" becomes "throttle_time_ms"."""
    return _WORD_BEGINS.sub("_", name).lower()


def message_class(schema: Schema) -> type[Any]:
    """Return the message class of a schema; every field defaults to the schema's default.

    Args:
        schema: the schema of a request, of a response, or any other schema with fields.
    """
    shared = {each["name"]: each["fields"] for each in schema.get("commonStructs", ())}
    flexible = versions(schema.get("flexibleVersions", "none"))
    return _struct_class(schema["name"], schema.get("fields", ()), flexible, shared)


def _struct_class(
    name: str, fields: Iterable[Schema], flexible: Versions, shared: Mapping[str, list[Schema]]
) -> type[Any]:
    return _class_of(name, tuple(_field(each, flexible, shared) for each in fields), flexible)


class _MadeClass(type):
    """The class of the classes made here: no module has them by name, so they are pickled as their field tables."""


class _Made(metaclass=_MadeClass):
    """The base of every message made here."""


@cache
def _class_of(name: str, table: tuple[Field, ...], flexible: Versions) -> type[Any]:
    """Return the class of a field table, always the same one for equal arguments.

    Making a class takes a millisecond, and processes send messages by the thousand.
    """
    attributes: list[tuple[str, Any, Any]] = [
        (each.name, Any, dataclasses.field(default=each.default)) for each in table
    ]
    attributes.append(("unknown_tagged_fields", tuple[TaggedField, ...], dataclasses.field(default=())))
    order = dataclasses.field(default=(), compare=False, repr=False)
    attributes.append(("tag_order", tuple[int, ...], order))
    constants = {"FIELDS": table, "FLEXIBLE": flexible}
    return dataclasses.make_dataclass(name, attributes, bases=(_Made,), namespace=constants, frozen=True, kw_only=True)


def _how_to_make(made: Any) -> tuple[Callable[..., type[Any]], tuple[object, ...]]:
    return _class_of, (made.__name__, made.FIELDS, made.FLEXIBLE)


copyreg.pickle(_MadeClass, _how_to_make)  # type: ignore[arg-type]


def _field(schema: Schema, flexible: Versions, shared: Mapping[str, list[Schema]]) -> Field:
    text = schema["type"]
    inner = text.removeprefix(_ARRAY)
    element = None
    if inner[0].isupper():
        element = _struct_class(inner, schema.get("fields") or shared[inner], flexible, shared)
    items = FieldType(inner) if text.startswith(_ARRAY) and element is None else None
    type_ = FieldType.ARRAY if text.startswith(_ARRAY) else FieldType.STRUCT if element is not None else FieldType(text)
    own_flexible = schema.get("flexibleVersions")
    return Field(
        name=snake_case(schema["name"]),
        type=type_,
        versions=versions(schema["versions"]),
        nullable=versions(schema.get("nullableVersions", "none")),
        flexible=None if own_flexible is None else versions(own_flexible),
        # Some schemas write the tag as a string.
        tag=int(schema["tag"]) if "tag" in schema else None,
        default=_default(schema, type_, element),
        element=element,
        items=items,
        convert=ErrorCode if schema["name"] == _ERROR_CODE and type_ is FieldType.INT16 else None,
    )


def _default(schema: Schema, type_: FieldType, element: type[Any] | None) -> Any:
    if "default" not in schema:
        if type_ is FieldType.STRUCT and element is not None:
            return element()
        return _ZERO.get(type_, 0)
    text = str(schema["default"])
    if text == "null":
        return None
    if type_ is FieldType.BOOLEAN:
        return text.lower() == "true"
    return text if type_ is FieldType.STRING else int(text, 0)


@dataclass(frozen=True)
class Api:
    """The request and response schemas of one API, from one source.

    Attributes:
        request_schema: the parsed schema of its request.
        response_schema: the parsed schema of its response.
    """

    request_schema: Schema
    response_schema: Schema

    @property
    def api_key(self) -> int:
        """The API's key."""
        return int(self.request_schema["apiKey"])

    @property
    def name(self) -> str:
        """The API's name, such as "Produce"."""
        return str(self.request_schema["name"]).removesuffix("Request")

    @property
    def valid_versions(self) -> Versions:
        """The versions that the source describes."""
        return versions(self.request_schema["validVersions"])

    @cached_property
    def request(self) -> type[Any]:
        """The message class of its requests."""
        return message_class(self.request_schema)

    @cached_property
    def response(self) -> type[Any]:
        """The message class of its responses."""
        return message_class(self.response_schema)

    def request_header_version(self, api_version: int) -> int:
        """Return the header version of a request."""
        return header_version(self.request_schema, api_version)

    def response_header_version(self, api_version: int) -> int:
        """Return the header version of a response."""
        return header_version(self.response_schema, api_version)

    def plain_request(
        self,
        api_version: int,
        *,
        correlation_id: int = PLAIN_CORRELATION_ID,
        client_id: str = PLAIN_CLIENT_ID,
        **fields: Any,
    ) -> Request:
        """Return a request with a plain header.

        Args:
            api_version: its version.
            correlation_id: its correlation id.
            client_id: its client id.
            **fields: values of the body's fields, as for `message_from`.

        Raises:
            EncodeError: a value does not fit its field.
        """
        header = plain_header(self.api_key, api_version, correlation_id, client_id=client_id)
        body = encode(message_from(self.request, fields), version=api_version)
        return encode_request(header, body, layout=self.layout(api_version))

    def response_payload(self, message: Any, api_version: int, correlation_id: int) -> bytes:
        """Return the payload of a response with this message.

        Raises:
            EncodeError: a value does not fit its field.
        """
        header = ResponseHeader(correlation_id=correlation_id)
        header_version = self.response_header_version(api_version)
        return encode(header, version=header_version) + encode(message, version=api_version)

    def decode_request(self, payload: bytes, api_version: int) -> Any:
        """Decode a request without leaving any bytes over; return its message.

        Raises:
            DecodeError: the request does not decode. The offsets in a body count from its beginning.
        """
        _, body = decode_prefix(RequestHeader, payload, version=self.request_header_version(api_version))
        return decode(self.request, payload[body:], version=api_version)

    def decode_response(self, payload: bytes, api_version: int) -> tuple[int, Any]:
        """Decode a response without leaving any bytes over; return its correlation id and its message.

        Raises:
            DecodeError: the response does not decode. The offsets count from the beginning of its payload.
        """
        version = self.response_header_version(api_version)
        header, body = decode_prefix(ResponseHeader, payload, version=version)
        try:
            return header.correlation_id, decode(self.response, payload[body:], version=api_version)
        except DecodeError as error:
            error.start += body
            error.end += body
            raise

    def read_response(self, payload: bytes, api_version: int) -> Any:
        """Decode a response, as a client does that ignores what may follow, and return its message.

        Raises:
            DecodeError: the response does not decode.
        """
        version = self.response_header_version(api_version)
        _, body = decode_prefix(ResponseHeader, payload, version=version)
        return decode_prefix(self.response, payload, version=api_version, offset=body)[0]

    def layout(self, api_version: int) -> Layout:
        """Return the layout of requests and responses in a version."""
        return Layout(
            request=self.request,
            response=self.response,
            version=api_version,
            request_header_version=self.request_header_version(api_version),
            response_header_version=self.response_header_version(api_version),
        )


def message_from(message: type[Any], values: Mapping[str, Any]) -> Any:
    """Return a message with the given values, and the schema's defaults for all other fields.

    Args:
        message: its class.
        values: by the names of its fields. A mapping stands for a struct, and a sequence of mappings for an array of
            structs.
    """
    elements = {field.name: field.element for field in message.FIELDS}
    return message(**{name: _value_from(elements[name], value) for name, value in values.items()})


def _value_from(element: type[Any] | None, value: Any) -> Any:
    if element is None or value is None:
        return value
    if isinstance(value, Mapping):
        return message_from(element, value)
    return tuple(message_from(element, each) for each in value)


def error_codes_in(message: Any, api_version: int) -> Iterator[int]:
    """Yield every error code in a message of a given version, at any depth."""
    for field in message.FIELDS:
        if api_version not in field.versions:
            continue
        value = getattr(message, field.name)
        if field.name == "error_code":
            yield value
        for part in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(part):
                yield from error_codes_in(part, api_version)


class ApiCatalogue:
    """All APIs that one or more sources of schemas describe."""

    def __init__(self, sources: Iterable[Iterable[Schema]]) -> None:
        """Collect the schemas.

        Args:
            sources: the schemas of each source. If two sources describe a version, the earlier one wins.
        """
        self._apis: dict[int, list[Api]] = {}
        for schemas in sources:
            for api in _apis_of(schemas):
                self._apis.setdefault(api.api_key, []).append(api)

    def find(self, api_key: int, api_version: int) -> Api | None:
        """Return the API from the first source that describes this version, or None."""
        described = self._apis.get(api_key, ())
        return next((api for api in described if api_version in api.valid_versions), None)

    def nearest(self, api_key: int, api_version: int) -> tuple[Api, int] | None:
        """Return the API and its described version nearest to `api_version`, or None."""
        candidates = [
            (api, min(max(api_version, first), last))
            for api in self._apis.get(api_key, ())
            for first, last in [(api.valid_versions.first, _last(api.valid_versions))]
        ]
        return min(candidates, key=lambda each: abs(each[1] - api_version), default=None)

    def versions_of(self, api_key: int) -> list[int]:
        """Return the versions of an API that at least one source describes, ascending."""
        described = self._apis.get(api_key, ())
        ranges = (api.valid_versions for api in described)
        return sorted({version for each in ranges for version in range(each.first, _last(each) + 1)})

    def name_of(self, api_key: int) -> str:
        """Return an API's name, or "key N" if no source describes it."""
        described = self._apis.get(api_key)
        return described[0].name if described else f"key {api_key}"

    def __iter__(self) -> Any:
        """Yield every API of every source, ordered by key."""
        for api_key in sorted(self._apis):
            yield from self._apis[api_key]


def _last(range_: Versions) -> int:
    return range_.first if range_.last is None else range_.last


def _apis_of(schemas: Iterable[Schema]) -> Iterable[Api]:
    halves: dict[int, dict[str, Schema]] = {}
    for schema in schemas:
        if "apiKey" in schema and versions(schema["validVersions"]) != NO_VERSIONS:
            halves.setdefault(schema["apiKey"], {})[schema["type"]] = schema
    for half in halves.values():
        yield Api(half["request"], half["response"])


def api(text: str) -> Api:
    """Return an API.

    Args:
        text: a line with its key, name, versions and flexible versions, then "request" and "response" with their
            fields. The line may end with the header versions of its requests. A field is a line with its name, type and
            versions in Kafka's notation, and further keys, where "nullable" stands for "nullableVersions". The fields
            of its elements come after it, indented by four spaces more.
    """
    first, *lines = cleandoc(text).splitlines()
    key, name, *ranges = first.split()
    common = {"apiKey": int(key), "validVersions": ranges[0], "flexibleVersions": ranges[1]}
    stated = {HEADER_VERSIONS: _pairs(ranges[2:], ":")} if ranges[2:] else {}
    path: list[dict[str, Any]] = [{}]
    for line in lines:
        words = line.split()
        described = dict(zip(("name", "type", "versions"), words, strict=False))
        del path[1 + (len(line) - len(line.lstrip())) // 4 :]
        path[-1].setdefault("fields", []).append(described | _pairs(words[3:], "="))
        path.append(path[-1]["fields"][-1])
    request, response = (each.get("fields", []) for each in path[0]["fields"])
    return Api(
        request_schema={"name": f"{name}Request", **common, **stated, "fields": request},
        response_schema={"name": f"{name}Response", **common, "fields": response},
    )


def _pairs(words: Sequence[str], separator: str) -> dict[str, str]:
    named = (word.replace("nullable=", "nullableVersions=") for word in words)
    return dict(word.split(separator) for word in named)
