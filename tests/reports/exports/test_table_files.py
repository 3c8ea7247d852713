"""Every table is exported as CSV, JSON and Markdown with the same content."""

from __future__ import annotations

import csv
import json
from dataclasses import fields
from datetime import datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from reports.exports.table_files import GRID_ROW_TYPES, columns_of, table_schema_text
from reports.grid.history_tables import ROW_TYPES
from tests.reports.exports.grids import CLAUSE, HOSTILE, NEW, OLD, SIGNATURE, TERMINAL_ESCAPES
from tests.reports.exports.rendered import EXPECTED_TAGS, RenderedTags
from tests.reports.roll_up_tables import INPUTS_SHA256

SCHEMA = json.loads(table_schema_text())
TABLES = {**GRID_ROW_TYPES, **ROW_TYPES}


def test_schema_is_a_schema() -> None:
    """The published schema is valid under the JSON Schema draft that it names."""
    validator_for(SCHEMA).check_schema(SCHEMA)


@pytest.mark.parametrize("table", TABLES)
def test_schema_has_the_columns_of_the_rows(table: str) -> None:
    """The schema and the row classes name the same tables and columns."""
    columns = columns_of(table, TABLES[table])
    assert table in SCHEMA["properties"]["table"]["enum"]
    assert SCHEMA["$defs"][table]["required"] == list(columns)
    assert list(SCHEMA["$defs"][table]["properties"]) == list(columns)
    left_out = {field.name for field in fields(TABLES[table])} - set(columns)
    assert left_out == (
        {"facts", "hex_dump", "reproducer", "pcap"} if table == "failures" else set()
    )


@pytest.mark.parametrize("folder", ["small", "hostile"])
def test_json_follows_the_published_schema(folder: str, request: pytest.FixtureRequest) -> None:
    """Each table's JSON is valid, whatever the names in it are."""
    out_dir: Path = request.getfixturevalue(folder)
    names = [*GRID_ROW_TYPES, "transitions", "failures"]
    for name in names:
        document = json.loads((out_dir / "exports" / f"{name}.json").read_text())
        Draft202012Validator(SCHEMA).validate(document)
        assert document["table"] == name
        assert document["inputs_sha256"] == ("" if name == "refused" else INPUTS_SHA256)
    assert json.loads((out_dir / "exports" / "table_schema.json").read_text()) == SCHEMA


def test_wrong_rows_do_not_follow_the_schema(small: Path) -> None:
    """A row with an additional column and an unknown verdict are refused."""
    document = json.loads((small / "exports" / "cells.json").read_text())
    validator = Draft202012Validator(SCHEMA)
    document["rows"][0]["verdict"] = "fine"
    assert not validator.is_valid(document)
    document["rows"][0] |= {"verdict": "conforms", "more": 1}
    assert not validator.is_valid(document)


def test_json_keeps_values_as_they_are(small: Path, hostile: Path) -> None:
    """Times are marked as UTC, and a hostile name is unchanged after reading."""
    row = json.loads((small / "exports" / "transitions.json").read_text())["rows"][0]
    assert datetime.fromisoformat(row["at"]).utcoffset() is not None
    cell = json.loads((hostile / "exports" / "cells.json").read_text())["rows"][0]
    assert cell["target"] == HOSTILE
    assert cell["failures"] == [
        {"signature": SIGNATURE, "verdict": "violates", "smallest_example": 7, "examples": 3}
    ]


def test_csv_has_a_row_per_cell(small: Path) -> None:
    """Failures are listed by signature, and numbers are numbers."""
    with (small / "exports" / "cells.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    by_cell = {(row["clause"], row["target"], row["listener"]): row for row in rows}
    assert by_cell[CLAUSE, OLD, "ssl"]["failures"] == SIGNATURE
    assert by_cell[CLAUSE, NEW, "plaintext"]["verdict"] == "known_violation"
    assert {row["examples"] for row in rows} == {"100"}


def test_hostile_names_are_harmless_in_csv_and_markdown(hostile: Path) -> None:
    """Hostile names add no formula, no terminal escape, no markup and no column."""
    with (hostile / "exports" / "cells.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["target"].startswith("'=cmd")
    for path in hostile.glob("exports/*.md"):
        text = path.read_text(encoding="utf-8")
        rendered = RenderedTags(text)
        assert set(rendered.tags) <= EXPECTED_TAGS, path
        assert not [link for link in rendered.links if not link.startswith("../")]
    lines = (hostile / "exports" / "cells.md").read_text(encoding="utf-8").splitlines()
    assert len({line.replace(r"\|", "").count("|") for line in lines}) == 1


def test_no_export_holds_a_terminal_escape(hostile: Path) -> None:
    """Any export printed to a terminal is plain text."""
    paths = [*hostile.glob("exports/**/*"), *hostile.glob("grid.*")]
    for path in paths:
        if path.is_file() and path.suffix != ".zip":
            text = path.read_text(encoding="utf-8")
            assert not any(character in text for character in TERMINAL_ESCAPES), path
