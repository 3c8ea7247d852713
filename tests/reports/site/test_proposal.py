"""The page about KIP-1313: the measured figures of each release, and the clauses of the proposal."""

from __future__ import annotations

from pathlib import Path

from clauses.catalogue import catalogue
from tests.reports.site.parsed_pages import all_of, parse, text_of


def test_page_has_the_figures_of_each_release(small_site: Path) -> None:
    """The newest release first, with the rate of answered requests and its interval."""
    rows = [text_of(row) for row in all_of(parse(small_site / "proposal.html"), "tr")]
    (newest,) = [row for row in rows if row.startswith("4.4.0 kraft")]
    assert (
        newest
        == "4.4.0 kraft v5 100 of 100 22 of 5,000 0.44% (0.29% to 0.67%) 5,000 of 5,000 closed"
    )
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
