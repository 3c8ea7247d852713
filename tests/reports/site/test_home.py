"""The home page: the verdict, the grid with one column per target, its filters, and its size."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from reports.grid import addresses
from tests.reports.roll_up_tables import cell_row
from tests.reports.site.parsed_pages import all_of, classes_of, grid_row, parse, text_of
from tests.reports.site.sites import (
    HOSTILE,
    KEYS,
    NAMES,
    NEW,
    ORDER,
    WIDE,
    site_tables,
    write_large_site,
    write_small_site,
)

MOST_BYTES = 150_000


@pytest.fixture(scope="module")
def home(small_site: Path) -> Element:
    """The home page of the small site."""
    return parse(small_site / "index.html")


def test_page_begins_with_the_verdict(home: Element) -> None:
    """One sentence says what matters most, also in the title; it counts targets, not listeners."""
    sentence = "✕ 1 MUST clause is violated on 1 of 5 targets."
    assert text_of(next(all_of(home, "h1"))) == sentence
    assert text_of(next(all_of(home, "title"))).startswith(sentence)


def test_table_has_headers_in_both_directions(home: Element) -> None:
    """Sources head row groups, clauses rows, releases columns, majors column groups; the caption names the runs."""
    assert [text_of(head) for head in all_of(home, "th", scope="rowgroup")] == [
        "KIP-35",
        "KIP-511",
        "PROTOCOL",
    ]
    groups = [text_of(head) for head in all_of(home, "th", scope="colgroup")]
    assert groups == ["Kafka 4.x", "Kafka 3.x", "Kafka 2.x", "hostile", "other"]
    rows = [text_of(head) for head in all_of(home, "th", scope="row")]
    assert rows == [
        "All clauses",
        f"{KEYS} MUST",
        f"{ORDER} SHOULD",
        f"{NAMES} MUST",
        f"{WIDE} PIN",
    ]
    columns = [text_of(head) for head in all_of(home, "th", scope="col")]
    assert columns[:5] == ["Clause", "Holds in Apache Kafka", "4.4.0", "3.9.2", "2.8.2"]
    caption = text_of(next(all_of(home, "caption")))
    assert "20261121T143000Z-1a2b3c4d, 2026-11-21, suite 0.1.0, commit 0123456789ab" in caption


def test_cell_is_symbol_word_and_count(home: Element) -> None:
    """A cell shows the worst of a target's listeners, with the number of failures if it helps."""
    assert [text_of(cell) for cell in grid_row(home, NAMES)] == [
        "⚑ known 1",
        "✓ conforms",
        "– n/a",
        "✕ violates 1",
        "✓ conforms",
    ]


def test_clause_that_is_not_about_a_listener_is_not_applicable(home: Element) -> None:
    """A cell that no run planned is "not run" only if the target has a listener that the clause is about."""
    assert [text_of(cell) for cell in grid_row(home, WIDE)] == ["✓ conforms", *["– n/a"] * 4]


def test_clause_that_a_run_left_out_is_not_run(tmp_path: Path) -> None:
    """The target has a listener that the clause covers on other targets, so the clause was left out."""
    cells = [
        cell for cell in site_tables()["cells"] if (cell["clause"], cell["target"]) != (KEYS, NEW)
    ]
    page = parse(write_small_site(tmp_path, cells=cells) / "index.html")
    assert text_of(grid_row(page, KEYS)[0]) == "○ not run"


def test_only_cells_with_more_to_say_are_links(home: Element) -> None:
    """Cells that conform or do not apply are text; all others link to their page, with a full accessible name."""
    links = {
        link.get("aria-label"): link.get("href")
        for cell in grid_row(home, NAMES)
        for link in cell.iter("a")
    }
    assert links == {
        f"{NAMES} on Apache Kafka 4.4.0: known violation, 1 distinct failure, first seen 4.4.0": (
            f"cells/{NAMES}/{NEW}-plaintext.html"
        ),
        f"{NAMES} on {HOSTILE}: violates, 1 distinct failure": (
            addresses.cell_page(NAMES, HOSTILE, "plaintext")
        ),
    }


def test_cells_have_a_label_on_narrow_screens(small_site: Path, home: Element) -> None:
    """A target's own cell carries its label; for cells of clauses, one style rule per column supplies it."""
    wholes = next(body for body in all_of(home, "tbody") if "targets" in classes_of(body))
    labels = [cell.get("data-label") for cell in wholes.iter("td") if cell.get("data-label")]
    assert labels == ["Kafka 4.4.0", "Kafka 3.9.2", "Kafka 2.8.2", HOSTILE, "other 1.0"]
    text = (small_site / "index.html").read_text(encoding="utf-8")
    rules = re.findall(r'td:nth-child\((\d)\)::before\{content:"([^"]*)"', text)
    assert [place for place, _ in rules] == ["3", "4", "5", "6", "7"]
    assert rules[1] == ("4", "Kafka 3.9.2")
    assert "<script>" not in rules[3][1]


def test_every_target_has_a_verdict_of_its_own(home: Element) -> None:
    """The first row shows the worst verdict of each target and in how many clauses, and links to its page."""
    row = next(row for row in all_of(home, "tr") if "All clauses" in text_of(row))
    links = {text_of(link): link.get("aria-label") for link in row.iter("a")}
    assert (
        links["? inconclusive 1"]
        == "Apache Kafka 4.4.0, all clauses: inconclusive in 1 of 4 clauses"
    )
    assert next(link.get("href") for link in row.iter("a")) == f"targets/{NEW}.html"


def test_row_knows_when_it_changed(home: Element) -> None:
    """The day on which a cell's verdict last changed can be chosen, and the row carries it."""
    assert [option.get("value") for option in all_of(home, "option")] == ["", "2026-11-21"]
    changed = [row for row in all_of(home, "tr") if row.get("data-changed")]
    assert [row.get("data-changed") for row in changed] == ["2026-11-21"]
    assert NAMES in text_of(changed[0])


def test_filters_are_boxes_with_rules(small_site: Path, home: Element) -> None:
    """State, level, source and release have a box per value, and a style rule for each box."""
    text = (small_site / "index.html").read_text(encoding="utf-8")
    boxes = [box for box in all_of(home, "input") if box.get("name") != "view"]
    assert {box.get("name") for box in boxes} == {"state", "level", "source", "release"}
    for box in boxes:
        escaped = str(box.get("id")).replace(".", r"\.")
        assert f"#{escaped}:checked" in text, box.get("id")


def test_every_verdict_has_a_style(small_site: Path, home: Element) -> None:
    """Every class of a cell has a style rule."""
    style = (small_site / addresses.STYLE_SHEET).read_text(encoding="utf-8")
    used = {name for cell in all_of(home, "td") for name in classes_of(cell)}
    assert {"violates", "known_violation", "informational", "inconclusive", "flaky"} <= used
    for name in used:
        assert f".{name}" in style


def test_large_grid_stays_small(tmp_path: Path) -> None:
    """Home has at most 150 kB for 120 clauses and 40 targets, with evidence in one cell of fifty."""
    write_large_site(tmp_path)
    assert (tmp_path / "index.html").stat().st_size <= MOST_BYTES


def test_grid_without_any_range_has_no_range_column(tmp_path: Path) -> None:
    """If no implementation has two releases, there are no ranges to show."""
    tables = site_tables()
    targets = [entry for entry in tables["targets"] if entry["target"] == NEW]
    page = parse(
        write_small_site(
            tmp_path,
            targets=targets,
            cells=[cell_row(KEYS, NEW)],
            ranges=[],
            transitions=[],
            release_steps=[],
            failures=[],
        )
        / "index.html"
    )
    assert "Holds in Apache Kafka" not in [text_of(head) for head in all_of(page, "th")]
