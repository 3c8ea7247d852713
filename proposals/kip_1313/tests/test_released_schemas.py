"""Tests of the comparison of schemas with the release before.

The rows have one difference each. Faults are planted in the comparison.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from fixtures.artefacts.schema_jars import clients_jar, schema_releases
from proposals.kip_1313 import released_schemas
from proposals.kip_1313.commands.schemas import schemas
from proposals.kip_1313.messages import OFFSET_DELETE_KEY
from proposals.kip_1313.released_schemas import problems_against
from proposals.kip_1313.tests.schemas import Schema, schema_of
from wire.api_keys import GET_TELEMETRY_SUBSCRIPTIONS_KEY
from wire.header_versions import RESPONSE

EXAMPLES = Path(__file__).parent / "vectors"
FIELDS: tuple[dict[str, Any], ...] = (
    {"name": "Name", "type": "string", "versions": "0+", "nullableVersions": "1+"},
    {"name": "Items", "type": "[]Item", "versions": "1+"},
    {"name": "Extra", "type": "int32", "versions": "1+", "taggedVersions": "1+", "tag": 0, "default": "-1"},
)  # fmt: skip
ITEM: dict[str, Any] = {
    "name": "Item",
    "versions": "0+",
    "fields": [{"name": "Id", "type": "int32", "versions": "0+"}],
}
ID = {"name": "ClientInstanceId", "type": "uuid", "versions": "0+"}


def schema(*, valid: str = "0-1", fields: Any = FIELDS, item: Any = ITEM, **options: Any) -> Schema:
    """Return a schema of the release before, or one that differs from it."""
    described = schema_of(valid=valid, **{"flexible": "1+", **options})
    return {**described, "fields": list(fields), "commonStructs": [item]}


def with_field(number: int, **changes: Any) -> list[dict[str, Any]]:
    """Return the fields, with one that differs."""
    return [{**each, **(changes if at == number else {})} for at, each in enumerate(FIELDS)]


class ReleasedRow(NamedTuple):
    """A schema of the release, one after it, and where they differ."""

    name: str
    new: Schema
    where: tuple[str, ...] = ()
    old: Schema = schema()


OLD_ID: dict[str, Any] = {
    "valid": "0",
    "flexible": "0+",
    "api_key": GET_TELEMETRY_SUBSCRIPTIONS_KEY,
    "fields": [ID],
}
NEW_ID: dict[str, Any] = {**OLD_ID, "valid": "0-1"}
ROWS = (
    ReleasedRow("the same", schema()),
    ReleasedRow("one version more", schema(valid="0-2")),
    ReleasedRow("of another proposal", schema(valid="0-3", fields=with_field(0, nullableVersions="1-2"))),
    ReleasedRow("no longer valid", schema(valid="1-2")),
    ReleasedRow("a version that the release no longer has", schema(), (), schema(valid="1")),
    ReleasedRow("another API", schema(api_key=2000, fields=())),
    ReleasedRow("a response", schema(kind=RESPONSE, fields=())),
    ReleasedRow("structs in their place", schema(fields=with_field(1, fields=ITEM["fields"]))),
    ReleasedRow("a default as another type", schema(fields=with_field(2, default=-1))),
    ReleasedRow("telemetry without id", schema(**{**NEW_ID, "fields": [{**ID, "versions": "0"}]}), (), schema(**OLD_ID)),
    ReleasedRow("telemetry with id", schema(**NEW_ID), ("fields",), schema(**OLD_ID)),
    ReleasedRow("flexible OffsetDelete", schema(api_key=OFFSET_DELETE_KEY, valid="0-1", fields=()), (),
        schema(api_key=OFFSET_DELETE_KEY, valid="0", flexible="none", fields=())),
    ReleasedRow("flexible in an old version", schema(flexible="0+"), ("flexibleVersions",)),
    ReleasedRow("flexible in the new version alone", schema(valid="0-2", flexible="2+"), ("flexibleVersions",)),
    ReleasedRow("header v3 on an old version", schema(stated={"0": "1", "1+": "3"}), ("headerVersions",)),
    ReleasedRow("header v3 on a new version", schema(valid="0-2", stated={"0": "1", "1": "2", "2+": "3"})),
    ReleasedRow("a field less", schema(valid="0-2", fields=FIELDS[:2]), ("fields", "fields")),
    ReleasedRow("a field more in the new version", schema(valid="0-2", fields=(*FIELDS, {**ID, "versions": "2+"})), ("fields",)),
    ReleasedRow("no field in the new version", schema(valid="0-2", fields=with_field(1, versions="1")), ("fields",)),
    ReleasedRow("another name", schema(fields=with_field(0, name="Other")), ("fields", "fields")),
    ReleasedRow("another type", schema(fields=with_field(0, type="bytes")), ("fields", "fields")),
    ReleasedRow("another order", schema(fields=(FIELDS[1], FIELDS[0], FIELDS[2])), ("fields",)),
    ReleasedRow("never null", schema(fields=with_field(0, nullableVersions="none")), ("fields",)),
    ReleasedRow("another tag", schema(fields=with_field(2, tag=1)), ("fields",)),
    ReleasedRow("another default", schema(fields=with_field(2, default="0")), ("fields",)),
    ReleasedRow("another struct", schema(item={**ITEM, "fields": [ID]}), ("fields",)),
)  # fmt: skip


def found(row: ReleasedRow) -> tuple[str, ...]:
    """Return where the comparison finds differences."""
    return tuple(each.where for _, each in problems_against([row.old], [("new", row.new)]))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_difference_is_found(row: ReleasedRow) -> None:
    """Where it is, and nothing else."""
    assert found(row) == row.where


IS_FLEXIBLE = released_schemas._is_flexible
FIELDS_IN = released_schemas._fields_in


def _top_level(fields: Any, version: int, structs: Any) -> Any:
    return tuple(each[:-1] for each in FIELDS_IN(fields, version, structs))


def _without_order(fields: Any, version: int, structs: Any) -> Any:
    return tuple(sorted(FIELDS_IN(fields, version, structs), key=str))


WRONG_COMPARISONS: tuple[tuple[str, Callable[..., Any] | Any], ...] = (
    ("_is_flexible", lambda schema, version: False),
    ("_fields_in", _top_level),
    ("_fields_in", _without_order),
    ("_problems_of_headers", lambda newest, schema: ()),
    ("TELEMETRY_KEYS", ()),
    ("OFFSET_DELETE_KEY", -1),
    ("_own_fields", lambda field, structs: field.get("fields", ())),
)
"""Planted faults of the comparison: a name, and what replaces it."""


@pytest.mark.parametrize(("name", "by"), WRONG_COMPARISONS)
def test_wrong_comparison_is_noticed(name: str, by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the rows above: it finds something else than the right one."""
    monkeypatch.setattr(released_schemas, name, by)
    assert any(found(row) != row.where for row in ROWS)


def test_examples_of_the_text_have_the_bodies_of_the_release() -> None:
    """All eight, compared with a release that, as the text, has DeleteGroups 0-2; 4.4.0 has a v3 already."""
    jar = clients_jar(schema_releases()[1])
    result = CliRunner().invoke(schemas, ["check", str(EXAMPLES), "--released", str(jar)])
    assert result.exit_code == 0, result.output


def test_difference_is_shown_with_its_file(tmp_path: Path) -> None:
    for folder, each in (("old", schema()), ("new", schema(valid="0-2", fields=FIELDS[:2]))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.json").write_text(json.dumps(each))
    options = ["check", str(tmp_path / "new"), "--released", str(tmp_path / "old")]
    result = CliRunner().invoke(schemas, options)
    assert result.exit_code == 1
    assert "new/x.json: fields: v2 has another body than v1 of the release" in result.output
