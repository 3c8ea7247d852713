"""Tests of the page that lists all rules."""

from __future__ import annotations

from pathlib import Path

from reports.grid import addresses
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import (
    HOSTILE,
    NAMES,
    NEW,
)


def test_rules_name_who_breaks_them(small_site: Path) -> None:
    """Each rule has the worst verdict of each product, with a way to what was seen, and its source."""
    page = parse(small_site / "rules.html")
    (row,) = [row for row in all_of(page, "tr") if NAMES in text_of(row)]
    assert text_of(row) == (
        f"{NAMES} MUST broker ✕ violates hostile ⚑ known Apache Kafka ✓ conforms other Proposed Changes 1 of 1"
    )
    goals = [link.get("href", "") for link in row.iter("a")]
    assert goals == [
        addresses.clause_page(NAMES),
        addresses.cell_page(NAMES, HOSTILE, "plaintext"),
        addresses.cell_page(NAMES, NEW, "plaintext"),
    ]
