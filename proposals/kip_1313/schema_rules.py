"""Rules of KIP-1313, a proposal, for message schemas.

They are about the property `headerVersions`, the request header, and a folder of schemas.

Alone, a schema without the property has no problem. Together with one that claims the proposal, every request needs it,
and the request header is checked: the schemas of Kafka's releases have no header v3, and no problem.

Source: KIP-1313 (under discussion): Proposed Changes (the property), and Kafka Protocol Changes (the request header and
folders).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from proposals.kip_1313.messages import OFFSET_DELETE_KEY, TELEMETRY_KEYS
from reference_model.profiles.known_apis import known_apis
from wire.api_keys import API_VERSIONS_KEY, SASL_HANDSHAKE_KEY
from wire.fields import Versions, versions
from wire.header_versions import (
    FIRST_FLEXIBLE,
    HEADER_VERSIONS,
    INSTANCE_ID_REQUEST_HEADER,
    REQUEST,
    RESPONSE,
    Schema,
    derived_header_version,
    header_version,
    kind_of,
)

EXISTING: Mapping[str, range] = {REQUEST: range(1, 4), RESPONSE: range(2)}
"""The header versions that a message may have; header v0 of requests is that of ControlledShutdown v0 alone."""
SYNTAX = "KIP-1313.header-versions-syntax"
RESPONSE_HEADERS = "KIP-1313.response-headers"
OFFSET_DELETE = "KIP-1313.offset-delete-v1"
TELEMETRY = "KIP-1313.telemetry-v1"


_KEY = re.compile(r"[0-9]+(?:\+|-[0-9]+)?")
_INSTANCE_ID = "ClientInstanceId"
HEADER = "header"
EVERY_API = "KIP-1313.every-api-but-sasl-handshake"
HEADER_LAYOUT = "KIP-1313.header-v3-layout"
_REQUEST_HEADER = "RequestHeader"
_HEADER_VERSIONS: Mapping[str, str] = MappingProxyType({"validVersions": "1-3", "flexibleVersions": "2+"})
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


class JsonObject(dict[str, Any]):
    """A JSON object that remembers the keys it has more than once; like any reader it keeps the last value of each.

    Attributes:
        repeated: those keys, each once.
    """

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        pairs = tuple(pairs)
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs)
        self.repeated = tuple(key for key, count in counts.items() if count > 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaProblem:
    """Something in a schema that KIP-1313 forbids.

    Attributes:
        clause: the clause that it violates.
        where: the key or field, for example `headerVersions."0-2"`.
        sentence: what is wrong.
    """

    clause: str
    where: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence} ({self.clause})"


def has_numbers_as_values(schema: Schema) -> bool:
    """Return whether a schema states a header version as a JSON number; all examples of KIP-1313 have strings."""
    stated = schema.get(HEADER_VERSIONS)
    return isinstance(stated, Mapping) and any(type(value) is int for value in stated.values())


def problems_in(schema: Schema) -> list[SchemaProblem]:
    """Return everything in a schema that KIP-1313 forbids."""
    stated = schema.get(HEADER_VERSIONS)
    if stated is None or kind_of(schema) not in EXISTING:
        return []
    if not isinstance(stated, Mapping) or not stated:
        sentence = "must be an object that maps ranges of versions to header versions"
        return [_syntax(HEADER_VERSIONS, sentence)]
    repeated = [
        *(_repeated(HEADER_VERSIONS) for key in _repeated_in(schema) if key == HEADER_VERSIONS),
        *(_repeated(_at(key)) for key in _repeated_in(stated)),
    ]
    malformed = [problem for key in stated for problem in _problems_of_key(key)]
    problems = [*repeated, *malformed, *_problems_of_values(schema, stated)]
    if not malformed:
        problems += _problems_of_ranges(schema, stated)
        if not problems:
            problems += _problems_of_flexibility(schema)
            problems += _problems_of_known_apis(schema)
            problems += _problems_of_old_versions(schema)
    return problems


def _syntax(where: str, sentence: str) -> SchemaProblem:
    return SchemaProblem(clause=SYNTAX, where=where, sentence=sentence)


def _at(key: str) -> str:
    return f'{HEADER_VERSIONS}."{key}"'


def _repeated_in(value: Mapping[str, Any]) -> tuple[str, ...]:
    return value.repeated if isinstance(value, JsonObject) else ()


def _repeated(where: str) -> SchemaProblem:
    return _syntax(where, "is there more than once, and only the last one counts")


def _problems_of_key(key: str) -> Iterator[SchemaProblem]:
    if not _KEY.fullmatch(key):
        yield _syntax(_at(key), 'is no range of versions: "n", "a-b" or "n+"')
        return
    first, _, last = key.partition("-")
    if last and int(first) > int(last):
        yield _syntax(_at(key), "ends before it begins")


def _problems_of_values(schema: Schema, stated: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    """Yield values that name no header version.

    The text has strings, but does not say that a number is wrong, so both are read.
    """
    existing = EXISTING[kind_of(schema)]
    for key, value in stated.items():
        text = str(value) if type(value) is int else value
        if text not in map(str, existing):
            headers = f'"{existing[0]}" to "{existing[-1]}"'
            yield _syntax(_at(key), f"is {json.dumps(value)}; a {kind_of(schema)} has header {headers}")


def _problems_of_ranges(schema: Schema, stated: Mapping[str, Any]) -> Iterator[SchemaProblem]:
    """Yield gaps, overlaps, and what is not covered.

    The order of the keys means nothing, as in any JSON object, and the ranges may begin before the first valid version.
    """
    ascending = sorted((_ends(key), key) for key in stated)
    (first, _), key = ascending[0]
    needed = min(valid_versions(schema), default=first)
    if first > needed:
        yield _left_out(key, needed, first)
    for ((_, last), key), ((following, _), next_key) in pairwise(ascending):
        if last == math.inf:
            yield _syntax(_at(key), "has an open end, but is not the last range")
        elif following <= last:
            yield _syntax(_at(next_key), "overlaps the range before it")
        elif following > last + 1:
            yield _left_out(next_key, int(last) + 1, following)
    (_, last), key = ascending[-1]
    if last != math.inf:
        yield _syntax(_at(key), 'must end with "+": it is the last range')


def _ends(key: str) -> tuple[int, float]:
    first, last = versions(key)
    return first, math.inf if last is None else last


def _left_out(key: str, first: int, following: int) -> SchemaProblem:
    return _syntax(_at(key), f"leaves out {Versions(first, following - 1)}")


def valid_versions(schema: Schema) -> range:
    """Return every valid version of a schema; none for an API that was removed."""
    valid = versions(schema["validVersions"])
    return range(valid.first, (valid.first if valid.last is None else valid.last) + 1)


def _problems_of_flexibility(schema: Schema) -> Iterator[SchemaProblem]:
    """Yield versions whose header has a tag section although their body is not flexible, or the other way round."""
    kind = kind_of(schema)
    clause = RESPONSE_HEADERS if kind == RESPONSE else SYNTAX
    for version in valid_versions(schema):
        version_of_header = header_version(schema, version)
        derived = derived_header_version(schema, version)
        first = FIRST_FLEXIBLE[kind]
        if (version_of_header >= first) != (derived >= first):
            why = "is flexible" if derived >= first else "is not flexible"
            if kind == RESPONSE and schema["apiKey"] == API_VERSIONS_KEY:
                why = "is read before the client knows what the broker supports"
            yield SchemaProblem(
                clause=clause,
                where=_at(_key_of(schema, version)),
                sentence=f"gives v{version} header v{version_of_header}, but that version {why}",
            )


def _key_of(schema: Schema, version: int) -> str:
    return next(str(key) for key in schema[HEADER_VERSIONS] if version in versions(key))


def _problems_of_known_apis(schema: Schema) -> Iterator[SchemaProblem]:
    """Yield what contradicts the new versions that KIP-1313 itself defines."""
    api_key, kind = schema["apiKey"], kind_of(schema)
    newer = [version for version in valid_versions(schema) if version > 0]
    if kind == REQUEST and api_key in (OFFSET_DELETE_KEY, *TELEMETRY_KEYS):
        clause = OFFSET_DELETE if api_key == OFFSET_DELETE_KEY else TELEMETRY
        for version in newer:
            version_of_header = header_version(schema, version)
            if version_of_header != INSTANCE_ID_REQUEST_HEADER:
                yield SchemaProblem(
                    clause=clause,
                    where=_at(_key_of(schema, version)),
                    sentence=f"gives v{version} header v{version_of_header}, and not v{INSTANCE_ID_REQUEST_HEADER}",
                )
    if api_key in TELEMETRY_KEYS:
        for number, field in enumerate(schema["fields"]):
            kept = [each for each in newer if each in versions(field["versions"])]
            if field["name"] == _INSTANCE_ID and kept:
                yield SchemaProblem(
                    clause=TELEMETRY,
                    where=f"fields[{number}].versions",
                    sentence=f"{_INSTANCE_ID} is still in v{kept[0]}, although the header has it",
                )


def _problems_of_old_versions(schema: Schema) -> Iterator[SchemaProblem]:
    """Yield a first version with header v3 that cannot be new, because it does not follow one with header v2.

    Only OffsetDelete has none, says the text. An API that is not known today may begin with header v3.
    """
    api_key = schema["apiKey"]
    exempt = (OFFSET_DELETE_KEY, SASL_HANDSHAKE_KEY)
    if kind_of(schema) != REQUEST or api_key in exempt or api_key not in known_apis():
        return
    valid = valid_versions(schema)
    with_id = [each for each in valid if header_version(schema, each) == INSTANCE_ID_REQUEST_HEADER]
    first = next(iter(with_id), None)
    if first is None or (first > 0 and first - 1 not in valid):
        return
    if first == 0 or header_version(schema, first - 1) != FIRST_FLEXIBLE[REQUEST]:
        yield SchemaProblem(
            clause=EVERY_API,
            where=_at(_key_of(schema, first)),
            sentence=f"gives header v{INSTANCE_ID_REQUEST_HEADER} to v{first}, which is no new version: "
            f"no version with header v{FIRST_FLEXIBLE[REQUEST]} comes before it",
        )


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
        header_version(schema, version) == INSTANCE_ID_REQUEST_HEADER for version in valid_versions(schema)
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


def _problems_of_field(where: str, field: Schema, expected: Mapping[str, str]) -> Iterator[SchemaProblem]:
    if field.get("type") != expected["type"]:
        yield _in_header(f"{where}.type", f"is {field.get('type')!r}, and not {expected['type']!r}")
    for key in _RANGES:
        default = _HEADER_VERSIONS["flexibleVersions"] if key == "flexibleVersions" else "none"
        value = str(field.get(key, default))
        wanted = expected.get(key, default)
        if _in_proposal(value) != _in_proposal(wanted):
            yield _in_header(f"{where}.{key}", f"{expected['name']} has {value!r}, and not {wanted!r}")


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
    """Yield what is missing in schemas that belong together, each with the schema's name.

    Nothing is missing unless at least one of the schemas claims the proposal.

    Every request but SaslHandshake needs a version with header v3, and so does the header itself. Every response needs
    the property. What has no valid version is no longer sent.
    """
    known = list(schemas)
    if not any(claims_proposal(schema) for _, schema in known):
        return
    for name, schema in known:
        if kind_of(schema) == REQUEST and not problems_in(schema):
            yield from ((name, problem) for problem in _problems_of_request(schema))
        if kind_of(schema) == RESPONSE:
            yield from ((name, problem) for problem in _problems_of_response(schema))
        if is_request_header(schema) and not claims_proposal(schema):
            yield name, _in_header("validVersions", "lacks header v3, which other schemas state")


def _problems_of_response(schema: Schema) -> Iterator[SchemaProblem]:
    is_changed = schema["apiKey"] != SASL_HANDSHAKE_KEY
    if is_changed and valid_versions(schema) and HEADER_VERSIONS not in schema:
        sentence = f"lacks {HEADER_VERSIONS}, which other schemas here have"
        yield SchemaProblem(clause=RESPONSE_HEADERS, where="validVersions", sentence=sentence)


def _problems_of_request(schema: Schema) -> Iterator[SchemaProblem]:
    where = HEADER_VERSIONS if HEADER_VERSIONS in schema else "validVersions"
    may_have = schema["apiKey"] != SASL_HANDSHAKE_KEY
    if may_have and valid_versions(schema) and not _has_instance_id(schema):
        sentence = "gives no version header v3, which other schemas here state"
        yield SchemaProblem(clause=EVERY_API, where=where, sentence=sentence)
    if not may_have and _has_instance_id(schema):
        sentence = "gives SaslHandshake header v3; it cannot have a new version"
        yield SchemaProblem(clause=EVERY_API, where=where, sentence=sentence)
