"""The feed is Atom, and its entries stay the same when it is written again."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest

from reports.exports.feed import MAX_ENTRIES
from reports.grid.addresses import FEED
from tests.reports.exports.grids import CAME, CLAUSE, OLD, export, transition_row
from tests.reports.roll_up_tables import cell_row, clause_row, target_row, write_tables

ATOM = "{http://www.w3.org/2005/Atom}"


def _feed(folder: Path) -> ET.Element:
    return ET.parse(folder / FEED).getroot()


def _texts(element: ET.Element, name: str) -> list[str]:
    return [child.text or "" for child in element.findall(ATOM + name)]


@pytest.mark.parametrize("folder", ["small", "hostile"])
def test_feed_has_what_atom_asks_for(folder: str, request: pytest.FixtureRequest) -> None:
    """RFC 4287, 4.1.1 and 4.1.2: one id, title and updated each, an author, a self link, absolute unique ids."""
    feed = _feed(request.getfixturevalue(folder))
    assert feed.tag == f"{ATOM}feed"
    assert feed.findtext(f"{ATOM}author/{ATOM}name")
    assert [link.get("rel") for link in feed.findall(f"{ATOM}link")] == ["self", "alternate"]
    entries = feed.findall(f"{ATOM}entry")
    for element in (feed, *entries):
        for name in ("id", "title", "updated"):
            assert len(_texts(element, name)) == 1
        assert urlsplit(_texts(element, "id")[0]).scheme == "urn"
        assert datetime.fromisoformat(_texts(element, "updated")[0]).tzinfo is not None
    ids = [_texts(element, "id")[0] for element in (feed, *entries)]
    assert len(set(ids)) == len(ids) > 1
    known = {"id", "title", "updated", "published", "link", "category", "content"}
    assert {child.tag.removeprefix(ATOM) for entry in entries for child in entry} == known


def test_listeners_and_new_cells_stand_together(small: Path) -> None:
    """A clause on two listeners is one entry, all cells of a new target are one entry, and times are the run's."""
    entries = _feed(small).findall(f"{ATOM}entry")
    titles = sorted(_texts(entry, "title")[0] for entry in entries)
    assert titles == [
        "New: 2 cells appear on Apache Kafka 4.4.0",
        "Regressed: KIP-511.names-refused on Apache Kafka 3.9.2",
    ]
    (content,) = (text for entry in entries for text in _texts(entry, "content") if "became" in text)
    assert content.startswith("✓ conforms became ✕ violates on plaintext, ssl, in run ")
    assert {text for entry in entries for text in _texts(entry, "updated")} == {CAME.isoformat()}


def test_only_the_newest_entries_are_kept(tmp_path: Path) -> None:
    """The feed of a long history has as many entries as a reader fetches, newest first."""
    rows = [
        transition_row(CLAUSE, OLD, "regressed", run_id=f"run-{day}", at=CAME + timedelta(days=day))
        for day in range(MAX_ENTRIES + 5)
    ]
    write_tables(
        tmp_path / "grid",
        targets=[target_row(OLD)],
        clauses=[clause_row(CLAUSE)],
        cells=[cell_row(CLAUSE, OLD)],
        transitions=rows,
    )
    feed = _feed(export(tmp_path / "grid"))
    times = [_texts(entry, "updated")[0] for entry in feed.findall(f"{ATOM}entry")]
    assert len(times) == MAX_ENTRIES
    assert times == sorted(times, reverse=True)
    assert times[0] == _texts(feed, "updated")[0] == rows[-1]["at"].isoformat()
