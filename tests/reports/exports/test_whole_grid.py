"""grid.json, grid.csv and grid.md have the content of the home page."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.reports.exports.grids import HOSTILE, export, hostile_tables
from tests.reports.roll_up_tables import cell_row, clause_row, target_row, write_tables


def test_json_has_a_schema_version_and_all_tables(small: Path) -> None:
    """grid.json begins with its version and contains everything that the page shows."""
    document = json.loads((small / "grid.json").read_text(encoding="utf-8"))
    assert next(iter(document.items())) == ("grid_schema_version", 1)
    assert document["counts"] == {"violates": 2, "known_violation": 1, "not_applicable": 1}
    assert document["cells"][0]["verdict"] == "known_violation"
    assert (
        document["ranges"][0]["statement"] == "in 3.9.2; known violation in 4.4.0 (open as KAFKA-1)"
    )
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
        refused=[
            {"folder": f"runs/{number}", "refusal": "cut_off", "reason": "long " * 20}
            for number in range(3)
        ],
    )
    text = (export(tmp_path) / "grid.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 12_000
    assert "| rule | Apache Kafka 3.0.0 to 3.9.0 |" in text
    assert "| client 1.3 | ✕ 1 |" in text
    assert "Left out for lack of space" in text
    assert text.count("Refused: ") == 3
    assert "| --- |\n\n" not in text


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
