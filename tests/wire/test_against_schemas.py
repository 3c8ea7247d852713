"""The field tables that are written by hand, compared with the message schemas in Kafka's own jar."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from fixtures.artefacts.message_schemas import clients_jar, read_schemas
from reference_model.profiles.profile import NEWEST_RELEASE
from wire.api_keys import API_VERSIONS_KEY
from wire.api_versions import NEWEST_VERSION, ApiVersionsRequest, ApiVersionsResponse
from wire.fields import versions
from wire.headers import RequestHeader, ResponseHeader, Schema
from wire.message_schemas import message_class

MESSAGES = (ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader)


@cache
def schemas() -> dict[str, Schema]:
    """Return the schemas of the newest release by name."""
    return {each["name"]: each for each in read_schemas(clients_jar(NEWEST_RELEASE))}


def structs_of(message: type[Any]) -> Iterator[type[Any]]:
    """Yield a message and the elements of its arrays."""
    yield message
    for each in message.FIELDS:
        if each.element is not None:
            yield from structs_of(each.element)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: each.__name__)
def test_table_is_the_schema(message: type[Any]) -> None:
    """Names, types, order, versions, nullability, tags, flexible versions, and the defaults of optional attributes."""
    made = message_class(schemas()[message.__name__])
    for ours, theirs in zip(structs_of(message), structs_of(made), strict=True):
        assert (ours.__name__, ours.FLEXIBLE) == (theirs.__name__, theirs.FLEXIBLE)
        for own, described in zip(ours.FIELDS, theirs.FIELDS, strict=True):
            compared = dataclasses.replace(described, default=own.default, element=own.element)
            assert own == compared
        defaults = {each.name: each.default for each in dataclasses.fields(theirs)}
        for each in dataclasses.fields(ours):
            assert each.default in (dataclasses.MISSING, defaults[each.name])


def test_api_key_and_newest_version_are_those_of_the_schemas() -> None:
    """Request and response have our API key, and versions up to our newest one."""
    for message in (ApiVersionsRequest, ApiVersionsResponse):
        schema = schemas()[message.__name__]
        assert schema["apiKey"] == API_VERSIONS_KEY
        assert versions(schema["validVersions"]) == (0, NEWEST_VERSION)
