"""Tests of the page of what releases list and serve."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from reference_model.profiles.listeners import PLAINTEXT
from reports.site.advertised_page import api_table
from tests.reports.site.browsers import SIZES
from tests.reports.site.parsed_pages import all_of, parse, text_of

_LEFT_EDGES = "rows => rows.map(row => [...row.children].map(cell => cell.getBoundingClientRect().left))"


def test_all_is_what_every_release_serves() -> None:
    """Releases since 4.0 list Produce from v0 on and refuse v0 to v2; those before 0.11 have nothing newer."""
    rows = {row.name: row for row in api_table(PLAINTEXT).rows}
    produce = rows["Produce"]
    assert produce.common == ""
    assert produce.cells[0].text == "0–13 (0–2 listed, refused)"
    assert rows["Metadata"].common == "0–1"


def test_going_to_kraft_is_no_change_of_a_release() -> None:
    """What is bold differs from the release before it with the same quorum."""
    table = api_table(PLAINTEXT)
    zookeeper = table.releases.index("3.9.2 (ZooKeeper)")
    oldest_kraft = table.releases.index("3.3.2")
    rows = {row.name: row.cells for row in table.rows}
    assert rows["LeaderAndIsr"][zookeeper].text == "0–7"
    assert not any(cells[oldest_kraft].is_new for cells in rows.values())
    assert rows["Fetch"][table.releases.index("4.0.0")].is_new
    # 4.0.1 put JoinGroup v0 and v1 back.
    assert [cells[table.releases.index("4.0.2")].is_new for cells in (rows["Fetch"], rows["JoinGroup"])] == [
        False,
        True,
    ]


def test_clients_have_what_kafka_states_next_to_the_tables(small_site: Path) -> None:
    """A row for each release, also without operations."""
    page = parse(small_site / "advertised.html")
    rows = [text_of(row) for row in all_of(page, "tr")]
    older = "≠ 0.11.0.3, 1.0.2, 1.1.1, 2.0.1: not supported, although the tables would do"
    assert f"4.4.0 of 2.1 and newer 0.11.0.3 to 4.4.0 {older} –" in rows
    assert "3.9.2 of every release 0.10.0.1 to 4.4.0 – –" in rows


@pytest.mark.slow
@pytest.mark.browser
def test_ranges_stand_below_their_releases_on_a_phone(browser: Browser, small_site: Path) -> None:
    """A release that lists nothing keeps its place, and the column of names, which does not scroll, leaves room."""
    page = browser.new_page(viewport=SIZES["phone"])
    page.goto((small_site / "advertised.html").as_uri())
    for table in page.locator(".advertised").all():
        (head,) = table.locator("thead tr").evaluate_all(_LEFT_EDGES)
        rows = table.locator("tbody tr").evaluate_all(_LEFT_EDGES)
        assert [row for row in rows if row != head] == []
        assert head[1] - head[0] < SIZES["phone"]["width"] / 2
    page.close()
