"""What three kinds of readers want is at most three clicks from the home page, at any width, with and without a script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.reports.site.sites import HOSTILE

pytestmark = pytest.mark.browser

WIDTHS = {"desktop": (1300, 900), "phone": (360, 780)}


@pytest.fixture(params=["script", "no script"])
def script(request: pytest.FixtureRequest) -> bool:
    """Whether the browser runs scripts."""
    return str(request.param) == "script"


@pytest.fixture(params=list(WIDTHS))
def home(
    request: pytest.FixtureRequest, browser: Browser, site_with_clients: Path, script: bool
) -> Iterator[Page]:
    """The home page, opened from a file."""
    width, height = WIDTHS[request.param]
    context = browser.new_context(
        viewport={"width": width, "height": height}, java_script_enabled=script
    )
    page = context.new_page()
    page.goto((site_with_clients / "index.html").as_uri())
    yield page
    context.close()


def test_operator_finds_an_upgrade(home: Page) -> None:
    """Two clicks lead to what becomes of the clients from one release to another."""
    home.get_by_role("link", name="I upgrade Kafka").click()
    home.locator('a[href$="upgrade/2.8.2-4.4.0.html"]').first.click()
    assert "2.8.2" in home.locator("h1").inner_text()
    assert home.get_by_role("heading", name="Your clients").first.is_visible()


def test_author_finds_a_bug_to_report(home: Page) -> None:
    """The door leads to the red cards; a card's page has its bugs, each with the text of an issue."""
    home.get_by_role("link", name="My broker or client is red").click()
    home.get_by_role("link", name=HOSTILE).first.click()
    assert home.locator(".bugs li").count() == 1
    home.get_by_text("Copy as issue").click()
    home.get_by_text("Copy as Markdown").click()
    assert home.locator("textarea:visible").count() == 2
    assert home.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_passer_by_finds_what_the_verdicts_rest_on(home: Page) -> None:
    """The home page says what it is in its first sentences, and one click what speaks for it."""
    assert home.locator("h1").inner_text() == "Who keeps the rules of Kafka’s handshake?"
    assert home.locator(".lead").is_visible()
    home.get_by_role("link", name="Why believe this?").click()
    shown = home.locator(".reasons").first.inner_text()
    assert "1 of 1 planted defect" in shown
