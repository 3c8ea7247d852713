"""Tests of the complete small site.

They check that all pages exist, that all texts are escaped, and that nothing remains of an earlier site.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

from reports.exports.writing import HISTORY_ROW_TYPES
from reports.grid import addresses
from reports.site.build import build_site, read_tables
from reports.site.clause_pages import write_clauses
from reports.site.drill_down import write_cells
from reports.site.failure_pages import write_failures
from reports.site.why import write_why
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import (
    HOSTILE,
    NAMES,
    SIGNATURE,
    TARGETS,
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
