"""Which header the messages of a schema have: as its property `headerVersions` states it, otherwise as Kafka derives it.

A schema is one parsed JSON file, as for `wire.message_schemas`. No schema of a release has the property: a proposal adds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.api_keys import API_VERSIONS_KEY, CONTROLLED_SHUTDOWN_KEY
from wire.fields import versions

Schema = Mapping[str, Any]

HEADER_VERSIONS = "headerVersions"
REQUEST, RESPONSE = "request", "response"
FIRST_FLEXIBLE: Mapping[str, int] = {REQUEST: 2, RESPONSE: 1}
"""The first header version that has a tag section."""


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
    return FIRST_FLEXIBLE[REQUEST] if flexible else 1


def header_version(schema: Schema, api_version: int) -> int:
    """Return the header version of a message: the one that its schema states, otherwise the derived one."""
    for key, value in schema.get(HEADER_VERSIONS, {}).items():
        if api_version in versions(key):
            return int(value)
    return derived_header_version(schema, api_version)
