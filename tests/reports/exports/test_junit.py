"""Tests of JUnit XML: a case fails if a run would fail."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from reports.exports.junit import junit_document, junit_text, result_of
from reports.grid.addresses import JUNIT
from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_tables
from reports.grid.products import products_of
from reports.records import Verdict
from tests.reports.exports.grids import CLAUSE, NEW, OLD, newer_grid
from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "timestamp", "time"},
    "testcase": {"classname", "name", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}


def _document(folder: Path) -> ET.Element:
    grid, failures = read_grid(folder), read_history_tables(folder).failures or ()
    return junit_document(grid, products_of(FoldedGrid(grid), failures), failures)


@pytest.mark.parametrize("folder", ["small", "hostile"])
def test_document_has_the_common_shape(folder: str, request: pytest.FixtureRequest) -> None:
    """Elements, attributes and nesting follow the schema that Jenkins' plugin publishes, and counts are correct."""
    root = ET.parse(request.getfixturevalue(folder) / JUNIT).getroot()
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
    for suite in root:
        assert int(suite.get("tests", "")) == len(suite)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(name, "")) == len(suite.findall(f"testcase/{tag}"))
    for name in ("tests", "failures", "errors"):
        assert int(root.get(name, "")) == sum(int(suite.get(name, "")) for suite in root)


def test_each_cell_is_a_case(small: Path) -> None:
    """The name is the clause, the class is target and listener; a known violation is skipped with its reason."""
    root = ET.parse(small / JUNIT).getroot()
    cases = {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}
    assert len(cases) == 5
    failed = cases[f"{OLD}.ssl", CLAUSE].find("failure")
    assert failed is not None
    assert failed.get("type") == "MUST violates"
    assert "violates: assert NONE (0) is INVALID_REQUEST (42)" in str(failed.get("message"))
    assert "client_software_name = ''" in (failed.text or "")
    skipped = cases[f"{NEW}.plaintext", CLAUSE].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "known: open as KAFKA-1"


@pytest.mark.parametrize(
    ("verdict", "level", "result"),
    [
        ("violates", "MUST", "failure"),
        ("violates", "PIN", "failure"),
        ("violates", "SHOULD", "skipped"),
        ("flaky", "MUST", "failure"),
        ("unexpected_pass", "SHOULD", "failure"),
        ("known_violation", "MUST", "skipped"),
        ("not_applicable", "MUST", "skipped"),
        ("inconclusive", "MUST", "error"),
        ("not_run", "MUST", "error"),
        ("informational", "PIN", ""),
        ("conforms", "MUST", ""),
    ],
)
def test_failed_is_what_fails_a_run(verdict: str, level: str, result: str) -> None:
    """A case fails if the cell would fail a run, and is an error if the cell could not be judged."""
    assert result_of(Verdict(verdict), level) == result


def test_known_violation_is_explained_by_the_declaration_that_matched(tmp_path: Path) -> None:
    """A cell may have declarations that describe none of the failures that were seen."""
    signature = "a" * 16
    declared = {"known_violation": "Produce is closed on; StreamsGroup is not served"}
    matched = {"known_violation": "StreamsGroup is not served"}
    write_tables(
        tmp_path,
        targets=[target_row(NEW)],
        clauses=[clause_row(CLAUSE)],
        cells=[cell_row(CLAUSE, NEW, "known_violation", failures=[signature], **declared)],
        failures=[failure_row(signature, CLAUSE, NEW, **matched)],
    )
    (skipped,) = _document(tmp_path).iter("skipped")
    assert skipped.get("message") == "known: StreamsGroup is not served"


def test_a_crash_has_its_own_word(tmp_path: Path) -> None:
    """A case whose target ended says "crashes" in place of the verdict."""
    signature = "a" * 16
    crash = {
        "kind": "TargetEnded",
        "message": "this request crashes the target: panic\ngoroutine 1",
    }
    write_tables(
        tmp_path,
        targets=[target_row(NEW)],
        clauses=[clause_row(CLAUSE)],
        cells=[cell_row(CLAUSE, NEW, "violates", failures=[signature])],
        failures=[failure_row(signature, CLAUSE, NEW, **crash)],
    )
    (failed,) = _document(tmp_path).iter("failure")
    assert failed.get("message") == "crashes: this request crashes the target: panic"


def test_suite_is_a_product_and_has_its_time(tmp_path: Path) -> None:
    """An operation is a case of its client; the time of a run is shared out by examples."""
    row = "some-lib-2.1.produce"
    write_tables(
        tmp_path,
        targets=[target_row(NEW), target_row(NEW, role="operation")],
        clauses=[
            clause_row(CLAUSE),
            clause_row(row, 1, role="operation", source="some-lib-2.1"),
        ],
        cells=[cell_row(CLAUSE, NEW, examples=45), cell_row(row, NEW, examples=15)],
    )
    root = _document(tmp_path)
    assert [(suite.get("name"), suite.get("time")) for suite in root] == [
        ("Apache Kafka 4.4.0", "45.000"),
        ("some-lib 2.1", "15.000"),
    ]
    case = root[1][0]
    assert (case.get("classname"), case.get("name")) == (f"{NEW}.plaintext", row)
    assert case.get("time") == "15.000"


def test_what_is_newer_than_the_set_passes_and_says_so(tmp_path: Path) -> None:
    grid = read_grid(newer_grid(tmp_path / "grid"))
    text = junit_text(grid, products_of(FoldedGrid(grid), ()), ())
    assert 'failures="0" errors="0"' in text
    assert "newer than set 0.1</system-out>" in text
