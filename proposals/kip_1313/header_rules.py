"""What KIP-1313, a proposal, says of the property `headerVersions` of message schemas; a schema without the property has no problem.

Source: KIP-1313 (under discussion), Proposed Changes.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from proposals.kip_1313.messages import OFFSET_DELETE_KEY, TELEMETRY_KEYS
from wire.api_keys import API_VERSIONS_KEY
from wire.fields import Versions, versions
from wire.headers import (
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


_KEY = re.compile(r"[0-9]+(?:\+|-[0-9]+)?")
_INSTANCE_ID = "ClientInstanceId"


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
            yield _syntax(
                _at(key), f"is {json.dumps(value)}; a {kind_of(schema)} has header {headers}"
            )


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
        found = header_version(schema, version)
        derived = derived_header_version(schema, version)
        first = FIRST_FLEXIBLE[kind]
        if (found >= first) != (derived >= first):
            why = "is flexible" if derived >= first else "is not flexible"
            if kind == RESPONSE and schema["apiKey"] == API_VERSIONS_KEY:
                why = "is read before the client knows what the broker supports"
            yield SchemaProblem(
                clause=clause,
                where=_at(_key_of(schema, version)),
                sentence=f"gives v{version} header v{found}, but that version {why}",
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
            found = header_version(schema, version)
            if found != INSTANCE_ID_REQUEST_HEADER:
                yield SchemaProblem(
                    clause=clause,
                    where=_at(_key_of(schema, version)),
                    sentence=f"gives v{version} header v{found}, and not v{INSTANCE_ID_REQUEST_HEADER}",
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
