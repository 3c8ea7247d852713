"""Tests of the page about KIP-1313: measured figures and clauses.

The figures are those of each release.
"""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from clauses.catalogue import catalogue
from proposals.kip_1313.page import COLUMNS, DISCOVERY, RECORDED
from reports.exports.writing import table_schema_text
from reports.grid import addresses
from reports.grid.addresses import FORMS, table_address
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import write_small_site


@pytest.fixture(scope="module")
def small_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a small site."""
    return write_small_site(tmp_path_factory.mktemp("site"))


def test_page_has_the_figures_of_each_release(small_site: Path) -> None:
    """The newest release first, with the rate of answered requests and its interval."""
    rows = [text_of(row) for row in all_of(parse(small_site / "proposal.html"), "tr")]
    (newest,) = [row for row in rows if row.startswith("4.4.0 kraft")]
    assert newest == "4.4.0 kraft v5 100 of 100 22 of 5,000 0.44% (0.29% to 0.67%) 5,000 of 5,000 closed"
    oldest = next(row for row in rows if row.startswith("2.4.1 zookeeper"))
    assert rows.index(newest) < rows.index(oldest)


def test_page_lists_the_clauses_of_the_proposal(small_site: Path) -> None:
    """All of them, and no others."""
    page = parse(small_site / "proposal.html")
    listed = [text_of(row).split()[0] for row in all_of(page, "tr")]
    assert [each for each in listed if each.startswith("KIP-")] == [
        clause.id for clause in catalogue() if clause.source == "KIP-1313"
    ]
    assert "Under discussion" in text_of(page)


def test_rules_lead_to_the_page(small_site: Path) -> None:
    """In the words of the proposal."""
    page = parse(small_site / addresses.RULES)
    links = {link.get("href"): text_of(link) for link in all_of(page, "a")}
    assert links["proposal.html"] == "KIP-1313, a proposal"


def test_figures_are_exported_as_they_were_recorded(small_site: Path) -> None:
    """JSON follows the published schema, CSV equals the recorded table, and the page links to both."""
    document = json.loads((small_site / table_address(DISCOVERY, "json")).read_text())
    Draft202012Validator(json.loads(table_schema_text())).validate(document)
    assert document["inputs_sha256"] == hashlib.sha256(RECORDED.read_bytes()).hexdigest()
    exported = (small_site / table_address(DISCOVERY, "csv")).read_text(encoding="utf-8")
    assert exported.splitlines() == RECORDED.read_text().splitlines()
    assert next(csv.reader(exported.splitlines())) == list(COLUMNS[DISCOVERY])
    links = {each.get("aria-label") for each in all_of(parse(small_site / "proposal.html"), "a")}
    assert {f"{DISCOVERY} as {form}" for form, _ in FORMS} <= links
