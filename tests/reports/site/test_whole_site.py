"""What holds on every page: valid HTML, links that resolve, nothing remote, nothing unescaped."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

from reports.grid_page import write_grid
from reports.site.rendering import PAGES
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import HOSTILE, SIGNATURE, TARGETS, write_small_site


def _pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_kind_of_page_is_there(small_site: Path) -> None:
    """All overviews, and a page per clause, target, cell with more to say, and failure."""
    for address, _ in PAGES:
        assert (small_site / address).is_file()
    counts = {
        name: len(list((small_site / name).rglob("*.html")))
        for name in ("clauses", "targets", "cells", "failures")
    }
    assert counts == {"clauses": 4, "targets": len(TARGETS), "cells": 7, "failures": 3}


def test_pages_are_valid(small_site: Path) -> None:
    """A strict parser finds no error, and no id stands twice on a page."""
    for path in _pages(small_site):
        page = parse(path)
        ids = [element.get("id") for element in page.iter() if element.get("id")]
        assert len(set(ids)) == len(ids), path


def test_links_resolve(small_site: Path) -> None:
    """Every address is a file of the site, and every fragment an id on its page."""
    ids = {
        path.resolve(): {element.get("id") for element in parse(path).iter()}
        for path in _pages(small_site)
    }
    for path in _pages(small_site):
        for link in all_of(parse(path), "a"):
            if link.get("href", "").startswith("https://"):
                assert link.get("rel") == "noreferrer"
                continue
            file, _, fragment = link.get("href", "").partition("#")
            goal = (path.parent / unquote(file)).resolve() if file else path.resolve()
            assert goal.is_file(), (path, link.get("href"))
            assert not fragment or fragment in ids[goal], (path, link.get("href"))


def test_nothing_is_remote(small_site: Path) -> None:
    """One style sheet and one script of our own; no address of another machine."""
    for path in _pages(small_site):
        page = parse(path)
        scripts = [script.get("src", "") for script in all_of(page, "script")]
        assert [Path(src).name for src in scripts] == ["site.js"]
        for element in page.iter():
            loaded = [
                element.get("src", ""),
                element.get("href", "") if element.tag == "link" else "",
            ]
            assert not any("//" in address for address in loaded), path


def test_addresses_in_reasons_are_links(small_site: Path) -> None:
    """A declared violation leads to where it is discussed; the link shows the last part of the address."""
    page = parse(small_site / "findings.html")
    links = {text_of(link): link.get("href") for link in all_of(page, "a", rel="noreferrer")}
    assert links == {"KAFKA-1": "https://issues.example/browse/KAFKA-1"}


def test_texts_from_targets_are_escaped(small_site: Path) -> None:
    """A name, a statement and a message that look like markup or a template are shown as they are."""
    shown = 0
    for path in _pages(small_site):
        page = parse(path)
        assert not [script for script in all_of(page, "script") if script.get("src") is None]
        shown += text_of(page).count("{{ 7*7 }}")
    assert shown > 20
    message = text_of(
        next(all_of(parse(small_site / "failures" / f"{SIGNATURE}.html"), "p", class_="observed"))
    )
    assert message == HOSTILE


def test_pages_have_one_heading_one_main_and_a_skip_link(small_site: Path) -> None:
    """The first link of every page leads to its content."""
    for path in _pages(small_site):
        page = parse(path)
        assert len(list(all_of(page, "h1"))) == 1, path
        assert [main.get("id") for main in all_of(page, "main")] == ["main"]
        assert next(all_of(page, "a")).get("href") == "#main"


def test_tables_have_headers_with_a_scope(small_site: Path) -> None:
    """No header leaves it to a reader's program to guess what it heads."""
    for path in _pages(small_site):
        for head in all_of(parse(path), "th"):
            assert head.get("scope") in ("row", "col", "rowgroup", "colgroup"), path


def test_second_rendering_leaves_no_old_page(tmp_path: Path) -> None:
    """Pages of an earlier grid are gone from the folder."""
    write_small_site(tmp_path)
    old = tmp_path / "failures" / "old.html"
    old.write_text("old")
    write_grid(tmp_path)
    assert not old.exists()


@pytest.mark.parametrize(
    "missing", ["transitions", "failures", "coverage", "mutation", "latency", "neighbours"]
)
def test_missing_table_is_shown_as_not_recorded(missing: str, tmp_path: Path) -> None:
    """A grid folder of an older suite has fewer tables, and its pages say so."""
    write_small_site(tmp_path)
    (tmp_path / "tables" / f"{missing}.parquet" / "part-0.parquet").unlink()
    (tmp_path / "tables" / f"{missing}.parquet").rmdir()
    write_grid(tmp_path)
    assert any("not recorded" in text_of(parse(path)) for path in _pages(tmp_path))
