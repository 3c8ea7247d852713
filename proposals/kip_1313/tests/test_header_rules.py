"""The property `headerVersions` of message schemas (KIP-1313): every rule, over right schemas and over ones with one fault."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given

from proposals.kip_1313.header_rules import SYNTAX, JsonObject, has_numbers_as_values, problems_in
from proposals.kip_1313.messages import PUSH_TELEMETRY_KEY
from proposals.kip_1313.tests.header_version_schemas import (
    Schema,
    WrongSchema,
    bare_schemas,
    changed_apis,
    new_version,
    right_schemas,
    schemas_with_numbers,
    shuffled_schemas,
    versions_of,
    wrong_flexibility,
    wrong_offset_delete,
    wrong_syntax,
    wrong_telemetry,
)
from wire.api_keys import API_VERSIONS_KEY
from wire.header_versions import (
    HEADER_VERSIONS,
    REQUEST,
    RESPONSE,
    derived_header_version,
    header_version,
)

RANGES = {"apiKey": 1, "validVersions": "0-3", "flexibleVersions": "0+", "fields": []}
AFTER_V0 = {"name": "SomeRequest", "validVersions": "1-3", "flexibleVersions": "2+"}
"""What a request has whose v0 is no longer valid."""


def assert_found(wrong: WrongSchema) -> None:
    """Fail unless exactly the fault's clause and place are reported."""
    found = {(each.clause, each.where) for each in problems_in(wrong.schema)}
    assert found == {(wrong.clause, wrong.where)}


@given(
    schema=right_schemas()
    | shuffled_schemas()
    | schemas_with_numbers()
    | bare_schemas()
    | changed_apis()
)
@example(schema={**RANGES, **AFTER_V0, HEADER_VERSIONS: {"0-1": "1", "2+": "2"}})
@example(schema={**RANGES, **AFTER_V0, HEADER_VERSIONS: {"2+": "3", "0-0": "1", "1": "1"}})
@example(schema={**RANGES, **AFTER_V0, HEADER_VERSIONS: {"1": 1, "2+": 2}})
@example(schema={**RANGES, **AFTER_V0, "validVersions": "none", HEADER_VERSIONS: {"3+": "2"}})
def test_right_schema_has_no_problem(schema: Schema) -> None:
    """Neither has one without the property."""
    assert problems_in(schema) == []


REPEATED = {
    '"headerVersions": {"0-1": "1", "2+": "2", "0-1": "2"}': f'{HEADER_VERSIONS}."0-1"',
    '"headerVersions": {"0+": "9", "0+": "2"}': f'{HEADER_VERSIONS}."0+"',
    '"headerVersions": {"0+": "1"}, "headerVersions": {"0+": "2"}': HEADER_VERSIONS,
}
"""Text of a schema that has a key twice, and its place."""


def test_repeated_key_is_found() -> None:
    """Although each value that counts may be right; other keys of the schema are not judged."""
    for text, where in REPEATED.items():
        schema = f'{{"name": "ARequest", "apiKey": 1, "apiKey": 1, "validVersions": "0-3", {text}}}'
        repeated = [
            each
            for each in problems_in(json.loads(schema, object_pairs_hook=JsonObject))
            if each.sentence.startswith("is there more than once")
        ]
        assert [(each.clause, each.where) for each in repeated] == [(SYNTAX, where)]


@given(schema=right_schemas() | shuffled_schemas() | schemas_with_numbers())
def test_stated_header_counts(schema: Schema) -> None:
    """Each version has the header of its range."""
    starts = {
        int(re.split("[-+]", key)[0]): value for key, value in schema[HEADER_VERSIONS].items()
    }
    for version in versions_of(schema):
        stated = starts[max(start for start in starts if start <= version)]
        assert str(header_version(schema, version)) == str(stated)


@given(strings=right_schemas() | bare_schemas(), numbers=schemas_with_numbers())
@example(strings={HEADER_VERSIONS: "0+"}, numbers={HEADER_VERSIONS: {"0-1": "1", "2+": 2}})
def test_numbers_are_recognised(strings: Schema, numbers: Schema) -> None:
    """So that the command can say that the text has strings."""
    assert has_numbers_as_values(numbers)
    assert not has_numbers_as_values(strings)


def with_property(kind: str, stated: dict[str, Any], key: str) -> WrongSchema:
    """Return a schema of v0 to v3 with this property, and the place of its fault."""
    schema = {**RANGES, "type": kind, "name": f"Some{kind.title()}", HEADER_VERSIONS: stated}
    return WrongSchema(schema, SYNTAX, f'headerVersions."{key}"')


@given(wrong=wrong_syntax())
@example(wrong=with_property(RESPONSE, {"0+": "2"}, "0+"))
@example(wrong=with_property(REQUEST, {"3-1": "2"}, "3-1"))
@example(wrong=with_property(REQUEST, {"all": "2"}, "all"))
@example(wrong=with_property(REQUEST, {"0+": "2", "3+": "2"}, "0+"))
@example(wrong=with_property(REQUEST, {"0+": "4"}, "0+"))
@example(wrong=with_property(REQUEST, {"0+": 4}, "0+"))
@example(wrong=with_property(REQUEST, {"0+": "02"}, "0+"))
@example(wrong=with_property(REQUEST, {"0+": True}, "0+"))
@example(wrong=with_property(REQUEST, {"1+": "2"}, "1+"))
@example(wrong=with_property(REQUEST, {"0-1": "2", "1+": "2"}, "1+"))
@example(wrong=with_property(REQUEST, {"0": "2", "2+": "2"}, "2+"))
@example(wrong=with_property(REQUEST, {"0-3": "2"}, "0-3"))
def test_wrong_syntax_is_found_where_it_is(wrong: WrongSchema) -> None:
    """Malformed keys, headers that do not exist, gaps, overlaps and open ends."""
    problems = problems_in(wrong.schema)
    assert wrong.where in {each.where for each in problems}
    assert {each.clause for each in problems} == {wrong.clause}


@given(wrong=wrong_flexibility(RESPONSE))
def test_wrong_response_header_is_found(wrong: WrongSchema) -> None:
    """A tag section in the header of a response that is not flexible, or none in that of a flexible one."""
    assert_found(wrong)


@given(wrong=wrong_flexibility(REQUEST))
def test_wrong_request_header_is_found(wrong: WrongSchema) -> None:
    """The same of requests."""
    assert_found(wrong)


@given(wrong=wrong_offset_delete())
def test_offset_delete_never_has_header_2(wrong: WrongSchema) -> None:
    """It goes from header v1 to v3."""
    assert_found(wrong)


@given(wrong=wrong_telemetry())
def test_telemetry_leaves_the_id_to_the_header(wrong: WrongSchema) -> None:
    """From v1 on."""
    assert_found(wrong)


def test_telemetry_of_today_has_no_problem() -> None:
    """Its only version has the id in the body."""
    schema = {**new_version(PUSH_TELEMETRY_KEY, REQUEST, 3), "validVersions": "0"}
    assert problems_in({**schema, HEADER_VERSIONS: {"0+": "2"}}) == []


@pytest.mark.parametrize("stated", [{}, [], "0+", 3])
def test_property_is_an_object(stated: Any) -> None:
    """Anything else is one problem."""
    (problem,) = problems_in(
        {**new_version(PUSH_TELEMETRY_KEY, REQUEST, 3), HEADER_VERSIONS: stated}
    )
    assert str(problem).startswith("headerVersions: must be an object")


def test_api_versions_is_answered_with_the_oldest_header() -> None:
    """A client reads it before it knows what the broker supports."""
    schema = {
        "apiKey": API_VERSIONS_KEY,
        "type": "response",
        "name": "ApiVersionsResponse",
        "validVersions": "0-5",
        "flexibleVersions": "3+",
        HEADER_VERSIONS: {"0-2": "0", "3+": "1"},
        "fields": [],
    }
    problems = problems_in(schema)
    assert [each.where for each in problems] == ['headerVersions."3+"'] * 3
    assert "before the client knows" in problems[0].sentence
    assert {derived_header_version(schema, version) for version in range(6)} == {0}


@pytest.mark.parametrize("type_", ["header", "data"])
def test_only_requests_and_responses_are_checked(type_: str) -> None:
    """Other schemas are not looked at, whatever they state."""
    assert problems_in({"type": type_, "name": "SomeHeader", HEADER_VERSIONS: {}}) == []
