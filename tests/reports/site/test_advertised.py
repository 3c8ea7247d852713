"""The page about what releases list and serve."""

from __future__ import annotations

from pathlib import Path

from reference_model.listeners import PLAINTEXT
from reports.site.advertised import api_table
from tests.reports.site.parsed_pages import all_of, parse, text_of


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
    assert rows["Fetch"][table.releases.index("4.0.2")].is_new


def test_clients_have_what_kafka_states_next_to_the_tables(small_site: Path) -> None:
    """A row for each release, also without operations."""
    page = parse(small_site / "advertised.html")
    rows = [text_of(row) for row in all_of(page, "tr")]
    older = "≠ 0.11.0.3, 1.0.2, 1.1.1, 2.0.1: not supported, although the tables would do"
    assert f"4.4.0 of 2.1 and newer 0.11.0.3 to 4.4.0 {older} –" in rows
    assert "3.9.2 of every release 0.10.0.1 to 4.4.0 – –" in rows
