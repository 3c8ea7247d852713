"""Each clause, target and cell has a page with everything known about it."""

from __future__ import annotations

import shutil
from pathlib import Path

from reports.grid import addresses
from reports.site.clause_pages import write_clauses
from reports.site.target_pages import write_targets
from reports.site.whole_site import build_site, read_tables
from tests.reports.roll_up_tables import cell_row, clause_row, target_row, write_tables
from tests.reports.site.parsed_pages import all_of, heads_of, parse, text_of
from tests.reports.site.sites import (
    HOSTILE,
    KEYS,
    KNOWN_SIGNATURE,
    MIDDLE,
    NAMES,
    NEW,
    OLD,
    ORDER,
    cells_with,
    write_small_pages,
    write_small_tables,
)


def test_clause_page_has_every_cell_with_an_anchor(small_site: Path) -> None:
    """Each target and each of its listeners can be linked to."""
    page = parse(small_site / addresses.clause_page(NAMES))
    ids = {element.get("id"): text_of(element) for element in page.iter() if element.get("id")}
    assert ids[f"{NEW}-plaintext"] == "⚑ known 1"
    assert ids[f"{NEW}-ssl"] == "✓ conforms 100"
    assert ids[f"{OLD}-plaintext"] == "– n/a no v3 is advertised"
    assert NEW in ids
    assert "no such listener" in text_of(page)


def test_conforming_cell_says_what_it_leaves_out(tmp_path: Path) -> None:
    """It has no page of its own, so that the text stands next to the count of its examples."""
    note = "2 of 10 drawn examples were run before the limit of 1 s"
    cells = cells_with(NAMES, NEW, "ssl", reason=note)
    write_small_pages(tmp_path, write_clauses, write_targets, cells=cells)
    for address in (addresses.clause_page(NAMES), addresses.target_page(NEW)):
        assert note in text_of(parse(tmp_path / address))
    page = parse(tmp_path / addresses.clause_page(NAMES))
    (cell,) = all_of(page, "td", id=f"{NEW}-ssl")
    assert text_of(cell) == f"✓ conforms 100 {note}"


def test_clause_page_says_what_it_is_and_what_was_done(small_site: Path) -> None:
    """The page has statement, meaning, ranges per listener, tests, defects and transitions."""
    text = text_of(parse(small_site / addresses.clause_page(NAMES)))
    for part in (
        HOSTILE,
        "Proposed Changes",
        "in 3.9.2; not applicable before; known violation in 4.4.0 (It is so on purpose) on plaintext",
        "4.4.0, the only release judged on ssl",
        "test_x plaintext unknown version, broken 5 500 470 20 10 0 0, 42",
        "plaintext v3 5 500 470 20 10 0 0, 42",
        "names-are-not-checked ✓ always",
        "2026-11-21 Apache Kafka 4.4.0, plaintext: ✕ violates became ⚑ known",
    ):
        assert part in text, part


def test_target_page_has_every_clause_on_every_listener(small_site: Path) -> None:
    """The page has the target's artefacts and run in addition to its verdicts."""
    page = parse(small_site / addresses.target_page(NEW))
    text = text_of(page)
    assert "Listeners plaintext, ssl" in text
    assert "1,000 examples in 10 s: 100 a second" in text
    assert "ab" * 32 in text
    heads = heads_of(page, "row")
    assert f"{KEYS} MUST" in heads


def test_target_page_says_what_was_built(small_site: Path) -> None:
    """The commit of a build and the release that it is judged like; nothing about them for a release."""
    text = text_of(parse(small_site / addresses.target_page(HOSTILE)))
    assert f"Kafka's commit {HOSTILE}" in text
    assert f"Judged like {NEW}" in text
    released = text_of(parse(small_site / addresses.target_page(NEW)))
    assert "Kafka's commit" not in released
    assert "Judged like" not in released


def test_cell_page_has_the_expectation_and_the_failures(small_site: Path) -> None:
    """A known violation names its declaration, and leads to the bytes."""
    page = parse(small_site / addresses.cell_page(NAMES, NEW, "plaintext"))
    text = text_of(page)
    assert "Declared because It is so on purpose. (KAFKA-1)" in text
    assert "Verdict since 2026-11-21 14:30 UTC; before that ✕ violates" in text
    goals = [link.get("href") for link in all_of(page, "a", class_="card")]
    assert goals == [f"../../failures/{KNOWN_SIGNATURE}.html"]


def test_flaky_cell_says_how_often(small_site: Path) -> None:
    """The rate follows the word wherever the cell is shown; the cell's page adds its interval."""
    address = addresses.cell_page(ORDER, MIDDLE, "plaintext")
    (link,) = all_of(parse(small_site / "brokers.html"), "a", href=address)
    assert text_of(link) == "~ flaky 15%"
    assert "flaky, 15% of its repeats failed" in link.get("aria-label", "")
    assert "~ flaky 15%" in text_of(parse(small_site / addresses.clause_page(ORDER)))
    assert "~ flaky 15%" in text_of(parse(small_site / addresses.target_page(MIDDLE)))
    page = parse(small_site / address)
    assert text_of(next(all_of(page, "h1"))).startswith("~ flaky 15%")
    assert "3 of 20 repeats failed: 15 % (95 % interval 5 to 36 %)" in text_of(page)


def test_flaky_cell_says_no_rate_where_none_was_recorded(tmp_path: Path) -> None:
    """A grid folder of an older suite has no table of rates; the cell then shows only the word."""
    write_small_tables(tmp_path)
    shutil.rmtree(tmp_path / "tables" / "flakes.parquet")
    build_site(*read_tables(tmp_path), tmp_path)
    address = addresses.cell_page(ORDER, MIDDLE, "plaintext")
    (link,) = all_of(parse(tmp_path / "brokers.html"), "a", href=address)
    assert text_of(link) == "~ flaky"
    assert "%" not in link.get("aria-label", "")
    assert "repeats failed" not in text_of(parse(tmp_path / address))


def test_clause_page_begins_with_who_breaks_it(small_site: Path) -> None:
    """Each finding has its reason, and the worst comes first."""
    page = parse(small_site / addresses.clause_page(NAMES))
    (found,) = all_of(page, "ul", class_="findings")
    assert [text_of(each) for each in found] == [
        f"✕ violates {HOSTILE}: {HOSTILE}",
        "⚑ known Apache Kafka 4.4.0: It is so on purpose. (KAFKA-1)",
    ]


def test_releases_that_all_keep_a_clause_share_a_row(tmp_path: Path) -> None:
    """Links to a cell that the row stands for still lead to it."""
    releases = [f"apache-kafka-4.{minor}.0" for minor in range(3)]
    write_tables(
        tmp_path,
        targets=[target_row(release) for release in releases],
        clauses=[clause_row(KEYS, 0)],
        cells=[cell_row(KEYS, release) for release in releases],
    )
    build_site(*read_tables(tmp_path), tmp_path)
    page = parse(tmp_path / addresses.clause_page(KEYS))
    (cell,) = all_of(page, "td", class_="all")
    assert text_of(cell) == "✓ conforms 3 releases, 3 listeners in all, 300 examples."
    ids = [anchor.get("id") for anchor in cell.iter("span")]
    assert {addresses.cell_anchor(release, "plaintext") for release in releases} <= set(ids)
