"""Request headers v0 to v3, and response headers v0 and v1.

ClientId keeps its int16 length in every header version; only the tag section is flexible.
Header v3 is that of KIP-1313, which is under discussion.
Source: KIP-482, "Request and Response Headers".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple
from uuid import UUID

from wire.api_keys import API_VERSIONS_KEY
from wire.fields import NO_VERSIONS, Field, FieldType, Versions, versions
from wire.primitives import STRING_LENGTH_BYTES, TaggedField

CORRELATION_ID_BYTES = 4
"""Length of a response header v0, which is the correlation id alone."""
ERROR_CODE_BYTES = 2
NO_ERROR = bytes(ERROR_CODE_BYTES)
"""The error code of a success, with which the body of a response begins."""
NO_INSTANCE_ID = UUID(int=0)
"""What stands for no client instance id."""
_CORRELATION_ID_IN_REQUEST = slice(4, 4 + CORRELATION_ID_BYTES)
CLIENT_ID_OFFSET = _CORRELATION_ID_IN_REQUEST.stop
"""Where the length of the client id begins in every request, without its size prefix."""
CLIENT_ID_LENGTH_END = CLIENT_ID_OFFSET + STRING_LENGTH_BYTES
"""Where the client id itself begins; no header of ApiVersions is shorter."""
API_VERSIONS_V0_START = API_VERSIONS_KEY.to_bytes(2) + bytes(2)
"""API key and version, with which a request of ApiVersions v0 begins."""


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
