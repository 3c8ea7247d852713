"""Takes the pictures of the documents from a site.

It writes docs/grid.png, and docs/sample/ at the widths of a desktop and a phone.

    nox -s screenshots -- SITE

Each picture keeps the navigation of its page, so that a test finds pictures of an older site. Needs Chromium, as the
tests of the site do.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from PIL import Image, PngImagePlugin
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from reports.command_line.suite_command import SuiteCommand
from reports.grid import addresses

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
SAMPLE = DOCS / "sample"
GRID = DOCS / "grid.png"
NAVIGATION = "navigation"
"""The text of a picture that has the navigation: a JSON list of addresses and titles."""
DESK: ViewportSize = {"width": 1300, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 780}
_COLOURS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture: where it is stored, of which page, how large, and whether in dark colours."""

    path: Path
    address: str
    size: ViewportSize
    is_dark: bool = False


def pictures(product: str, upgrade: str, failure: str) -> Iterator[Picture]:
    """Yield the pictures; those of a phone are dark."""
    yield Picture(path=GRID, address=addresses.role_page("broker"), size=DESK)
    pages = {"home": addresses.HOME, "upgrade": upgrade, "product": product, "failure": failure}
    for name, address in pages.items():
        for size in (DESK, PHONE):
            path = SAMPLE / f"{name}-{size['width']}.png"
            yield Picture(path=path, address=address, size=size, is_dark=size is PHONE)


def save(png: bytes, navigation: list[tuple[str, str]], path: Path) -> None:
    """Save a picture with few colours, which makes it small, and with its navigation."""
    texts = PngImagePlugin.PngInfo()
    texts.add_text(NAVIGATION, json.dumps(navigation))
    with Image.open(io.BytesIO(png)) as image:
        few = image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(path, optimize=True, pnginfo=texts)


def _open(browser: Browser, site: Path, picture: Picture) -> Page:
    page = browser.new_page(viewport=picture.size, color_scheme="dark" if picture.is_dark else "light")
    page.goto((site.resolve() / picture.address).as_uri())
    return page


def _navigation(page: Page) -> list[tuple[str, str]]:
    links = page.locator('nav[aria-label="Pages"] a').all()
    entries = ((link.get_attribute("href") or "", link.inner_text()) for link in links)
    return [(address.removeprefix("../"), title) for address, title in entries]


def _first_failure(browser: Browser, site: Path, product: str) -> str:
    page = browser.new_page()
    page.goto((site.resolve() / product).as_uri())
    link = page.locator('main a[href*="failures/"]').first.get_attribute("href") or ""
    page.close()
    return link.removeprefix("../").partition("#")[0]


@click.command(cls=SuiteCommand)
@click.argument("site", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--product", default="tansu-0.6.0", show_default=True, help="id of a target")
@click.option("--upgrade", default="2.3.1-4.4.0", show_default=True, help="two releases")
def main(site: Path, product: str, upgrade: str) -> None:
    """Take all pictures."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    shutil.rmtree(SAMPLE, ignore_errors=True)
    SAMPLE.mkdir()
    of_product = addresses.target_page(product)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        failure = _first_failure(browser, site, of_product)
        for picture in pictures(of_product, f"upgrade/{upgrade}.html", failure):
            page = _open(browser, site, picture)
            save(page.screenshot(), _navigation(page), picture.path)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
