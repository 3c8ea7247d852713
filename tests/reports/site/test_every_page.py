"""Every page of any site is valid, accessible HTML.

Links resolve, and nothing is remote.

The site is the small one unless `--site FOLDER` names another, as .ci/run does with the grid of every release. The
browser checks every overview, and of each folder pages that together have every element and heading that occurs in it:
on a phone in light colours, and on a desktop in dark ones. The other checks read every page. Needs Chromium.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import pytest
from playwright.sync_api import Browser, Page

from reports.site.rendering import FOLDERS
from tests.reports.site.browsers import SIZES, faults_of
from tests.reports.site.parsed_pages import all_of, parse

MAX_BYTES = {
    "index.html": 100_000,
    "brokers.html": 150_000,
    "clients.html": 150_000,
    "operations.html": 150_000,
}
"""How large the pages may be that readers begin with, if the site has them."""
_ELEMENT = re.compile(r"<([a-z0-9]+)((?:\s[^<>]*)?)>")
_CLASSES = re.compile(r'\sclass="?([^"]*?)(?:"|\s[\w-]+=|$)')
_HEADING = re.compile("<h2[^>]*>([^<]*)")
_NUMBER = re.compile(r"\d+")
VIEWS = {"brokers.html": ("", "?state=known_violation&view=all")}

Pages = Mapping[Path, Element]


@pytest.fixture(scope="module")
def pages(site: Path) -> Pages:
    """Every page of the site, read by a strict parser, which is itself a check."""
    return {path.resolve(): parse(path) for path in sorted(site.rglob("*.html"))}


def elements_in(text: str) -> set[str]:
    """Return what a page consists of: tags, each tag with each of its classes, and headings without their numbers."""
    found = {_NUMBER.sub("", heading) for heading in _HEADING.findall(text)}
    for tag, attributes in _ELEMENT.findall(text):
        classes = _CLASSES.search(attributes)
        found |= {tag, *(f"{tag}.{name}" for name in (classes[1] if classes else "").split())}
    return found


def sample_of(folder: Path) -> list[Path]:
    """Choose pages of a folder that together have every element and heading that occurs in it."""
    left = {path: elements_in(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    chosen = []
    while any(left.values()):
        best = max(sorted(left), key=lambda path: len(left[path]))
        chosen.append(best)
        left = {path: kinds - left[best] for path, kinds in left.items()}
    return chosen


def test_every_kind_of_page_is_there(site: Path) -> None:
    """The site has a home page, a grid, and pages of clauses and targets."""
    assert (site / "index.html").is_file()
    assert list(site.glob("*s.html"))
    for folder in ("clauses", "targets"):
        assert list((site / folder).glob("*.html")), folder


def test_first_pages_are_small(site: Path) -> None:
    """Home and the grids open quickly."""
    sizes = {name: (site / name).stat().st_size for name in MAX_BYTES if (site / name).exists()}
    assert {name: size for name, size in sizes.items() if size > MAX_BYTES[name]} == {}


def test_ids_are_unique(pages: Pages) -> None:
    """No id occurs twice on a page."""
    for path, page in pages.items():
        ids = [element.get("id") for element in page.iter() if element.get("id")]
        assert len(set(ids)) == len(ids), path


def test_links_resolve(pages: Pages) -> None:
    """Every link leads to a file of the site, and every fragment is an id on its page."""
    ids = {path: {element.get("id") for element in page.iter()} for path, page in pages.items()}
    for path, page in pages.items():
        for link in all_of(page, "a"):
            if link.get("href", "").startswith("https://"):
                assert link.get("rel") == "noreferrer"
                continue
            file, _, fragment = link.get("href", "").partition("#")
            file = file.partition("?")[0]
            goal = (path.parent / unquote(file)).resolve() if file else path
            assert goal.is_file(), (path, link.get("href"))
            assert not fragment or fragment in ids[goal], (path, link.get("href"))


def test_pictures_are_there(pages: Pages) -> None:
    """Every picture is a file of the site, and has an alternative text."""
    for path, page in pages.items():
        for picture in all_of(page, "img"):
            assert (path.parent / unquote(picture.get("src", ""))).is_file(), path
            assert picture.get("alt"), path


def test_nothing_is_remote(pages: Pages) -> None:
    """Pages load one style sheet and one script of the site itself, and nothing from another host."""
    for path, page in pages.items():
        scripts = [script.get("src", "") for script in all_of(page, "script")]
        assert [Path(src).name for src in scripts] == ["site.js"]
        for element in page.iter():
            loaded = [
                element.get("src", ""),
                element.get("href", "") if element.tag == "link" else "",
            ]
            assert not any("//" in address for address in loaded), path


def test_pages_have_one_heading_one_main_and_a_skip_link(pages: Pages) -> None:
    """The first link of every page leads to its content."""
    for path, page in pages.items():
        assert len(list(all_of(page, "h1"))) == 1, path
        assert [main.get("id") for main in all_of(page, "main")] == ["main"]
        assert next(all_of(page, "a")).get("href") == "#main"


def test_pages_describe_themselves(pages: Pages) -> None:
    """A link to a page, pasted elsewhere, shows a title and a sentence; the icon is a file of the site."""
    for path, page in pages.items():
        sentence = {meta.get("name") or meta.get("property"): meta.get("content") for meta in all_of(page, "meta")}
        assert sentence["description"] == sentence["og:description"], path
        assert sentence["description"], path
        assert sentence["og:title"], path
        (icon,) = all_of(page, "link", rel="icon")
        assert (path.parent / icon.get("href", "")).is_file()


def test_tables_have_headers_with_a_scope(pages: Pages) -> None:
    """No header leaves a screen reader to guess which cells it describes."""
    for path, page in pages.items():
        for head in all_of(page, "th"):
            assert head.get("scope") in ("row", "col", "rowgroup", "colgroup"), path


def test_regions_have_names_of_their_own(pages: Pages) -> None:
    """Readers who jump from region to region can distinguish them."""
    for path, page in pages.items():
        texts = {
            element.get("id"): " ".join("".join(element.itertext()).split())
            for element in page.iter()
            if element.get("id")
        }
        names = [texts[element.get("aria-labelledby")] for element in page.iter() if element.get("aria-labelledby")]
        assert len(set(names)) == len(names), path


@pytest.mark.nightly  # `.ci/run` looks at the grid that it made
@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "size"), [("light", "phone"), ("dark", "desktop")])
@pytest.mark.parametrize("folder", ["overviews", *FOLDERS])
def test_no_page_has_an_accessibility_fault(
    folder: str, scheme: Literal["light", "dark"], size: str, browser: Browser, site: Path
) -> None:
    """Axe finds no fault against WCAG 2 A and AA; no page is too wide, logs an error or uses the network."""
    if folder == "overviews":
        # A page that has moved leaves at once, so there is nothing to look at.
        overviews = ((path, path.read_text(encoding="utf-8")) for path in site.glob("*.html"))
        chosen = sorted(path for path, text in overviews if 'http-equiv="refresh"' not in text)
    else:
        chosen = sample_of(site / folder)
    page = browser.new_page(viewport=SIZES[size], color_scheme=scheme)
    _assert_faultless(page, chosen, site)


def _assert_faultless(page: Page, chosen: Iterable[Path], site: Path) -> None:
    faults: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    for path in chosen:
        for view in VIEWS.get(path.relative_to(site).as_posix(), ("",)):
            page.goto(path.as_uri() + view)
            faults += [f"{path.relative_to(site)}{view}: {fault}" for fault in faults_of(page)]
    page.close()
    assert faults == []
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
