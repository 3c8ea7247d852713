"""Request headers v0 to v3, response headers v0 and v1, and their choice.

A message has one request and one response header version.

ClientId keeps its int16 length in every header version; only the tag section is flexible.
Header v3 is that of KIP-1313, which is under discussion.
Source: KIP-482, "Request and Response Headers"; KIP-511 for the response header of ApiVersions.

A schema is one parsed JSON file, as for `wire.message_schemas`. It states header versions in its property
`headerVersions`, which no schema of a release has: a proposal adds it. Otherwise they follow from its flexible
versions, as Kafka derives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

from wire.api_keys import API_VERSIONS_KEY, CONTROLLED_SHUTDOWN_KEY
from wire.api_versions import ApiVersionsRequest
from wire.fields import NO_VERSIONS, Field, FieldType, Versions, versions
from wire.primitives import STRING_LENGTH_BYTES, TaggedField

FLEXIBLE_REQUEST_HEADER = 2
PLAIN_REQUEST_HEADER = 1
CORRELATION_ID_BYTES = 4
"""Length of a response header v0, which is the correlation id alone."""
ERROR_CODE_BYTES = 2
NO_ERROR = bytes(ERROR_CODE_BYTES)
"""The error code of a success, with which the body of a response begins."""
NO_INSTANCE_ID = UUID(int=0)
"""What stands for no client instance id."""
INSTANCE_ID_REQUEST_HEADER = 3
"""The request header with a client instance id (KIP-1313, a proposal)."""
PLAIN_INSTANCE_ID = UUID(int=0x0123456789ABCDEF0123456789ABCDEF)
"""The client instance id of every request with header v3 that is not about its id."""
PLAIN_CLIENT_ID = "kafka-conformance"
"""The client id of every request that is not about client ids."""
PLAIN_SOFTWARE_VERSION = "0.1.0"
"""The version that plain requests name: not that of the suite, so that every release of it sends the same bytes."""
PLAIN_CORRELATION_ID = 7
"""Not 0, which a target might send whatever the request has."""
PLAIN_BODY = ApiVersionsRequest(client_software_name=PLAIN_CLIENT_ID, client_software_version=PLAIN_SOFTWARE_VERSION)
"""The body of every ApiVersions request that is not about its body."""
_CORRELATION_ID_IN_REQUEST = slice(4, 4 + CORRELATION_ID_BYTES)
CLIENT_ID_OFFSET = _CORRELATION_ID_IN_REQUEST.stop
"""Where the length of the client id begins in every request, without its size prefix."""
CLIENT_ID_LENGTH_END = CLIENT_ID_OFFSET + STRING_LENGTH_BYTES
"""Where the client id itself begins; no header of ApiVersions is shorter."""
API_VERSIONS_V0_START = API_VERSIONS_KEY.to_bytes(2) + bytes(2)
"""API key and version, with which a request of ApiVersions v0 begins."""


Schema = Mapping[str, Any]
"""A parsed JSON schema file, or a part of one."""
HEADER_VERSIONS = "headerVersions"
REQUEST, RESPONSE = "request", "response"
FIRST_FLEXIBLE: Mapping[str, int] = {REQUEST: FLEXIBLE_REQUEST_HEADER, RESPONSE: 1}
"""The first header version that has a tag section."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader:
    """The header of a request."""

    request_api_key: int
    request_api_version: int
    correlation_id: int
    client_id: str | None = ""
    unknown_tagged_fields: tuple[TaggedField, ...] = ()
    tag_order: tuple[int, ...] = field(default=(), compare=False, repr=False)

    FLEXIBLE: ClassVar[Versions] = versions("2+")
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("request_api_key", FieldType.INT16, versions("0+")),
        Field("request_api_version", FieldType.INT16, versions("0+")),
        Field("correlation_id", FieldType.INT32, versions("0+")),
        Field(
            "client_id",
            FieldType.STRING,
            versions("1+"),
            nullable=versions("1+"),
            flexible=NO_VERSIONS,
            default="",
        ),
    )


def plain_header(
    api_key: int,
    api_version: int,
    correlation_id: int = PLAIN_CORRELATION_ID,
    *,
    client_id: str | None = PLAIN_CLIENT_ID,
) -> RequestHeader:
    """Return the header of a request that is not about its header."""
    return RequestHeader(
        request_api_key=api_key,
        request_api_version=api_version,
        correlation_id=correlation_id,
        client_id=client_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceIdHeader(RequestHeader):
    """The header of a request that can have a client instance id, from v3 on."""

    client_instance_id: UUID = NO_INSTANCE_ID

    FIELDS: ClassVar[tuple[Field, ...]] = (
        *RequestHeader.FIELDS,
        Field("client_instance_id", FieldType.UUID, versions("3+"), default=NO_INSTANCE_ID),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHeader:
    """The header of a response. ApiVersions uses header v0 in every version."""

    correlation_id: int
    unknown_tagged_fields: tuple[TaggedField, ...] = ()
    tag_order: tuple[int, ...] = field(default=(), compare=False, repr=False)

    FLEXIBLE: ClassVar[Versions] = versions("1+")
    FIELDS: ClassVar[tuple[Field, ...]] = (Field("correlation_id", FieldType.INT32, versions("0+")),)


class RequestStart(NamedTuple):
    """The numbers with which every request header begins."""

    api_key: int
    api_version: int
    correlation_id: int


def read_request_start(payload: bytes) -> RequestStart:
    """Read the beginning of a request, without its size prefix; a number that is absent or cut off is not refused."""
    return RequestStart(
        api_key=int.from_bytes(payload[:2], signed=True),
        api_version=int.from_bytes(payload[2:4], signed=True),
        correlation_id=int.from_bytes(payload[_CORRELATION_ID_IN_REQUEST], signed=True),
    )


def correlation_id_bytes(request: bytes) -> bytes:
    """Return the correlation id of a request without its size prefix, as a response begins with it."""
    return request[_CORRELATION_ID_IN_REQUEST]


def read_correlation_id(response: bytes) -> int | None:
    """Read the correlation id of a response without its size prefix; None if it is too short for one."""
    id_ = response[:CORRELATION_ID_BYTES]
    return int.from_bytes(id_, signed=True) if len(id_) == CORRELATION_ID_BYTES else None


def read_error_code(response: bytes) -> int | None:
    """Read the number after the correlation id, the error code of ApiVersions; None if the response is too short."""
    code = response[CORRELATION_ID_BYTES : CORRELATION_ID_BYTES + ERROR_CODE_BYTES]
    return int.from_bytes(code, signed=True) if len(code) == ERROR_CODE_BYTES else None


def request_header_version(api_key: int, api_version: int) -> int:
    """Return the header version of an ApiVersions request, which follows from the api version alone.

    A version newer than the known ones counts as flexible, a negative one does not.

    Raises:
        ValueError: the key is not that of ApiVersions; for other APIs see `header_version`.
    """
    if api_key != API_VERSIONS_KEY:
        raise ValueError(f"no header version is known for api key {api_key}")
    flexible = api_version in ApiVersionsRequest.FLEXIBLE
    return FLEXIBLE_REQUEST_HEADER if flexible else PLAIN_REQUEST_HEADER


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One version of an API.

    Attributes:
        request: the message class of its requests.
        response: the message class of its responses.
        version: the version of both messages.
        request_header_version: the header version of a request.
        response_header_version: the header version of a response.
    """

    request: type[Any]
    response: type[Any]
    version: int
    request_header_version: int = PLAIN_REQUEST_HEADER
    response_header_version: int = 0


def kind_of(schema: Schema) -> str:
    """Return "request" or "response"; anything else, such as "header" or "data", has no header of its own."""
    name = str(schema.get("name", ""))
    for kind in (REQUEST, RESPONSE):
        if schema.get("type", kind) == kind and name.endswith(kind.title()):
            return kind
    return str(schema.get("type", "data"))


def derived_header_version(schema: Schema, api_version: int) -> int:
    """Return the header version of a message by today's rule: it follows from whether the version is flexible."""
    kind, api_key = kind_of(schema), schema["apiKey"]
    flexible = api_version in versions(schema.get("flexibleVersions", "none"))
    if kind == RESPONSE:
        # A client reads it before it knows what the broker supports.
        return int(flexible and api_key != API_VERSIONS_KEY)
    if api_key == CONTROLLED_SHUTDOWN_KEY and api_version == 0:
        return 0
    return FLEXIBLE_REQUEST_HEADER if flexible else PLAIN_REQUEST_HEADER


def header_version(schema: Schema, api_version: int) -> int:
    """Return the header version of a message: the one that its schema states, otherwise the derived one."""
    for key, value in schema.get(HEADER_VERSIONS, {}).items():
        if api_version in versions(key):
            return int(value)
    return derived_header_version(schema, api_version)
