"""Tests of what the search box finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from reports.grid import addresses
from tests.reports.site.browsers import SIZES
from tests.reports.site.sites import (
    HOSTILE,
    KNOWN_SIGNATURE,
    NAMES,
    NEW,
)


def _entries(site: Path) -> list[list[str]]:
    text = (site / addresses.SEARCH).read_text(encoding="utf-8")
    found: list[list[str]] = json.loads(text.removeprefix("window.searchEntries = ").rstrip(";\n"))
    return found


def test_products_rules_and_failures_can_be_found(small_site: Path) -> None:
    """Each entry leads to a page of the site; names are kept as they are."""
    entries = _entries(small_site)
    assert ["Apache Kafka 4.4.0", f"broker {NEW}", addresses.target_page(NEW)] in entries
    upgrade = addresses.upgrade_page("2.8.2", "4.4.0")
    assert ["2.8.2 → 4.4.0", "upgrade", upgrade] in entries
    assert [NAMES, NAMES, addresses.clause_page(NAMES)] in entries
    assert any(title.startswith(HOSTILE) for title, _, _ in entries)
    message = "assert NONE (0) is INVALID_REQUEST (42)"
    page = addresses.failure_page(KNOWN_SIGNATURE)
    assert [f"Apache Kafka 4.4.0: {message}", NAMES, page] in entries
    assert all((small_site / href).is_file() for _, _, href in entries)


@pytest.mark.browser
def test_search_leads_to_a_failure_by_its_error(browser: Browser, small_site: Path) -> None:
    """The words may come from title and id; the first hit opens with Enter, from a page in a folder as well; words
    that lead nowhere get an answer too."""
    page = browser.new_page(viewport=SIZES["phone"])
    page.goto((small_site / addresses.target_page(NEW)).as_uri())
    box = page.get_by_label("Search rules, products and failures")
    box.fill("no such word")
    page.locator(".search li", has_text="Nothing found").wait_for()
    box.fill("invalid_request 4.4.0")
    page.locator(".search li a").first.wait_for()
    assert page.locator(".search li").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES["phone"]["width"]
    box.press("Enter")
    page.wait_for_url(f"**/{addresses.failure_page(KNOWN_SIGNATURE)}")
    page.close()
