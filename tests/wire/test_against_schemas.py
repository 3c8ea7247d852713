"""The field tables compared with the message schemas in the kafka-clients jar of release 4.4.0."""

from __future__ import annotations

import dataclasses
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fixtures.artefacts.maven import fetch_jars
from fixtures.errors import ArtefactUnavailable
from fixtures.registry.targets import BROKERS_FOLDER, load_target
from wire import api_versions
from wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from wire.fields import Field, FieldType, versions
from wire.headers import RequestHeader, ResponseHeader

RELEASE = "apache-kafka-4.4.0"
CLIENTS_JAR = "org.apache.kafka:kafka-clients:4.4.0"
MESSAGES = (ApiVersionsRequest, ApiVersionsResponse, RequestHeader, ResponseHeader)
EACH_MESSAGE = pytest.mark.parametrize("message", MESSAGES, ids=lambda each: each.__name__)

Schema = Mapping[str, Any]

_NO_DEFAULT = {"bool": False, "string": "", "array": ()}
"""Defaults of fields without one in their schema; numbers have 0."""

_KEYS_OF_A_FIELD = {
    *("name", "type", "versions", "nullableVersions", "taggedVersions", "tag", "default"),
    *("flexibleVersions", "fields", "about", "ignorable", "mapKey"),
}
"""The last three do not affect the bytes."""


@pytest.fixture(scope="module")
def read_schema() -> Callable[[type[Any]], Schema]:
    """Return a function that reads a message's schema from the pinned jar."""
    target = load_target(BROKERS_FOLDER / f"{RELEASE}.toml")
    if target.artefacts is None:
        raise ArtefactUnavailable(f"{RELEASE} pins no jars")
    only = {CLIENTS_JAR: target.artefacts.jars[CLIENTS_JAR]}
    artefacts = dataclasses.replace(target.artefacts, jars=only)
    jar = fetch_jars(dataclasses.replace(target, artefacts=artefacts))[CLIENTS_JAR]

    def read(message: type[Any]) -> Schema:
        with zipfile.ZipFile(jar) as archive:
            text = archive.read(f"common/message/{message.__name__}.json").decode()
        # The schemas are JSON with comments on separate lines.
        schema: Schema = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
        return schema

    return read


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _default(schema: Schema) -> Any:
    """Return the schema's default in the attribute's type, or the type's own default."""
    kind = "array" if schema["type"].startswith("[]") else schema["type"]
    if "default" not in schema:
        return _NO_DEFAULT.get(kind, 0)
    text = str(schema["default"])
    if text == "null":
        return None
    if kind == "bool":
        return text == "true"
    return text if kind == "string" else int(text)


def _row_of_schema(schema: Schema) -> dict[str, Any]:
    """Return what a schema says about one field, under the names of our table."""
    kind = schema["type"]
    return {
        "name": _snake_case(schema["name"]),
        "type": "array" if kind.startswith("[]") else kind,
        "element": kind[2:] if kind.startswith("[]") else None,
        "versions": schema["versions"],
        "nullable": schema.get("nullableVersions", "none"),
        "tag": schema.get("tag"),
        "flexible": schema.get("flexibleVersions"),
    }


def _row_of_table(each: Field) -> dict[str, Any]:
    return {
        "name": each.name,
        "type": each.type.value,
        "element": None if each.element is None else each.element.__name__,
        "versions": str(each.versions),
        "nullable": str(each.nullable),
        "tag": each.tag,
        "flexible": None if each.flexible is None else str(each.flexible),
    }


def _structs(message: type[Any], schema: Schema) -> list[tuple[type[Any], Schema]]:
    """Return a message and the elements of its arrays, each with its part of the schema."""
    found = [(message, schema)]
    for each, part in zip(message.FIELDS, schema["fields"], strict=True):
        if each.type is FieldType.ARRAY:
            found += _structs(each.element, part)
    return found


@EACH_MESSAGE
def test_table_is_the_schema(
    read_schema: Callable[[type[Any]], Schema], message: type[Any]
) -> None:
    """Names, types, order, versions, nullability, tags and flexible versions match the schema."""
    schema = read_schema(message)
    for struct, part in _structs(message, schema):
        assert [_row_of_table(each) for each in struct.FIELDS] == [
            _row_of_schema(each) for each in part["fields"]
        ]
        assert str(struct.FLEXIBLE) == schema["flexibleVersions"]


@EACH_MESSAGE
def test_defaults_are_those_of_the_schema(
    read_schema: Callable[[type[Any]], Schema], message: type[Any]
) -> None:
    """The default of every optional attribute matches the schema's."""
    for struct, part in _structs(message, read_schema(message)):
        attributes = {each.name: each.default for each in dataclasses.fields(struct)}
        defaults = {_snake_case(each["name"]): _default(each) for each in part["fields"]}
        optional = {
            name: default
            for name, default in attributes.items()
            if name in defaults and default is not dataclasses.MISSING
        }
        assert optional == {name: defaults[name] for name in optional}


@EACH_MESSAGE
def test_tagged_fields_are_tagged_in_all_their_versions(
    read_schema: Callable[[type[Any]], Schema], message: type[Any]
) -> None:
    """A tagged field of these messages is tagged in all its versions, as our table assumes."""
    for _, part in _structs(message, read_schema(message)):
        for each in part["fields"]:
            assert each.get("taggedVersions") == (each["versions"] if "tag" in each else None)


@EACH_MESSAGE
def test_schema_says_nothing_else(
    read_schema: Callable[[type[Any]], Schema], message: type[Any]
) -> None:
    """The schema has no keys except those that these tests compare or know to be irrelevant."""
    schema = read_schema(message)
    for _, part in _structs(message, schema):
        for each in part["fields"]:
            assert set(each) <= _KEYS_OF_A_FIELD
    assert set(schema) <= {
        *("apiKey", "type", "name", "listeners", "validVersions", "flexibleVersions", "fields")
    }


def test_api_key_and_newest_version_are_those_of_the_schemas(
    read_schema: Callable[[type[Any]], Schema],
) -> None:
    """Request and response have our API key, and versions up to our newest one."""
    for message in (ApiVersionsRequest, ApiVersionsResponse):
        schema = read_schema(message)
        assert schema["apiKey"] == api_versions.API_VERSIONS_KEY
        assert versions(schema["validVersions"]) == (0, api_versions.NEWEST_VERSION)
