"""What KIP-1313, a proposal, says of schemas beyond `headerVersions`: that of the request header, and all requests of a folder.

Only schemas that claim the proposal are checked: those of Kafka's releases have no header v3, and no problem.

Source: KIP-1313 (under discussion), Kafka Protocol Changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from proposals.kip_1313.header_rules import SchemaProblem, problems_in, valid_versions
from wire.api_keys import SASL_HANDSHAKE_KEY
from wire.fields import Versions, versions
from wire.headers import (
    HEADER_VERSIONS,
    INSTANCE_ID_REQUEST_HEADER,
    REQUEST,
    Schema,
    header_version,
    kind_of,
)

HEADER = "header"
EVERY_API = "KIP-1313.every-api-but-sasl-handshake"
HEADER_LAYOUT = "KIP-1313.header-v3-layout"

_REQUEST_HEADER = "RequestHeader"
_HEADER_VERSIONS: Mapping[str, str] = MappingProxyType(
    {"validVersions": "1-3", "flexibleVersions": "2+"}
)
_FIELDS: tuple[Mapping[str, str], ...] = (
    {"name": "RequestApiKey", "type": "int16", "versions": "1+"},
    {"name": "RequestApiVersion", "type": "int16", "versions": "1+"},
    {"name": "CorrelationId", "type": "int32", "versions": "1+"},
    # Older brokers read the client id of any ApiVersions request
    {
        "name": "ClientId",
        "type": "string",
        "versions": "1+",
        "nullableVersions": "1+",
        "flexibleVersions": "none",
    },
    {"name": "ClientInstanceId", "type": "uuid", "versions": "3+"},
)
_RANGES = ("versions", "nullableVersions", "flexibleVersions")


def is_request_header(schema: Schema) -> bool:
    """Return whether a schema is that of the request header."""
    return kind_of(schema) == HEADER and schema.get("name") == _REQUEST_HEADER


def claims_proposal(schema: Schema) -> bool:
    """Return whether a schema has header v3: a request that states it, or the request header itself."""
    if is_request_header(schema):
        named = {str(field.get("name")) for field in schema.get("fields", ())}
        return (
            INSTANCE_ID_REQUEST_HEADER in versions(str(schema.get("validVersions", "none")))
            or _FIELDS[-1]["name"] in named
        )
    return kind_of(schema) == REQUEST and not problems_in(schema) and _has_instance_id(schema)


def _has_instance_id(schema: Schema) -> bool:
    return HEADER_VERSIONS in schema and any(
        header_version(schema, version) == INSTANCE_ID_REQUEST_HEADER
        for version in valid_versions(schema)
    )


def problems_in_request_header(schema: Schema) -> Iterator[SchemaProblem]:
    """Yield everything in the schema of the request header that differs from the one that KIP-1313 writes down.

    Ranges are compared over the versions that the proposal has, so "0+" is as good as "1+".
    """
    for key, expected in _HEADER_VERSIONS.items():
        if schema.get(key) != expected:
            yield _in_header(key, f"is {schema.get(key)!r}, and not {expected!r}")
    fields = list(schema.get("fields", ()))
    names = [field.get("name") for field in fields]
    wanted = [field["name"] for field in _FIELDS]
    if names != wanted:
        yield _in_header("fields", f"are not {', '.join(wanted)}, in this order")
        return
    for number, (field, expected_field) in enumerate(zip(fields, _FIELDS, strict=True)):
        yield from _problems_of_field(f"fields[{number}]", field, expected_field)


def _problems_of_field(
    where: str, field: Schema, expected: Mapping[str, str]
) -> Iterator[SchemaProblem]:
    if field.get("type") != expected["type"]:
        yield _in_header(f"{where}.type", f"is {field.get('type')!r}, and not {expected['type']!r}")
    for key in _RANGES:
        default = _HEADER_VERSIONS["flexibleVersions"] if key == "flexibleVersions" else "none"
        found = str(field.get(key, default))
        wanted = expected.get(key, default)
        if _in_proposal(found) != _in_proposal(wanted):
            yield _in_header(
                f"{where}.{key}", f"{expected['name']} has {found!r}, and not {wanted!r}"
            )


def _in_proposal(text: str) -> list[int]:
    """Return those versions of a range that the request header has."""
    valid = versions(_HEADER_VERSIONS["validVersions"])
    return [version for version in _all_of(valid) if version in versions(text)]


def _all_of(valid: Versions) -> range:
    assert valid.last is not None
    return range(valid.first, valid.last + 1)


def _in_header(where: str, sentence: str) -> SchemaProblem:
    return SchemaProblem(clause=HEADER_LAYOUT, where=where, sentence=sentence)


def problems_together(schemas: Iterable[tuple[str, Schema]]) -> Iterator[tuple[str, SchemaProblem]]:
    """Yield what is missing in schemas that belong together, if any of them claims the proposal, each with the schema's name.

    Every request but SaslHandshake needs a version with header v3, and so does the header itself. A request without any valid
    version is no longer sent.
    """
    known = list(schemas)
    if not any(claims_proposal(schema) for _, schema in known):
        return
    for name, schema in known:
        if kind_of(schema) == REQUEST and not problems_in(schema):
            yield from ((name, problem) for problem in _problems_of_request(schema))
        if is_request_header(schema) and not claims_proposal(schema):
            yield name, _in_header("validVersions", "lacks header v3, which other schemas state")


def _problems_of_request(schema: Schema) -> Iterator[SchemaProblem]:
    where = HEADER_VERSIONS if HEADER_VERSIONS in schema else "validVersions"
    may_have = schema["apiKey"] != SASL_HANDSHAKE_KEY
    if may_have and valid_versions(schema) and not _has_instance_id(schema):
        sentence = "gives no version header v3, which other schemas here state"
        yield SchemaProblem(clause=EVERY_API, where=where, sentence=sentence)
    if not may_have and _has_instance_id(schema):
        sentence = "gives SaslHandshake header v3; it cannot have a new version"
        yield SchemaProblem(clause=EVERY_API, where=where, sentence=sentence)
