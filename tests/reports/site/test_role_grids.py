"""Tests of the pages with a grid, one page for each role.

They check the column per target, filters, folded releases, page size and colour contrast.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from reports.grid import addresses
from reports.grid.addresses import STYLE_SHEET
from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import summarise
from reports.grid.grid_view import FoldedGrid
from reports.records import Verdict
from reports.site.role_grids import write_role_grids
from tests.reports.roll_up_tables import cell_row
from tests.reports.site.parsed_pages import all_of, classes_of, grid_row, heads_of, parse, text_of
from tests.reports.site.sites import (
    CLAUSES,
    FALLS_BACK,
    HOSTILE,
    KEYS,
    NAMED,
    NAMES,
    NEW,
    NEW_CLIENT,
    OLD,
    OLD_CLIENT,
    ORDER,
    OTHER,
    TARGETS,
    WIDE,
    site_tables,
    write_small_pages,
)


@pytest.fixture(scope="module")
def brokers(small_site: Path) -> Element:
    """The grid of brokers of the small site."""
    return parse(small_site / "brokers.html")


def test_table_has_headers_in_both_directions(brokers: Element) -> None:
    """Sources head row groups, clauses rows, releases columns, majors column groups; the caption names the runs."""
    assert heads_of(brokers, "rowgroup") == [
        "KIP-35",
        "KIP-511",
        "PROTOCOL",
    ]
    groups = heads_of(brokers, "colgroup")
    assert groups == ["hostile", "other", "Kafka 4.x", "Kafka 3.x", "Kafka 2.x"]
    rows = heads_of(brokers, "row")
    assert rows == [
        "All rules",
        f"{KEYS} MUST",
        f"{ORDER} SHOULD",
        f"{NAMES} MUST",
        f"{WIDE} PIN",
    ]
    columns = heads_of(brokers, "col")
    assert columns == ["Rule", "Holds in Apache Kafka", HOSTILE, "1.0", "4.4.0", "3.9.2", "2.8.2"]
    caption = text_of(next(all_of(brokers, "caption")))
    assert "20261121T143000Z-1a2b3c4d, 2026-11-21, suite 0.1.0, commit 0123456789ab" in caption


def test_cell_is_symbol_word_and_count(brokers: Element) -> None:
    """A cell shows the worst of a target's listeners, with the number of failures if it helps; without a text the
    rule does not apply."""
    assert [text_of(cell) for cell in grid_row(brokers, NAMES)] == [
        "✕ violates 1",
        "✓ 100",
        "⚑ known 1",
        "✓ 100",
        "",
    ]


def test_clause_that_is_not_about_a_listener_is_not_applicable(brokers: Element) -> None:
    """A cell that no run planned is "not run" only if the target has a listener that the clause is about."""
    assert [text_of(cell) for cell in grid_row(brokers, WIDE)] == ["", "", "✓ 100", "", ""]


def test_clause_that_a_run_left_out_is_not_run(tmp_path: Path) -> None:
    """The target has a listener that the clause covers on other targets, so the clause was left out."""
    cells = [cell for cell in site_tables()["cells"] if (cell["clause"], cell["target"]) != (KEYS, NEW)]
    page = parse(write_small_pages(tmp_path, write_role_grids, cells=cells) / "brokers.html")
    assert text_of(grid_row(page, KEYS)[2]) == "○ not run"


def test_only_cells_with_more_to_say_are_links(brokers: Element) -> None:
    """Cells that conform or do not apply are text; all others link to their page, with a full accessible name."""
    links = {link.get("aria-label"): link.get("href") for cell in grid_row(brokers, NAMES) for link in cell.iter("a")}
    assert links == {
        f"{NAMES} on Apache Kafka 4.4.0: known violation, 1 distinct failure, first seen 4.4.0": (
            f"cells/{NAMES}/{NEW}-plaintext.html"
        ),
        f"{NAMES} on {HOSTILE}: violates, 1 distinct failure": (addresses.cell_page(NAMES, HOSTILE, "plaintext")),
    }


def test_cells_have_a_label_on_narrow_screens(small_site: Path) -> None:
    text = (small_site / "brokers.html").read_text(encoding="utf-8")
    rules = re.findall(r'td:nth-child\((\d)\)::before\{content:"([^"]*)"', text)
    assert "<script>" not in rules[0][1]
    assert rules[1:] == [
        ("4", "other 1.0"),
        ("5", "Kafka 4.4.0"),
        ("6", "Kafka 3.9.2"),
        ("7", "Kafka 2.8.2"),
    ]


def test_every_target_has_a_verdict_of_its_own(brokers: Element) -> None:
    """The first row shows the worst verdict of each target and in how many clauses, and links to its page."""
    row = next(row for row in all_of(brokers, "tr") if "All rules" in text_of(row))
    links = {text_of(link): link.get("aria-label") for link in row.iter("a")}
    assert links["? inconclusive 1"] == "Apache Kafka 4.4.0, all rows: inconclusive in 1 of 4"
    assert f"targets/{NEW}.html" in [link.get("href") for link in row.iter("a")]


def test_row_knows_when_it_changed(brokers: Element) -> None:
    """The day on which a cell's verdict last changed can be chosen, and the row carries it."""
    assert [option.get("value") for option in all_of(brokers, "option")] == ["", "2026-11-21"]
    changed = [row for row in all_of(brokers, "tr") if row.get("data-changed")]
    assert [row.get("data-changed") for row in changed] == ["2026-11-21"]
    assert NAMES in text_of(changed[0])


def test_filters_are_boxes(brokers: Element) -> None:
    boxes = [box for box in all_of(brokers, "input") if box.get("name") not in ("view", "q")]
    assert {box.get("name") for box in boxes} == {"state", "level", "source", "release"}
    sources = [box.get("id") for box in boxes if box.get("name") == "source"]
    assert [body.get("class") for body in all_of(brokers, "tbody")][1:] == [f"clauses rows-{each}" for each in sources]


def test_every_verdict_has_a_style(small_site: Path, brokers: Element) -> None:
    """Every class of a cell has a style rule."""
    style = (small_site / addresses.STYLE_SHEET).read_text(encoding="utf-8")
    used = {name for cell in all_of(brokers, "td") for name in classes_of(cell)}
    assert {"violates", "known_violation", "informational", "inconclusive", "flaky"} <= used
    for name in used:
        assert f".{name}" in style


def test_grid_without_any_range_has_no_range_column(tmp_path: Path) -> None:
    """If no implementation has two releases, there are no ranges to show."""
    tables = site_tables()
    targets = [entry for entry in tables["targets"] if entry["target"] == NEW]
    page = parse(
        write_small_pages(
            tmp_path,
            write_role_grids,
            targets=targets,
            cells=[cell_row(KEYS, NEW)],
            transitions=[],
            release_steps=[],
            failures=[],
        )
        / "brokers.html"
    )
    assert "Holds in Apache Kafka" not in [text_of(head) for head in all_of(page, "th")]


@pytest.mark.slow
def test_releases_of_a_wide_grid_are_folded_by_their_major(large_site: Path) -> None:
    large_grid = parse(large_site / "brokers.html")
    folds = [text_of(head) for head in all_of(large_grid, "th", scope="col", class_="fold")]
    assert folds == ["10 releases"] * 4
    boxes = [box.get("value") for box in all_of(large_grid, "input", name="open")]
    assert boxes == ["Kafka 4.x", "Kafka 3.x", "Kafka 2.x", "Kafka 1.x"]
    row = grid_row(large_grid, "KIP-011.clause-of-usual-length-0")
    assert len(row) == 44
    assert text_of(row[0]) == "⚑ 1 of 10"
    assert [text_of(cell) for cell in row[11:13]] == ["✓ 8, – 2", ""]


def test_rules_that_apply_to_nothing_share_a_row(tmp_path: Path) -> None:
    """Each source has one row for them, with a link to each; they are counted apart from the others."""
    tables = site_tables()
    cells = [cell for cell in tables["cells"] if cell["clause"] != KEYS]
    absent = [cell_row(KEYS, target, "not_applicable", reason="none has it") for target in TARGETS]
    folder = write_small_pages(tmp_path, write_role_grids, cells=[*cells, *absent])
    page = parse(folder / "brokers.html")
    (row,) = all_of(page, "tr", class_="absent")
    assert text_of(row) == f"1 rule applies to nothing here: {KEYS}"
    assert [link.get("href") for link in row.iter("a")] == [addresses.clause_page(KEYS)]
    assert text_of(next(all_of(page, "p", id="count"))) == "3 rules, 5 targets."


def _grid(site: Path, role: str) -> Element:
    (table,) = all_of(parse(site / addresses.role_page(role)), "table")
    return table


def test_each_role_has_a_grid(site_with_clients: Path) -> None:
    """Each page has the clauses and targets of one role."""
    brokers, clients = _grid(site_with_clients, "broker"), _grid(site_with_clients, "client")
    assert heads_of(clients, "row") == [
        "All rules",
        f"{KEYS} MUST",
        f"{NAMED} MUST",
        f"{FALLS_BACK} MUST",
    ]
    assert heads_of(clients, "col") == ["Rule", "Holds in librdkafka", "2.12.1", "2.4.0"]
    assert heads_of(clients, "rowgroup") == ["KIP-35", "KIP-511"]
    assert len(heads_of(brokers, "col")) == 2 + len(TARGETS)
    assert not any("client" in head for head in heads_of(brokers, "row"))
    assert heads_of(brokers, "rowgroup") == ["KIP-35", "KIP-511", "PROTOCOL"]


def test_release_may_stand_in_the_grids_of_two_roles(site_with_operations: Path) -> None:
    """Cells that judge a release as a broker and cells of client operations on it do not affect each other."""
    operations = _grid(site_with_operations, "operation")
    assert len(heads_of(_grid(site_with_operations, "broker"), "col")) == 2 + len(TARGETS)
    assert heads_of(operations, "col") == ["Operation", "Works with Apache Kafka", "4.4.0", "2.8.2"]
    assert heads_of(operations, "rowgroup") == ["librdkafka 2.12.1"]
    counts = summarise(FoldedGrid(read_grid(site_with_operations)), site_with_operations).cells
    assert sum(counts.values()) == len(CLAUSES) * len(TARGETS) + 2 * 3


@pytest.mark.parametrize("role", ["client", "operation"])
def test_role_without_data_has_no_page(role: str, small_site: Path) -> None:
    """No page links to it either."""
    address = addresses.role_page(role)
    assert not (small_site / address).exists()
    assert address not in (small_site / "index.html").read_text(encoding="utf-8")


def test_page_of_a_release_has_its_own_rules_alone(site_with_operations: Path) -> None:
    """The clients that were tried with it are named, and answer for their operations; each listener has one column."""
    page = parse(site_with_operations / addresses.target_page(NEW))
    (table,) = (each for each in all_of(page, "table") if list(all_of(each, "th", scope="rowgroup")))
    assert heads_of(table, "rowgroup") == ["KIP-35", "KIP-511", "PROTOCOL"]
    assert "Clients tried with it" in text_of(page)
    assert heads_of(table, "col") == ["Rule", "plaintext", "ssl"]
    only_broker = parse(site_with_operations / addresses.target_page(OTHER))
    assert "librdkafka" not in text_of(only_broker)


def test_clause_does_not_apply_to_another_role(site_with_clients: Path) -> None:
    """A cell that no run planned is "not run" only on targets of the clause's role."""
    cells = {
        (cell.clause, cell.target): cell.worst
        for row in FoldedGrid(read_grid(site_with_clients)).cells.values()
        for cell in row
    }
    of_broker, of_client = cells[FALLS_BACK, NEW], cells[ORDER, NEW_CLIENT]
    assert (of_broker.verdict, of_broker.reason) == (
        Verdict.NOT_APPLICABLE,
        "does not apply to brokers",
    )
    assert (of_client.verdict, of_client.reason) == (
        Verdict.NOT_APPLICABLE,
        "does not apply to clients",
    )
    assert cells[FALLS_BACK, OLD_CLIENT].verdict is Verdict.NOT_RUN


def test_pages_of_targets_and_clauses_keep_to_their_role(site_with_clients: Path) -> None:
    """A client's page has only clauses for clients, and the page of such a clause has no broker."""
    client = parse(site_with_clients / addresses.target_page(NEW_CLIENT))
    assert "librdkafka 2.12.1" in text_of(next(all_of(client, "h1")))
    of_client = [text_of(head).split()[0] for head in all_of(client, "th", scope="row", class_="id")]
    assert of_client == [KEYS, NAMED, FALLS_BACK]
    clause = parse(site_with_clients / addresses.clause_page(NAMED))
    heads = heads_of(clause, "row")
    assert heads == ["librdkafka 2.12.1", "librdkafka 2.4.0"]
    of_both = parse(site_with_clients / addresses.clause_page(KEYS))
    assert len(list(all_of(of_both, "th", scope="row"))) >= len(TARGETS) + 2


def test_what_does_not_apply_to_a_role_is_not_counted(site_with_clients: Path) -> None:
    """The counted cells are those of the small site and those of the clients."""
    counts = summarise(FoldedGrid(read_grid(site_with_clients)), site_with_clients).cells
    assert sum(counts.values()) == len(CLAUSES) * len(TARGETS) + 3 * 2
    assert counts[Verdict.NOT_RUN] == 3


def test_operation_has_only_neighbours_in_which_it_was_tried(site_with_operations: Path) -> None:
    """The page of a cell of an operation names the releases of its grid, and no others."""
    page = parse(site_with_operations / addresses.cell_page("librdkafka-2.12.1.headers", OLD, "plaintext"))
    neighbours = next(each for each in all_of(page, "table") if "neighbouring" in text_of(each))
    assert heads_of(neighbours, "row") == ["Apache Kafka 4.4.0", "Apache Kafka 2.8.2 this one"]


_STYLE = files("reports.site").joinpath(STYLE_SHEET).read_text(encoding="utf-8")
_PALETTES = [
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root \{(.*?)\}", _STYLE, re.DOTALL)
]


def _luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_light_and_dark_name_the_same_colours() -> None:
    """No colour is missing from one palette and taken from the other by mistake."""
    light, dark = _PALETTES
    assert light.keys() == dark.keys()


@pytest.mark.parametrize("palette", _PALETTES, ids=["light", "dark"])
def test_text_and_edges_stand_out(palette: dict[str, str]) -> None:
    """Text has a contrast of 4.5 to 1 with every possible background, edges and the focus of 3 to 1."""
    for ground in ("page", "panel", "band", "here"):
        for text in ("text", "quiet", "link", "conforms", "grey"):
            assert _contrast(palette[text], palette[ground]) >= 4.5, (text, ground)
        for edge in ("edge", "focus"):
            assert _contrast(palette[edge], palette[ground]) >= 3, (edge, ground)
    for name in ("violates", "known", "doubt", "note"):
        for text in (name, "text"):
            assert _contrast(palette[text], palette[f"{name}-bg"]) >= 4.5, (text, name)


def test_nothing_is_fetched() -> None:
    """The style sheet refers to no other file and no other host."""
    assert "url(" not in _STYLE
    assert "@import" not in _STYLE
