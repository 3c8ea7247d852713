"""Writer of reports/exports/table_schema.json, which describes exports/*.json."""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Union, get_args, get_origin, get_type_hints

from proposals import provided
from reports.exports.writing import GRID_ROW_TYPES, HISTORY_ROW_TYPES, TABLE_SCHEMA_VERSION, columns_of
from reports.records import (
    Verdict,
)
from reports.site.advertised_page import RECORDED_COLUMNS
from reports.tables.cell_rows import CellFailure

_NULL = type(None)
_SCHEMA_OF: Mapping[type, _Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
}
_NAMED = {Verdict: "verdict", CellFailure: "failure"}
_HEAD: _Schema = {
    "table_schema_version": {"const": TABLE_SCHEMA_VERSION},
    "inputs_sha256": {
        "type": "string",
        "pattern": "^([0-9a-f]{64})?$",
        "description": "SHA-256 of what the table was made from; empty where none is known. See docs/records-schema.md.",
    },
}

_Schema = dict[str, Any]


def table_schema() -> Iterator[str]:
    """Yield the text of the JSON Schema of `exports/*.json`, made from the classes of the rows."""
    rows = _rows()
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kafka-conformance:table-schema:{TABLE_SCHEMA_VERSION}",
        "title": "One table next to a grid, as exports/<table>.json has it",
        "description": "Timestamps are UTC. What a later version adds is a new table_schema_version.",
        "type": "object",
        "additionalProperties": False,
        "required": ["table_schema_version", "table", "inputs_sha256", "columns", "rows"],
        "properties": {
            **_HEAD,
            "table": {"enum": list(rows)},
            "columns": {"type": "array", "items": {"type": "string"}},
            "rows": {"type": "array"},
        },
        "allOf": [
            {
                "if": {"properties": {"table": {"const": table}}},
                "then": {"properties": {"rows": {"items": {"$ref": f"#/$defs/{table}"}}}},
            }
            for table in rows
        ],
        "$defs": {
            "verdict": {"enum": [verdict.value for verdict in Verdict]},
            "failure": _row(CellFailure, columns_of("", CellFailure)),
            **rows,
        },
    }
    yield json.dumps(schema, indent=1)
    yield ""


def _rows() -> dict[str, _Schema]:
    """Return the schema of a row of each table."""
    from_classes = {
        table: _row(row_type, columns_of(table, row_type))
        for table, row_type in {**GRID_ROW_TYPES, **HISTORY_ROW_TYPES}.items()
    }
    recorded = {
        table: _object({name: _SCHEMA_OF[type_] for name, type_ in columns.items()})
        for tables in (RECORDED_COLUMNS, *(page.tables for page in provided("page")))
        for table, columns in tables.items()
    }
    return {**from_classes, **recorded}


def _row(row_type: type, columns: Iterable[str]) -> _Schema:
    hints = get_type_hints(row_type)
    return _object({name: _value(hints[name]) for name in columns})


def _object(properties: _Schema) -> _Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _value(hint: Any) -> _Schema:
    """Return the schema of a value, as `reports.exports.writing` writes a value of this type."""
    if hint in _NAMED:
        return {"$ref": f"#/$defs/{_NAMED[hint]}"}
    if get_origin(hint) in (Union, types.UnionType):
        (schema,) = (_value(each) for each in get_args(hint) if each is not _NULL)
        if "$ref" in schema:
            return {"anyOf": [schema, {"type": "null"}]}
        return {**schema, "type": [schema["type"], "null"]}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _value(get_args(hint)[0])}
    if get_origin(hint) is not None:
        return {"type": "object", "additionalProperties": _value(get_args(hint)[1])}
    return _SCHEMA_OF[hint]
