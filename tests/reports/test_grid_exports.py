"""JSON, CSV and Markdown say what the page says."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from reports.grid_page import write_grid
from tests.reports.roll_up_tables import (
    cell_row,
    clause_row,
    range_row,
    target_row,
    write_tables,
)

NEW, OLD = "apache-kafka-4.4.0", "apache-kafka-3.9.2"


def _write(out_dir: Path) -> None:
    write_tables(
        out_dir,
        targets=[target_row(OLD), target_row(NEW)],
        clauses=[clause_row("KIP-35.keys")],
        cells=[
            cell_row("KIP-35.keys", OLD, "violates", failures=["f1", "f2"], reason='a "b", c'),
            cell_row("KIP-35.keys", NEW),
        ],
        ranges=[range_row("KIP-35.keys", "apache-kafka", "since 4.4.0, not before")],
        refused=[{"folder": "/a|b", "refusal": "cut_off", "reason": "cut off"}],
    )
    write_grid(out_dir)


def test_json_has_a_schema_version_and_all_tables(tmp_path: Path) -> None:
    """grid.json begins with its version and holds everything that the page shows."""
    _write(tmp_path)
    document = json.loads((tmp_path / "grid.json").read_text(encoding="utf-8"))
    assert next(iter(document.items())) == ("grid_schema_version", 1)
    assert document["counts"] == {"conforms": 1, "violates": 1}
    assert [cell["verdict"] for cell in document["cells"]] == ["conforms", "violates"]
    assert document["cells"][1]["failures"][0]["signature"] == "f1"
    assert document["ranges"][0]["statement"] == "since 4.4.0, not before"
    assert document["runs"][0]["started_at"] == "2026-11-21T14:30:00+00:00"
    assert document["refused"][0]["folder"] == "/a|b"
    assert [entry["release"] for entry in document["targets"]] == ["4.4.0", "3.9.2"]


def test_csv_has_a_row_per_cell(tmp_path: Path) -> None:
    """grid.csv is one row per cell, failures by signature, quoted where it must be."""
    _write(tmp_path)
    with (tmp_path / "grid.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["target"], row["verdict"], row["failures"]) for row in rows] == [
        (NEW, "conforms", ""),
        (OLD, "violates", "f1 f2"),
    ]
    assert rows[1]["reason"] == 'a "b", c'


def test_markdown_is_a_table_with_the_same_words(tmp_path: Path) -> None:
    """grid.md has the sentence, the cells in the page's words, the ranges and the refused runs."""
    _write(tmp_path)
    lines = (tmp_path / "grid.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "**✕ 1 MUST clause is violated on 1 of 2 targets.**"
    assert lines[2] == "| clause | level | Apache Kafka 4.4.0 | Apache Kafka 3.9.2 |"
    assert lines[4] == "| KIP-35.keys | MUST | ✓ conforms | ✕ violates 2 |"
    assert "| KIP-35.keys | apache-kafka | since 4.4.0, not before |" in lines
    assert r"Refused: /a\|b: cut off" in lines
