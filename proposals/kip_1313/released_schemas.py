"""Comparison of schemas with the release before: what KIP-1313 must not change.

KIP-1313, a proposal, keeps the versions of the release before and the bodies of messages.

The version with header v3 has the body of the version before it; only telemetry loses its id, and OffsetDelete becomes
flexible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from proposals.kip_1313.messages import OFFSET_DELETE_KEY, TELEMETRY_KEYS
from proposals.kip_1313.schema_rules import EVERY_API, SchemaProblem, problems_in, valid_versions
from wire.fields import versions
from wire.header_versions import (
    HEADER_VERSIONS,
    INSTANCE_ID_REQUEST_HEADER,
    REQUEST,
    RESPONSE,
    Schema,
    header_version,
    kind_of,
)

BODIES = "KIP-1313.bodies-unchanged"
INSTANCE_ID = "ClientInstanceId"

Body = tuple[tuple[Any, ...], ...]
"""The fields of one version: of each its name, type, whether it may be null, its tag, its default, and its own
fields."""


def problems_against(
    released: Iterable[Schema], schemas: Iterable[tuple[str, Schema]]
) -> Iterator[tuple[str, SchemaProblem]]:
    """Yield what differs from the schemas of the release before, each with the schema's name.

    An API that the release does not have, and a version that is no longer valid, are no difference.

    Args:
        released: the schemas of the release.
        schemas: the schemas to judge, with their names.
    """
    before = {(kind_of(each), each["apiKey"]): each for each in released if _is_message(each)}
    for name, schema in schemas:
        old = before.get((kind_of(schema), schema["apiKey"])) if _is_message(schema) else None
        if old is not None and valid_versions(old):
            yield from ((name, problem) for problem in _problems(old, schema))


def _is_message(schema: Schema) -> bool:
    return kind_of(schema) in (REQUEST, RESPONSE)


def _problems(old: Schema, schema: Schema) -> Iterator[SchemaProblem]:
    newest = valid_versions(old)[-1]
    yield from _problems_of_headers(newest, schema)
    for version in valid_versions(schema):
        if version > newest + 1:
            # Another proposal may have added it.
            return
        like = min(version, newest)
        if like not in valid_versions(old):
            continue
        expected = body_in(old, like)
        if version > newest and schema["apiKey"] in TELEMETRY_KEYS:
            expected = tuple(field for field in expected if field[0] != INSTANCE_ID)
        yield from _differences(version, like, body_in(schema, version), expected)
        becomes_flexible = version > newest and schema["apiKey"] == OFFSET_DELETE_KEY
        if not becomes_flexible and _is_flexible(schema, version) != _is_flexible(old, like):
            yield _problem("flexibleVersions", f"v{version} is not flexible as v{like} of the release is")


def _problems_of_headers(newest: int, schema: Schema) -> Iterator[SchemaProblem]:
    """Yield a version of the release that has header v3 now, although its clients send it with another one."""
    if kind_of(schema) != REQUEST or problems_in(schema):
        return
    with_id = (
        version
        for version in valid_versions(schema)
        if version <= newest and header_version(schema, version) == INSTANCE_ID_REQUEST_HEADER
    )
    for version in with_id:
        yield SchemaProblem(
            clause=EVERY_API,
            where=HEADER_VERSIONS,
            sentence=f"gives header v{INSTANCE_ID_REQUEST_HEADER} to v{version}, which the release has already",
        )


def _differences(version: int, like: int, body_of_release: Body, expected: Body) -> Iterator[SchemaProblem]:
    if body_of_release == expected:
        return
    names = [[field[0] for field in body] for body in (body_of_release, expected)]
    changed = [field[0] for field, other in zip(body_of_release, expected, strict=False) if field != other]
    what = (
        f"its fields are {', '.join(names[0]) or 'none'}, and not {', '.join(names[1]) or 'none'}"
        if names[0] != names[1]
        else f"{', '.join(changed)} differs"
    )
    yield _problem("fields", f"v{version} has another body than v{like} of the release: {what}")


def _problem(where: str, sentence: str) -> SchemaProblem:
    return SchemaProblem(clause=BODIES, where=where, sentence=sentence)


def _is_flexible(schema: Schema, version: int) -> bool:
    return version in versions(schema.get("flexibleVersions", "none"))


def body_in(schema: Schema, version: int) -> Body:
    """Return the fields of a version."""
    structs = {each["name"]: each["fields"] for each in schema.get("commonStructs", ())}
    return _fields_in(schema.get("fields", ()), version, structs)


def _fields_in(fields: Iterable[Schema], version: int, structs: Mapping[str, Iterable[Schema]]) -> Body:
    def has(field: Schema, key: str) -> bool:
        return version in versions(str(field.get(key, "none")))

    return tuple(
        (
            field["name"],
            field["type"],
            has(field, "nullableVersions"),
            field.get("tag") if has(field, "taggedVersions") else None,
            str(field.get("default", "")).lower(),
            _fields_in(_own_fields(field, structs), version, structs),
        )
        for field in fields
        if has(field, "versions")
    )


def _own_fields(field: Schema, structs: Mapping[str, Iterable[Schema]]) -> Iterable[Schema]:
    own: Iterable[Schema] = field.get("fields") or structs.get(field["type"].removeprefix("[]"), ())
    return own
