"""Violations are listed once per clause and target, with all data for an issue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports.exports.issues import marker, violations_of
from reports.grid.addresses import VIOLATIONS
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_tables
from reports.run.failures import READS_FACTS
from tests.reports.exports.grids import (
    CLAUSE,
    EXPECTED_TAGS,
    NEW,
    OLD,
    OTHER,
    SIGNATURE,
    RenderedTags,
    export,
    hostile_tables,
)
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables


def test_binding_violations_come_first(small: Path) -> None:
    """The file next to the tables lists MUST before SHOULD, each violation with its stable key."""
    found = json.loads((small / VIOLATIONS).read_text())
    assert [(each["key"], each["level"]) for each in found] == [
        (f"{CLAUSE} on {OLD}", "MUST"),
        (f"{OTHER} on {OLD}", "SHOULD"),
    ]
    assert found[0]["listeners"] == ["ssl"]
    assert found[0]["title"] == "Apache Kafka 3.9.2 violates KIP-511.names-refused"
    assert found[0]["link"] == f"../failures/{SIGNATURE}.html"
    assert found[1]["link"] == f"../cells/{OTHER}/{OLD}-plaintext.html"


def test_body_has_clause_bytes_script_and_link(small: Path) -> None:
    """An issue has the clause, the bytes, a way to reproduce the violation, and a hidden key."""
    body = json.loads((small / VIOLATIONS).read_text())[0]["body"]
    rendered = RenderedTags(body)
    assert set(rendered.tags) <= EXPECTED_TAGS
    assert "> What KIP-511.names-refused says." in body
    assert "client_software_name = ''" in body
    assert f"kafka-conformance replay runs/20261121T143000Z-1a2b3c4d/failures/{SIGNATURE}" in body
    assert "print('again')" in body
    assert rendered.links == [f"../failures/{SIGNATURE}.html"]
    assert rendered.comments == [f" kafka-conformance: {CLAUSE} on {OLD} "]


LONG_LINE = f"sent = '{'00' * 2000}'"


@pytest.mark.parametrize(
    ("script", "facts"),
    [
        ("x = 1\n" * 300, "{}"),
        (LONG_LINE, "{}"),
        (
            f"json = Path(__file__){READS_FACTS}",
            '{"steps": ["of the script"], "other": "left out"}',
        ),
    ],
    ids=["many-lines", "long-line", "reads-facts"],
)
def test_body_has_the_complete_script(script: str, facts: str, tmp_path: Path) -> None:
    """Every line of the script is there; so is what it reads from another file."""
    hostile_tables(tmp_path, reproducer=script, facts=facts)
    body = json.loads((export(tmp_path) / VIOLATIONS).read_text())[0]["body"]
    assert script.strip() in body
    assert ("of the script" in body) is (READS_FACTS in script)
    assert "left out" not in body


@pytest.mark.parametrize(
    "script",
    [f"json = Path(__file__){READS_FACTS}", "x = 1\n" * 10_000],
    ids=["reads-facts", "long"],
)
def test_body_has_no_script_that_does_not_run(script: str, tmp_path: Path) -> None:
    """A script whose file is missing, or that fits into no issue, is left out; the replay command stays."""
    hostile_tables(tmp_path, reproducer=script)
    body = json.loads((export(tmp_path) / VIOLATIONS).read_text())[0]["body"]
    assert "kafka-conformance replay" in body
    assert "A script that" not in body
    assert len(body) <= 65_536


def test_hanging_operation_is_the_client_s(tmp_path: Path) -> None:
    row = "some-lib-2.1.share-group"
    write_tables(
        tmp_path,
        targets=[target_row(target, role="operation") for target in (NEW, OLD)],
        clauses=[clause_row(row, role="operation", source="some-lib-2.1")],
        cells=[cell_row(row, target, "violates", failures=[SIGNATURE]) for target in (NEW, OLD)],
        failures=[failure_row(SIGNATURE, row, NEW)],
    )
    (found,) = json.loads((export(tmp_path) / VIOLATIONS).read_text())
    assert (found["role"], found["target"], found["key"]) == ("operation", "some-lib-2.1", row)
    assert found["releases"] == [NEW, OLD]
    assert found["title"] == ("some-lib 2.1: share-group fails with Apache Kafka 4.4.0, Apache Kafka 3.9.2")


def test_pages_stand_before_the_links(small: Path) -> None:
    """Links lead to the published pages; without pages there are no links."""
    folded, failures = FoldedGrid(read_grid(small)), read_history_tables(small).failures or ()
    published = violations_of(folded, failures, pages="https://pages.example/")
    assert published[0].link == f"https://pages.example/failures/{SIGNATURE}.html"
    unpublished = violations_of(folded, failures, pages=None)
    assert {violation.link for violation in unpublished} == {""}


def test_hostile_target_cannot_leave_its_texts(hostile: Path) -> None:
    """No tag, link, mention or end of a comment comes from a name, a message or received bytes."""
    (found,) = json.loads((hostile / VIOLATIONS).read_text())
    rendered = RenderedTags(found["body"])
    assert set(rendered.tags) <= EXPECTED_TAGS
    assert [link for link in rendered.links if not link.startswith("../failures/")] == []
    assert len(rendered.comments[-1]) > 40
    assert "-->" not in marker(found["key"])
    assert found["title"].isprintable()
    assert len(found["title"]) <= 200
