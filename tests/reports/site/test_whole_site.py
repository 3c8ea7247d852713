"""Tests of the complete small site.

They check that all pages exist, what the search box finds, that all texts are escaped, and that nothing remains of an
earlier site.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser

from reports.exports.writing import HISTORY_ROW_TYPES
from reports.grid import addresses
from reports.site.clause_pages import write_clauses
from reports.site.drill_down import write_cells
from reports.site.failure_pages import write_failures
from reports.site.whole_site import (
    StatementWithoutEvidence,
    build_site,
    check_statements,
    read_tables,
)
from reports.site.why import write_why
from tests.reports.site.browsers import SIZES
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import (
    HOSTILE,
    KNOWN_SIGNATURE,
    NAMES,
    NEW,
    OLD,
    ORDER,
    SIGNATURE,
    TARGETS,
    cells_with,
    site_tables,
    write_pages,
    write_small_site,
    write_small_tables,
)


def _pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_everything_has_its_page(small_site: Path) -> None:
    """Every clause, target and failure has a page, and so has every cell with more than its verdict to show."""
    counts = {
        name: len(list((small_site / name).rglob("*.html"))) for name in ("clauses", "targets", "cells", "failures")
    }
    assert counts == {"clauses": 4, "targets": len(TARGETS), "cells": 7, "failures": 4}


def test_every_export_is_linked_from_a_page(small_site: Path) -> None:
    """Readers can find every file below exports/ without knowing its name."""
    assert _exports_without_a_link(small_site) == []


def test_export_of_an_empty_table_is_linked_too(tmp_path: Path) -> None:
    """An empty table is also a fact that programs read: nothing was measured."""
    site = write_small_site(tmp_path, **{name: [] for name in HISTORY_ROW_TYPES if name != "failures"})
    assert _exports_without_a_link(site) == []


def _exports_without_a_link(site: Path) -> list[Path]:
    linked = {
        (page.parent / unquote(link.get("href", "").partition("#")[0])).resolve()
        for page in _pages(site)
        for link in (*all_of(parse(page), "a"), *all_of(parse(page), "link"))
    }
    there = {path.resolve() for path in (site / "exports").rglob("*") if path.is_file()}
    return sorted(there - linked)


def test_every_page_names_the_feed(small_site: Path) -> None:
    """A feed reader finds the feed from any page."""
    for path in _pages(small_site):
        (feed,) = all_of(parse(path), "link", type="application/atom+xml")
        assert feed.get("rel") == "alternate"
        assert (path.parent / feed.get("href", "")).is_file()


def test_home_names_the_grid_as_json(small_site: Path) -> None:
    """A program that knows only the page's address finds the page's content."""
    (grid,) = all_of(parse(small_site / "index.html"), "link", type="application/json")
    assert (grid.get("rel"), grid.get("href")) == ("alternate", "grid.json")
    assert (small_site / "grid.json").is_file()


def test_addresses_in_reasons_are_links(small_site: Path) -> None:
    """A declared violation links to its discussion; the link shows the last part of the address."""
    page = parse(small_site / addresses.clause_page(NAMES))
    links = {text_of(link): link.get("href") for link in all_of(page, "a", rel="noreferrer")}
    assert links["KAFKA-1"] == "https://issues.example/browse/KAFKA-1"


def test_texts_from_targets_are_escaped(small_site: Path) -> None:
    """A name, a statement and a message that look like markup or a template are shown as they are."""
    shown = 0
    for path in _pages(small_site):
        page = parse(path)
        assert not [script for script in all_of(page, "script") if script.get("src") is None]
        shown += text_of(page).count("{{ 7*7 }}")
    assert shown > 20
    message = text_of(next(all_of(parse(small_site / "failures" / f"{SIGNATURE}.html"), "p", class_="observed")))
    assert message == HOSTILE


def test_second_rendering_leaves_no_old_page(tmp_path: Path) -> None:
    """Rendering removes the pages of an earlier grid from the folder."""
    write_small_tables(tmp_path)
    old = tmp_path / "failures" / "old.html"
    old.parent.mkdir()
    old.write_text("old")
    build_site(*read_tables(tmp_path), tmp_path)
    assert not old.exists()


@pytest.mark.parametrize("missing", ["transitions", "failures", "coverage", "mutation", "neighbours"])
def test_missing_table_is_shown_as_not_recorded(missing: str, tmp_path: Path) -> None:
    """A grid folder of an older suite has fewer tables, and its pages say so."""
    write_small_tables(tmp_path)
    (tmp_path / "tables" / f"{missing}.parquet" / "part-0.parquet").unlink()
    (tmp_path / "tables" / f"{missing}.parquet").rmdir()
    write_pages(tmp_path, write_clauses, write_cells, write_failures, write_why)
    assert any("not recorded" in text_of(parse(path)) for path in _pages(tmp_path))


@pytest.mark.parametrize(
    ("clause", "target", "changes"),
    [
        pytest.param(NAMES, NEW, {"known_violation": ""}, id="known violation"),
        pytest.param(NAMES, OLD, {"reason": ""}, id="not applicable"),
        pytest.param(ORDER, NEW, {"reason": ""}, id="inconclusive"),
        pytest.param(ORDER, NEW, {"reason": "", "known_violation": "open"}, id="declared too"),
    ],
)
def test_missing_note_is_refused(clause: str, target: str, changes: dict[str, Any], tmp_path: Path) -> None:
    """The cell is named."""
    folder = write_small_tables(tmp_path, cells=cells_with(clause, target, **changes))
    with pytest.raises(StatementWithoutEvidence, match=f"{clause} on {target}.*a note is missing"):
        check_statements(*read_tables(folder))


@pytest.mark.parametrize("kept", ["no row", "no bytes", "recurred in no repeat"])
def test_missing_evidence_is_refused(kept: str, tmp_path: Path) -> None:
    """A failure without any stored evidence does not count as evidence, and no page is written."""
    failures = site_tables()["failures"]
    if kept == "no row":
        failures = [row for row in failures if row["signature"] != KNOWN_SIGNATURE]
    elif kept == "no bytes":
        failures = [row | {"hex_dump": None} for row in failures]
    else:
        facts = json.dumps({"repeats": {"class": "flaky", "rate": {"failed": 0}}})
        failures = [row | {"facts": facts} for row in failures]
    with pytest.raises(StatementWithoutEvidence, match="evidence is missing"):
        write_small_site(tmp_path, failures=failures)
    assert not (tmp_path / "index.html").exists()


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


def test_plain_names_stay() -> None:
    """Addresses contain the ids of clauses and targets unchanged."""
    assert addresses.clause_page("KIP-511.names-refused") == "clauses/KIP-511.names-refused.html"
    cell = addresses.cell_page("KIP-35.keys", "apache-kafka-4.4.0", "ssl")
    assert cell == "cells/KIP-35.keys/apache-kafka-4.4.0-ssl.html"
    assert addresses.root_of(cell) == "../../"


@given(name=st.text())
def test_any_name_is_one_safe_part_of_a_path(name: str) -> None:
    """The part has no separator and nothing that must be quoted, and is neither empty nor only dots."""
    part = addresses.file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", part)
    assert len(PurePosixPath(part).parts) == 1
    assert len(part) <= 120


@given(one=st.text(), other=st.text())
def test_different_names_have_different_addresses(one: str, other: str) -> None:
    """Names that lose characters are distinguished by a hash."""
    assert (addresses.file_name(one) == addresses.file_name(other)) == (one == other)
