"""Tests of the site in a real browser, opened from files.

The site is usable by keyboard. Without the site's script a grid shows everything, and has no filters.

Needs Chromium (`chromium` on the path, or its path in CHROMIUM) and w3m. What seldom changes is slow: the fast tests
filter the grid, and read it on a phone and as text.

From the home page to the bytes of a violation it takes three steps, by mouse and in a text browser. Each way does what
a reader does: it focuses or opens only elements that the previous page leads to.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, TimeoutError, ViewportSize

from reports.grid import addresses
from tests.reports.site.browsers import SIZES, dump_in_w3m
from tests.reports.site.sites import HOSTILE, KEYS, KNOWN_SIGNATURE, NAMES, NEW, ORDER, WIDE

pytestmark = pytest.mark.browser

SNAPSHOT = Path(__file__).parent / "brokers_in_w3m.txt"
PAPER: ViewportSize = {"width": 1047, "height": 718}
"""A4 landscape without its margins, in CSS pixels."""


def _open(browser: Browser, url: str, **settings: Any) -> Page:
    settings.setdefault("viewport", SIZES["desktop"])
    page = browser.new_context(**settings).new_page()
    page.goto(url)
    return page


@pytest.fixture
def brokers(browser: Browser, small_site: Path) -> Iterator[Page]:
    """The grid of brokers of the small site."""
    page = _open(browser, (small_site / "brokers.html").as_uri())
    yield page
    page.context.close()


def _rows(page: Page) -> list[str]:
    """Return the clauses whose rows are shown."""
    rows = page.locator(".clauses tr:not(.source):visible th a")
    return [text.strip() for text in rows.all_text_contents()]


def _tick(page: Page, name: str, value: str) -> None:
    page.locator(f'input[name={name}][value="{value}"]').check(force=True)


FILTERS: list[tuple[list[tuple[str, str]], list[str]]] = [
    ([], [KEYS, ORDER, NAMES, WIDE]),
    ([("state", "flaky"), ("state", "violates")], [ORDER, NAMES]),
    ([("state", "not_applicable")], [NAMES, WIDE]),
    ([("source", "KIP-35"), ("level", "MUST")], [KEYS]),
]
"""Boxes, and the rows that are left."""


def test_filters_leave_rows_and_columns(brokers: Page) -> None:
    """Several values of one kind widen the choice, several kinds narrow it; a release hides the other columns, a day
    other rows."""
    page = brokers
    url = page.url
    for boxes, rows in FILTERS:
        page.goto(url)
        for name, value in boxes:
            _tick(page, name, value)
        assert _rows(page) == rows, boxes
    page.goto(url)
    _tick(page, "release", "Kafka 4.x")
    heads = page.locator("thead tr:last-child th:visible").all_text_contents()
    assert [head.strip() for head in heads] == ["4.4.0"]
    page.locator("#since").select_option("2026-11-21")
    assert _rows(page) == [NAMES]


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_without_a_script_everything_is_shown(size: str, browser: Browser, small_site: Path) -> None:
    """There is no form, as nothing would filter."""
    url = (small_site / "brokers.html").as_uri()
    page = _open(browser, url, viewport=SIZES[size], java_script_enabled=False)
    assert _rows(page) == [KEYS, ORDER, NAMES, WIDE]
    assert page.locator(".clauses td:visible").count() == page.locator(".clauses td").count()
    assert not page.locator("#filters").is_visible()
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_state_and_product_narrow_each_other(size: str, browser: Browser, small_site: Path) -> None:
    """Only rows with the verdict on the chosen product stay, and columns without it go, at any width."""
    url = (small_site / "brokers.html").as_uri()
    page = _open(browser, url, viewport=SIZES[size])
    _tick(page, "state", "known_violation")
    _tick(page, "state", "informational")
    assert _rows(page) == [ORDER, NAMES]
    shown = page.locator(".clauses td:not(.range):visible")
    assert {"⚑ known 1", "≈ informational"} <= set(shown.all_text_contents())
    if size == "phone":
        assert shown.count() == 2
    else:
        heads = page.locator("thead tr:last-child th:visible").all_text_contents()
        assert [head.strip() for head in heads] == [HOSTILE, "4.4.0"]
    _tick(page, "release", "Kafka 4.x")
    assert _rows(page) == [NAMES]
    _tick(page, "release", "Kafka 3.x")
    assert _rows(page) == [NAMES]
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("by_heading", [True, False], ids=["heading", "box"])
def test_major_opens_into_its_releases(by_heading: bool, browser: Browser, large_site: Path) -> None:
    """The box, or a click on the heading, replaces the cell of all by a cell for each; the address keeps it."""
    url = (large_site / "brokers.html").as_uri()
    page = _open(browser, url)
    row = page.locator(".clauses tr:not(.source)").first
    assert len(row.locator("td:visible").all()) == 4
    if by_heading:
        page.locator("th.fold").first.click()
    else:
        _tick(page, "open", "Kafka 4.x")
    assert page.url.endswith("?open=Kafka%204.x")
    assert len(row.locator("td:visible").all()) == 13
    page.context.close()


def test_text_search_narrows_the_rows(brokers: Page) -> None:
    """A row stays if it has every word, in its title, id or cells; the address keeps them."""
    brokers.get_by_label("Find").fill("kip-35 FLAKY")
    assert _rows(brokers) == [ORDER]
    assert brokers.url.endswith("?q=kip-35%20FLAKY")


@pytest.mark.slow
def test_rules_filter_by_who_breaks_them(browser: Browser, small_site: Path) -> None:
    """The old page of findings leads to the rules that are violated."""
    page = _open(browser, (small_site / "findings.html").as_uri())
    page.wait_for_url("**/rules.html?state=violates")
    assert _rows(page) == [NAMES]
    page.context.close()


@pytest.mark.slow
def test_filters_stand_in_the_address(browser: Browser, small_site: Path, brokers: Page) -> None:
    """A copied address shows the same selection again, also for a file."""
    _tick(brokers, "state", "known_violation")
    _tick(brokers, "level", "MUST")
    assert brokers.url.endswith("?state=known_violation&level=MUST")
    again = _open(browser, brokers.url)
    assert _rows(again) == [NAMES]
    again.get_by_role("button", name="Show all").click()
    again.wait_for_function("!location.search")
    assert len(_rows(again)) == 4
    again.context.close()
    since = _open(browser, (small_site / "brokers.html").as_uri() + "#?since=2026-11-21")
    assert _rows(since) == [NAMES]
    since.context.close()


def test_live_region_announces_the_count(brokers: Page) -> None:
    """A status region announces how much the filters leave."""
    status = brokers.locator("#count[role=status]")
    assert status.text_content() == "4 rules, 5 columns shown."
    _tick(brokers, "source", "KIP-35")
    assert status.text_content() == "2 of 4 rules, 5 columns shown."


@pytest.mark.slow
def test_click_on_any_cell_leads_to_its_clause(brokers: Page) -> None:
    """A cell without its own link leads to its place on the clause's page."""
    brokers.locator("tr", has_text=KEYS).locator("td:not(.range)").nth(3).click()
    assert brokers.url.endswith(f"{addresses.clause_page(KEYS)}#apache-kafka-3.9.2")


@pytest.mark.slow
def test_keyboard_order_is_reading_order(brokers: Page) -> None:
    """Tab visits links and boxes in the order of the page, and skips none."""
    expected = brokers.evaluate(
        "[...document.querySelectorAll('a,input,select,button,[tabindex=\"0\"]')]"
        ".filter((each) => each.getClientRects().length).map((each) => each.outerHTML)"
    )
    found = []
    for _ in expected:
        brokers.keyboard.press("Tab")
        found.append(brokers.evaluate("document.activeElement.outerHTML"))
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1300, 900), (360, 780)], ids=["desktop", "phone"])
def test_first_red_is_on_the_first_screen(size: tuple[int, int], browser: Browser, site_with_clients: Path) -> None:
    """Home shows a violation without scrolling, and the keyboard reaches its target in 20 steps."""
    url = (site_with_clients / "index.html").as_uri()
    page = _open(browser, url, viewport={"width": size[0], "height": size[1]})
    box = page.locator(".standings .violates").first.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= size[1]
    assert page.evaluate("document.documentElement.scrollWidth") == size[0]
    stops = 0
    while page.evaluate("!document.activeElement.closest('.standings')"):
        page.keyboard.press("Tab")
        stops += 1
    assert stops <= 20
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "script"), [((1300, 900), True), ((360, 780), False)], ids=["desktop", "phone"])
def test_author_finds_a_bug_to_report(
    size: tuple[int, int], script: bool, browser: Browser, site_with_clients: Path
) -> None:
    """Home's door leads to the red cards; a card's page has its bugs, each with the text of an issue."""
    viewport = {"width": size[0], "height": size[1]}
    url = (site_with_clients / "index.html").as_uri()
    page = _open(browser, url, viewport=viewport, java_script_enabled=script)
    page.get_by_role("link", name="My broker or client is red").click()
    page.get_by_role("link", name=HOSTILE).first.click()
    assert page.locator(".bugs li").count() == 1
    page.get_by_text("Copy as issue").click()
    page.get_by_text("Copy as Markdown").click()
    assert page.locator("textarea:visible").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.context.close()


def test_phone_shows_cards(browser: Browser, small_site: Path) -> None:
    """At 320 px a target's verdict and a clause's exceptions are stacked, with their names."""
    page = _open(browser, (small_site / "brokers.html").as_uri(), viewport=SIZES["phone"])
    row = page.locator("tr", has_text=NAMES)
    shown = row.locator("td:visible").all_text_contents()
    assert [text for text in shown if "✓" in text] == []
    assert "⚑ known 1" in shown
    _tick(page, "view", "all")
    assert "✓ 100" in row.locator("td:visible").all_text_contents()
    label = row.locator("td.known_violation").evaluate("(cell) => getComputedStyle(cell, '::before').content")
    assert label == '"Kafka 4.4.0"'
    page.context.close()


@pytest.mark.slow
def test_phone_shows_whole_captions(browser: Browser, small_site: Path) -> None:
    """A caption is readable without scrolling, even if its table is wider than the screen."""
    address = (small_site / addresses.failure_page(KNOWN_SIGNATURE)).as_uri()
    page = _open(browser, address, viewport=SIZES["phone"])
    widths = page.locator(".scroller").evaluate_all(
        "(all) => all.map((each) => [each.querySelector('caption').offsetWidth, each.clientWidth, each.scrollWidth])"
    )
    assert any(table > shown for _, shown, table in widths)
    assert all(caption <= shown for caption, shown, _ in widths)
    page.context.close()


@pytest.mark.slow
def test_forced_colours_and_print_hide_nothing(browser: Browser, small_site: Path) -> None:
    """In forced colours verdicts keep their outline; on paper the entire table is printed."""
    page = _open(browser, (small_site / "brokers.html").as_uri(), forced_colors="active")
    outline = page.locator("td.violates").first.evaluate("(cell) => getComputedStyle(cell).outlineStyle")
    assert outline == "solid"
    page.emulate_media(media="print", forced_colors="none")
    assert page.locator("#grid").evaluate("(box) => getComputedStyle(box).overflow") == "visible"
    assert len(_rows(page)) == 4
    page.context.close()


@pytest.mark.slow
def test_paper_has_every_column_of_forty_targets(browser: Browser, large_site: Path) -> None:
    """On A4 landscape no cell is cut off or too small to read, and violations are marked in words."""
    url = (large_site / "brokers.html").as_uri()
    page = _open(browser, f"{url}?open=Kafka 4.x,Kafka 3.x,Kafka 2.x,Kafka 1.x", viewport=PAPER)
    page.emulate_media(media="print")
    cut = page.locator(".grid :is(td, th)").evaluate_all(
        """(cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1
            || cell.getBoundingClientRect().right > innerWidth).map((cell) => cell.innerText)"""
    )
    assert cut == []
    assert page.locator(".clauses td.known_violation a:visible").first.inner_text() == "⚑ known 1"
    # Cells that show only their symbol hide their word by its font size, so they are left out.
    shown = page.locator(".grid :is(caption, th, td, a, small):not(td:not([class])):visible")
    sizes = shown.evaluate_all("(all) => all.map((each) => getComputedStyle(each).fontSize)")
    assert {round(float(size.removesuffix("px")) * 0.75, 2) for size in sizes} == {5.5}
    page.context.close()


def test_text_browser_shows_the_same(small_site: Path) -> None:
    """The grid in w3m equals the stored snapshot: the filters as a legend, and the cells with their words."""
    shown = dump_in_w3m(small_site / "brokers.html")
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(shown, encoding="utf-8")
    assert shown == SNAPSHOT.read_text(encoding="utf-8")


GRID = 'nav a:text-is("Brokers")'
CELL = f'a[aria-label^="{NAMES} on Apache Kafka 4.4.0"]'
FAILURE = "a.card"
BYTES = '.scroller:has(td:text-is("00 00 00 20"))'
CELL_PAGE = addresses.cell_page(NAMES, NEW, "plaintext")
FAILURE_PAGE = addresses.failure_page(KNOWN_SIGNATURE)
MAX_TURNS = 100


@pytest.fixture
def home(request: pytest.FixtureRequest, browser: Browser, small_site: Path) -> Iterator[Page]:
    """The home page of the small site, in a window size."""
    page = browser.new_page(viewport=SIZES[request.param])
    page.goto((small_site / "index.html").as_uri())
    yield page
    page.close()


@pytest.mark.parametrize("home", ["phone"], indirect=True)
def test_mouse(home: Page) -> None:
    """A click on the grid, one on the cell and one on the failure lead to the page with the bytes."""
    home.locator(GRID).click()
    home.locator(CELL).click()
    home.wait_for_url(f"**/{CELL_PAGE}")
    home.locator(FAILURE).click()
    home.wait_for_url(f"**/{FAILURE_PAGE}")
    assert _seen_by_wheel(home, BYTES)


def _seen_by_wheel(page: Page, selector: str) -> bool:
    """Turn the mouse wheel, as a reader does, until an element is in the window."""
    page.wait_for_load_state()
    element = page.locator(selector).first
    page.mouse.move(150, 300)
    for _ in range(MAX_TURNS):
        box = element.bounding_box()
        if box is None or box["y"] <= 500:
            return element.is_visible()
        before = page.evaluate("scrollY")
        page.mouse.wheel(0, 200)
        # A page that is not drawn yet may ignore a turn of the wheel.
        with suppress(TimeoutError):
            page.wait_for_function("(before) => scrollY > before", arg=before, timeout=1_000)
    return False


def test_text_browser(small_site: Path) -> None:
    """The link in the clause's row leads to the cell, the link in its list of failures to the bytes."""
    home = _dump(small_site / "index.html")
    brokers = _dump(_goal_of(r"\[(\d+)\]Brokers", home))
    cell = _dump(_goal_of(r"\[(\d+)\]⚑ known 1", brokers))
    assert f"⚑ known 1 “{NAMES}” on " in cell
    failure = _dump(_goal_of(r"1\. \[(\d+)\]assert ", cell))
    assert re.search(r"0 +00 00 00 20 +size", failure)


def _dump(page: Path) -> str:
    """Return a page as text, with its links numbered and listed at the end."""
    return dump_in_w3m(page, "-o", "display_link_number=1")


def _goal_of(link: str, shown: str) -> Path:
    """Return the page that a numbered link leads to, from the list at the end."""
    body, _, references = shown.rpartition("References:")
    (number,) = re.findall(link, body)
    (address,) = re.findall(rf"^\[{number}\] (\S+)$", references, re.MULTILINE)
    return Path(unquote(urlsplit(address).path))
