"""From the home page to the bytes of a violation in three steps: by mouse, and in a text browser.

Each way does what a reader does: it focuses or opens only elements that the previous page leads to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, TimeoutError

from reports.grid import addresses
from tests.reports.site.accessibility import SIZES
from tests.reports.site.sites import KNOWN_SIGNATURE, NAMES, NEW
from tests.reports.site.text_browser import dump_in_w3m

pytestmark = pytest.mark.browser

GRID = 'nav a:text-is("Brokers")'
CELL = f'a[aria-label^="{NAMES} on Apache Kafka 4.4.0"]'
FAILURE = "a.card"
BYTES = '.scroller:has(td:text-is("00 00 00 20"))'
CELL_PAGE = addresses.cell_page(NAMES, NEW, "plaintext")
FAILURE_PAGE = addresses.failure_page(KNOWN_SIGNATURE)
MOST_TURNS = 100


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
    for _ in range(MOST_TURNS):
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
