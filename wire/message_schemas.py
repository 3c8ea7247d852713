"""Messages of every Kafka API, made from Kafka's own schemas: no table of ours names their fields.

A schema is the parsed JSON that each `kafka-clients` jar carries. It becomes a frozen dataclass with a field
table, which `wire.codec` encodes and decodes as it does the messages that are written out here. Names are the
schema's, snake_cased. Reading the jars is for `fixtures.message_schemas`.

Source: apache/kafka, clients/src/main/resources/common/message/README.md, for what the keys of a schema mean.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from wire.api_versions import API_VERSIONS_KEY
from wire.error_codes import ErrorCode
from wire.fields import NO_VERSIONS, Field, FieldType, Versions, versions
from wire.headers import FLEXIBLE_REQUEST_HEADER, PLAIN_REQUEST_HEADER
from wire.layouts import Layout
from wire.primitives import TaggedField

Schema = Mapping[str, Any]
"""One parsed JSON file, or a part of it."""

CONTROLLED_SHUTDOWN_KEY = 7

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
"""What a field without a default in its schema has; whole numbers have 0."""


def snake_case(name: str) -> str:
    """Return a schema's name as it is written here: "ThrottleTimeMs" is "throttle_time_ms"."""
    return _WORD_BEGINS.sub("_", name).lower()


def message_class(schema: Schema) -> type[Any]:
    """Return the class of a schema's messages: every field has the schema's default.

    Args:
        schema: a request, a response or any other schema with fields.
    """
    shared = {each["name"]: each["fields"] for each in schema.get("commonStructs", ())}
    flexible = versions(schema.get("flexibleVersions", "none"))
    return _struct_class(schema["name"], schema.get("fields", ()), flexible, shared)


def _struct_class(
    name: str, fields: Iterable[Schema], flexible: Versions, shared: Mapping[str, list[Schema]]
) -> type[Any]:
    table = tuple(_field(each, flexible, shared) for each in fields)
    attributes: list[tuple[str, Any, Any]] = [
        (each.name, Any, dataclasses.field(default=each.default)) for each in table
    ]
    attributes.append(
        ("unknown_tagged_fields", tuple[TaggedField, ...], dataclasses.field(default=()))
    )
    order = dataclasses.field(default=(), compare=False, repr=False)
    attributes.append(("tag_order", tuple[int, ...], order))
    constants = {"FIELDS": table, "FLEXIBLE": flexible}
    return dataclasses.make_dataclass(
        name, attributes, namespace=constants, frozen=True, kw_only=True
    )


def _field(schema: Schema, flexible: Versions, shared: Mapping[str, list[Schema]]) -> Field:
    text = schema["type"]
    inner = text.removeprefix(_ARRAY)
    element = None
    if inner[0].isupper():
        element = _struct_class(inner, schema.get("fields") or shared[inner], flexible, shared)
    items = FieldType(inner) if text.startswith(_ARRAY) and element is None else None
    if text.startswith(_ARRAY):
        type_ = FieldType.ARRAY
    else:
        type_ = FieldType.STRUCT if element is not None else FieldType(text)
    own_flexible = schema.get("flexibleVersions")
    return Field(
        name=snake_case(schema["name"]),
        type=type_,
        versions=versions(schema["versions"]),
        nullable=versions(schema.get("nullableVersions", "none")),
        flexible=None if own_flexible is None else versions(own_flexible),
        # Some schemas write the number as a text.
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
    """One API as one source of schemas has it: its request and its response.

    Attributes:
        request_schema: the parsed schema of its requests.
        response_schema: the parsed schema of its responses.
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
        """The class of its requests."""
        return message_class(self.request_schema)

    @cached_property
    def response(self) -> type[Any]:
        """The class of its responses."""
        return message_class(self.response_schema)

    def request_header_version(self, api_version: int) -> int:
        """Return the version of the header that a request has.

        ControlledShutdown v0 has the oldest header, which knows no client id.
        """
        if self.api_key == CONTROLLED_SHUTDOWN_KEY and api_version == 0:
            return 0
        flexible = api_version in self.request.FLEXIBLE
        return FLEXIBLE_REQUEST_HEADER if flexible else PLAIN_REQUEST_HEADER

    def response_header_version(self, api_version: int) -> int:
        """Return the version of the header that a response has; that of ApiVersions is always 0."""
        flexible = api_version in self.response.FLEXIBLE
        return int(flexible and self.api_key != API_VERSIONS_KEY)

    def layout(self, api_version: int) -> Layout:
        """Return how requests and responses of a version are written."""
        return Layout(
            request=self.request,
            response=self.response,
            version=api_version,
            request_header_version=self.request_header_version(api_version),
            response_header_version=self.response_header_version(api_version),
        )


class ApiCatalogue:
    """Every API that any of some sources of schemas describes."""

    def __init__(self, sources: Iterable[Iterable[Schema]]) -> None:
        """Take the schemas.

        Args:
            sources: schemas of each source; where two describe a version, the earlier source counts.
        """
        self._apis: dict[int, list[Api]] = {}
        for schemas in sources:
            for api in _apis_of(schemas):
                self._apis.setdefault(api.api_key, []).append(api)

    def find(self, api_key: int, api_version: int) -> Api | None:
        """Return the API as the source that describes this version has it."""
        described = self._apis.get(api_key, ())
        return next((api for api in described if api_version in api.valid_versions), None)

    def nearest(self, api_key: int, api_version: int) -> tuple[Api, int] | None:
        """Return the API and the version of it that is described and nearest to the one asked for."""
        candidates = [
            (api, min(max(api_version, first), last))
            for api in self._apis.get(api_key, ())
            for first, last in [(api.valid_versions.first, _last(api.valid_versions))]
        ]
        return min(candidates, key=lambda each: abs(each[1] - api_version), default=None)

    def versions_of(self, api_key: int) -> list[int]:
        """Return the versions of an API that any source describes, ascending."""
        described = self._apis.get(api_key, ())
        ranges = (range(each.first, _last(each) + 1) for each in map(_valid_versions, described))
        return sorted({version for versions_ in ranges for version in versions_})

    def name_of(self, api_key: int) -> str:
        """Return an API's name, or "key N" for one that no source names."""
        described = self._apis.get(api_key)
        return described[0].name if described else f"key {api_key}"

    def __iter__(self) -> Any:
        """Every API of every source, by key."""
        for api_key in sorted(self._apis):
            yield from self._apis[api_key]


def _valid_versions(api: Api) -> Versions:
    return api.valid_versions


def _last(range_: Versions) -> int:
    return range_.first if range_.last is None else range_.last


def _apis_of(schemas: Iterable[Schema]) -> Iterable[Api]:
    halves: dict[int, dict[str, Schema]] = {}
    for schema in schemas:
        if "apiKey" in schema and versions(schema["validVersions"]) != NO_VERSIONS:
            halves.setdefault(schema["apiKey"], {})[schema["type"]] = schema
    for half in halves.values():
        yield Api(half["request"], half["response"])
