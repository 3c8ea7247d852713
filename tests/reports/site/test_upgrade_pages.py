"""Tests of the pages of upgrades from one release to another."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from reference_model.profiles.release_tables import recorded_releases
from reports.site.build import build_site, read_tables
from reports.site.upgrade_pages import neighbours_of
from tests.reports.release_changes.grids import tables_of_two_releases
from tests.reports.roll_up_tables import write_tables
from tests.reports.site.parsed_pages import all_of, parse, text_of
from tests.reports.site.sites import OTHER, site_tables

PAIRS = ["2.8.2-3.9.2.html", "2.8.2-4.4.0.html", "3.9.2-4.4.0.html"]


@pytest.fixture(scope="module")
def broken_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with two releases: with the newer one a client loses an operation, and a rule is broken."""
    folder = tables_of_two_releases(
        tmp_path_factory.mktemp("broken"),
        rules={"KIP-1.rule": ("conforms", "violates")},
        operations={"one-1.0.produce": ("conforms", "violates")},
    )
    build_site(*read_tables(folder), folder)
    return folder


def test_each_two_releases_of_the_grid_have_a_page(small_site: Path) -> None:
    assert sorted(path.name for path in (small_site / "upgrade").glob("*.html")) == PAIRS


def test_overview_leads_to_every_page_without_a_script(small_site: Path) -> None:
    """The form is hidden until the script shows it."""
    page = parse(small_site / "upgrade.html")
    links = {link.get("href") for link in all_of(page, "a")}
    assert {f"upgrade/{name}" for name in PAIRS} <= links
    (form,) = (each for each in all_of(page, "form") if each.get("class") == "upgrade")
    assert form.get("hidden") is not None


def test_page_has_the_report_with_links(broken_site: Path) -> None:
    """Rules and clients lead to their pages, and steps to the sources."""
    path = broken_site / "upgrade" / "2.3.1-4.4.0.html"
    page = parse(path)
    text = text_of(page)
    assert "operations break for one-1.0 (1 of 1 tried with both)" in text
    assert "1 work → 1 fail. ✕ breaks: produce" in text
    assert "Produce 0-7 → 0-13 (0-2 listed, refused)" in text
    links = {link.get("href") for link in all_of(page, "a")}
    assert {"../clauses/KIP-1.rule.html", "../clauses/one-1.0.produce.html"} <= links
    assert "../targets/one-1.0.html" in links
    assert "https://kafka.apache.org/40/getting-started/upgrade" in links
    assert path.stat().st_size < 16_000


def test_grid_without_two_releases_has_no_pages(tmp_path: Path) -> None:
    """The overview names the command."""
    tables = site_tables()
    only = {"targets": [row for row in tables["targets"] if row["target"] == OTHER]}
    only["cells"] = [row for row in tables["cells"] if row["target"] == OTHER]
    folder = write_tables(tmp_path, **{"clauses": tables["clauses"], "failures": [], **only})
    build_site(*read_tables(folder), folder)
    assert not (folder / "upgrade").exists()
    assert "kafka-conformance upgrade 2.3.1 4.4.0" in text_of(parse(folder / "upgrade.html"))


@pytest.mark.slow
@pytest.mark.browser
def test_form_leads_to_the_page_of_two_releases(browser: Browser, small_site: Path) -> None:
    """In whichever order they are chosen, and from a page of an upgrade as well."""
    page = browser.new_page()
    page.goto((small_site / "upgrade.html").as_uri())
    for newer, older in (("4.4.0", "2.8.2"), ("3.9.2", "2.8.2")):
        page.get_by_label("From").select_option(newer)
        page.get_by_label("To").select_option(older)
        page.get_by_role("button", name="Compare").click()
        page.wait_for_url(f"**/upgrade/{older}-{newer}.html")
        assert page.locator("h1").inner_text().startswith(f"Apache Kafka {older} → {newer}")
    page.close()


@pytest.mark.parametrize(
    ("release", "neighbours"),
    [
        ("2.3.1", ["2.2.2 → 2.3.1", "2.3.1 → 2.4.1", "2.3.1 → 4.4.0"]),
        ("3.9.2", ["3.8.1 → 3.9.2", "3.9.2-zookeeper → 3.9.2", "3.9.2 → 4.0.0", "3.9.2 → 4.4.0"]),
        ("4.0.2", ["4.0.0 → 4.0.2", "4.0.2 → 4.1.2", "4.0.2 → 4.4.0"]),
        ("4.4.0", ["4.3.1 → 4.4.0"]),
        ("0.9.0.1", []),
    ],
)
def test_release_has_links_to_its_neighbours(release: str, neighbours: list[str]) -> None:
    """From the one before it, to the next and to the newest; nothing leads from KRaft to ZooKeeper."""
    found = neighbours_of(f"apache-kafka-{release}", recorded_releases())
    assert [f"{old.short} → {new.short}" for old, new in found] == neighbours


def test_page_of_a_release_leads_to_its_upgrades(small_site: Path) -> None:
    """Only to pages that exist."""
    page = parse(small_site / "targets" / "apache-kafka-3.9.2.html")
    links = {link.get("href", "") for link in all_of(page, "a")}
    assert {link for link in links if "upgrade/" in link} == {
        "../upgrade/3.9.2-4.4.0.html",
    }
