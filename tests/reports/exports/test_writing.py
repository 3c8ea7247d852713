"""Every table has the same content as CSV, JSON and Markdown.

The exported grid has the content of the home page.
"""

from __future__ import annotations

import csv
import json
from dataclasses import fields
from datetime import datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from reports.exports.writing import GRID_ROW_TYPES, HISTORY_ROW_TYPES, columns_of, table_schema_text
from reports.tables.cell_rows import GridClause
from reports.tables.run_rows import GridRun
from tests.reports.exports.grids import (
    CLAUSE,
    EXPECTED_TAGS,
    HOSTILE,
    NEW,
    OLD,
    SIGNATURE,
    TERMINAL_ESCAPES,
    RenderedTags,
    export,
    hostile_tables,
)
from tests.reports.roll_up_tables import (
    INPUTS_SHA256,
    cell_row,
    clause_row,
    target_row,
    write_tables,
)

SCHEMA = json.loads(table_schema_text())
TABLES = {**GRID_ROW_TYPES, **HISTORY_ROW_TYPES}


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
    assert left_out == ({"facts", "hex_dump", "reproducer", "pcap"} if table == "failures" else set())


def test_columns_keep_the_order_that_exports_always_had() -> None:
    """The class of a row may have another one: spreadsheets count columns."""
    assert columns_of("clauses", GridClause)[:3] == ("clause", "position", "role")
    assert columns_of("runs", GridRun) == (
        *("run_id", "folder", "in_grid", "started_at", "finished_at", "exit_status", "example_rows", "exchange_rows"),
        *("tier", "seed", "suite_version", "suite_commit", "catalogue_sha256", "python", "hypothesis"),
        *("system", "machine", "cpus", "whole", "corrects", "load_at_start", "highest_load", "clause_set"),
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
    assert cell["failures"] == [{"signature": SIGNATURE, "verdict": "violates", "smallest_example": 7, "examples": 3}]


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


def test_json_has_a_schema_version_and_all_tables(small: Path) -> None:
    """grid.json begins with its version and contains everything that the page shows."""
    document = json.loads((small / "grid.json").read_text(encoding="utf-8"))
    assert next(iter(document.items())) == ("grid_schema_version", 1)
    assert document["counts"] == {"violates": 2, "known_violation": 1, "not_applicable": 1}
    assert document["cells"][0]["verdict"] == "known_violation"
    assert document["ranges"][0]["statement"] == "in 3.9.2; known violation in 4.4.0 (open as KAFKA-1)"
    assert document["runs"][0]["started_at"] == "2026-11-21T14:30:00+00:00"
    assert [entry["release"] for entry in document["targets"]] == ["4.4.0", "3.9.2", "3.9.2"]


def test_csv_is_the_table_of_the_page(small: Path) -> None:
    """grid.csv has a row per clause and a column per target, with the page's words."""
    with (small / "grid.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["clause", "level", "Apache Kafka 4.4.0", "Apache Kafka 3.9.2"],
        ["KIP-511.names-refused", "MUST", "⚑ known", "✕ violates 1"],
        ["KIP-35.keys-unique", "SHOULD", "– n/a", "✕ violates"],
    ]


def test_markdown_begins_with_who_breaks_most(small: Path) -> None:
    """grid.md has the sentence, a row per product that breaks a rule, and the rules that some product does not keep."""
    lines = (small / "grid.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == r"**✕ 1 of 2 brokers breaks MUST rules: 1 MUST \+ 1 SHOULD, 2 bugs.**"
    assert lines[2] == "| product | breaks | what is wrong |"
    assert lines[4].startswith(
        r"| Apache Kafka 3.9.2 | ✕ violates 1 MUST \+ 1 SHOULD, 2 bugs | ApiVersions v3: assert NONE"
    )
    assert "| rule | Apache Kafka 4.4.0 | Apache Kafka 3.9.2 |" in lines
    assert "| KIP-511.names-refused MUST | ⚑ | ✕ |" in lines


def test_markdown_is_short_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    """Equal releases share a column, and operations have room; what does not fit into 12 kB is counted."""
    releases = [f"apache-kafka-3.{number}.0" for number in range(10)]
    clauses = [f"KIP-1.rule-{number}-with-a-name-of-the-usual-length" for number in range(300)]
    operations = [f"client-1.{number}.produce" for number in range(4)]
    rows = [
        *(clause_row(clause, index) for index, clause in enumerate(clauses)),
        *(clause_row(row, role="operation", level="MUST") for row in operations),
    ]
    judged = [(clause, target) for clause in clauses for target in releases]
    judged += [(row, releases[0]) for row in operations]
    write_tables(
        tmp_path,
        targets=[
            *(target_row(target) for target in releases),
            target_row(releases[0], role="operation"),
        ],
        clauses=rows,
        cells=[cell_row(clause, target, "violates") for clause, target in judged],
        refused=[{"folder": f"runs/{number}", "refusal": "cut_off", "reason": "long " * 20} for number in range(3)],
    )
    text = (export(tmp_path) / "grid.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 12_000
    assert "| rule | Apache Kafka 3.0.0 to 3.9.0 |" in text
    assert "| client 1.3 | ✕ 1 |" in text
    assert "Left out for lack of space" in text
    assert text.count("Refused: ") == 3
    assert "---|\n\n" not in text


def test_a_crash_has_its_own_word(tmp_path: Path) -> None:
    """A cell with a failure that ended the target says so, in CSV and in Markdown."""
    hostile_tables(tmp_path, kind="TargetEnded")
    export(tmp_path)
    for name in ("grid.csv", "grid.md"):
        assert "✕ crashes" in (tmp_path / name).read_text(encoding="utf-8")


def test_hostile_names_do_not_act(hostile: Path) -> None:
    """Refused folders and names of targets are escaped in Markdown and unchanged in JSON."""
    text = (hostile / "grid.md").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "\n## " not in text
    document = json.loads((hostile / "grid.json").read_text(encoding="utf-8"))
    assert document["refused"][0]["folder"] == HOSTILE
