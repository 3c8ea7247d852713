"""The header version of a message, by its API, its version and its schema."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.api_keys import API_VERSIONS_KEY, CONTROLLED_SHUTDOWN_KEY, METADATA_KEY
from wire.header_versions import (
    HEADER_VERSIONS,
    REQUEST,
    RESPONSE,
    Schema,
    derived_header_version,
    header_version,
    kind_of,
    request_header_version,
)


@pytest.mark.parametrize(
    ("api_version", "header_version"),
    [(-32768, 1), (-1, 1), (0, 1), (2, 1), (3, 2), (5, 2), (6, 2), (32767, 2)],
)
def test_header_version_follows_from_the_api_version(api_version: int, header_version: int) -> None:
    """An ApiVersions request has a flexible header from version 3 on, even in an unknown version."""
    assert request_header_version(18, api_version) == header_version


@given(st.integers(-(2**15), 2**15 - 1).filter(lambda key: key != 18))
def test_header_version_of_other_apis_is_not_guessed(api_key: int) -> None:
    """The header version of any other API is an error."""
    with pytest.raises(ValueError, match=str(api_key)):
        request_header_version(api_key, 0)


def schema_of(kind: str, api_key: int, flexible: str = "2+") -> Schema:
    """Return the schema of a request or response."""
    name = f"Some{kind.title()}"
    return {"apiKey": api_key, "type": kind, "name": name, "flexibleVersions": flexible}


@pytest.mark.parametrize(
    ("schema", "headers"),
    [
        (schema_of(REQUEST, METADATA_KEY), [1, 1, 2, 2]),
        (schema_of(REQUEST, CONTROLLED_SHUTDOWN_KEY), [0, 1, 2, 2]),
        (schema_of(RESPONSE, METADATA_KEY), [0, 0, 1, 1]),
        # A client reads it before it knows what the broker supports.
        (schema_of(RESPONSE, API_VERSIONS_KEY), [0, 0, 0, 0]),
    ],
)
def test_flexible_versions_have_a_header_with_tags(schema: Schema, headers: list[int]) -> None:
    assert [derived_header_version(schema, version) for version in range(4)] == headers


def test_stated_header_counts() -> None:
    """A version that the schema does not state has the derived one."""
    schema = {**schema_of(REQUEST, METADATA_KEY), HEADER_VERSIONS: {"1": "2", "3+": "3"}}
    assert [header_version(schema, version) for version in range(5)] == [1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"name": "FetchRequest"}, REQUEST),
        ({"name": "FetchResponse", "type": "response"}, RESPONSE),
        ({"name": "RequestHeader", "type": "header"}, "header"),
        ({"name": "LeaderChangeMessage", "type": "data"}, "data"),
        ({}, "data"),
    ],
)
def test_only_requests_and_responses_have_headers(schema: Schema, kind: str) -> None:
    """Whatever else there is has none."""
    assert kind_of(schema) == kind
