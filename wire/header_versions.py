"""Choice of the header version of a message.

Source: KIP-482, "Request and Response Headers"; KIP-511 for the response header of ApiVersions.

A schema is one parsed JSON file, as for `wire.message_schemas`. It states header versions in its property
`headerVersions`, which no schema of a release has: a proposal adds it. Otherwise they follow from its flexible
versions, as Kafka derives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wire.api_keys import API_VERSIONS_KEY, CONTROLLED_SHUTDOWN_KEY
from wire.api_versions import ApiVersionsRequest
from wire.fields import versions

FLEXIBLE_REQUEST_HEADER = 2
PLAIN_REQUEST_HEADER = 1
INSTANCE_ID_REQUEST_HEADER = 3
"""The request header with a client instance id (KIP-1313, a proposal)."""
Schema = Mapping[str, Any]
"""A parsed JSON schema file, or a part of one."""
HEADER_VERSIONS = "headerVersions"

REQUEST, RESPONSE = "request", "response"
FIRST_FLEXIBLE: Mapping[str, int] = {REQUEST: FLEXIBLE_REQUEST_HEADER, RESPONSE: 1}
"""The first header version that has a tag section."""


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
