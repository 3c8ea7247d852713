"""Request headers v0 to v2, response headers v0 and v1, and the header version of an ApiVersions request.

ClientId keeps its int16 length in every header version; only the tag section is flexible.
Source: KIP-482, "Request and Response Headers"; KIP-511 for the response header of ApiVersions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from wire.api_versions import API_VERSIONS_KEY, ApiVersionsRequest
from wire.fields import NO_VERSIONS, Field, FieldType, Versions, versions
from wire.frames import SIZE_BYTES
from wire.primitives import TaggedField

FLEXIBLE_REQUEST_HEADER = 2
PLAIN_REQUEST_HEADER = 1
CORRELATION_ID_BYTES = 4
"""Length of a response header v0, which is the correlation id alone."""
ERROR_CODE_BYTES = 2


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
        Field(name="request_api_key", type=FieldType.INT16, versions=versions("0+")),
        Field(name="request_api_version", type=FieldType.INT16, versions=versions("0+")),
        Field(name="correlation_id", type=FieldType.INT32, versions=versions("0+")),
        Field(
            name="client_id",
            type=FieldType.STRING,
            versions=versions("1+"),
            nullable=versions("1+"),
            flexible=NO_VERSIONS,
            default="",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseHeader:
    """The header of a response. ApiVersions uses header v0 in every version."""

    correlation_id: int
    unknown_tagged_fields: tuple[TaggedField, ...] = ()
    tag_order: tuple[int, ...] = field(default=(), compare=False, repr=False)

    FLEXIBLE: ClassVar[Versions] = versions("1+")
    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field(name="correlation_id", type=FieldType.INT32, versions=versions("0+")),
    )


def read_key_and_version(frame: bytes) -> tuple[int, int]:
    """Return the api key and api version in a frame that starts with its size; an absent number reads as 0."""
    key, version = (
        int.from_bytes(frame[at : at + 2], signed=True) for at in (SIZE_BYTES, SIZE_BYTES + 2)
    )
    return key, version


def request_header_version(api_key: int, api_version: int) -> int:
    """Return the header version of an ApiVersions request, which follows from the api version alone.

    A version newer than the known ones counts as flexible, a negative one does not.

    Raises:
        ValueError: the key is not that of ApiVersions; for other APIs see `wire.layouts`.
    """
    if api_key != API_VERSIONS_KEY:
        raise ValueError(f"no header version is known for api key {api_key}")
    flexible = api_version in ApiVersionsRequest.FLEXIBLE
    return FLEXIBLE_REQUEST_HEADER if flexible else PLAIN_REQUEST_HEADER
