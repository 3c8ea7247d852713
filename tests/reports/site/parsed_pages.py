"""Parses pages as a browser does, including end tags that HTML allows to omit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

import html5lib


def parse(path: Path) -> Element:
    """Read a page, and raise if html5lib finds that it is not valid HTML."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    page: Element = parser.parse(path.read_text(encoding="utf-8"))
    return page


_BLOCKS = {"td", "th", "dt", "dd", "p", "li", "tr", "h1", "h2", "title", "br"}


def text_of(element: Element) -> str:
    """Return the text of an element and its descendants; white space becomes one blank."""
    return " ".join("".join(_texts(element)).split())


def _texts(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        yield from _texts(child)
        yield child.tail or ""
    if element.tag in _BLOCKS:
        yield " "


def classes_of(element: Element) -> list[str]:
    """Return the classes of an element."""
    return element.get("class", "").split()


def all_of(page: Element, tag: str, **attributes: str) -> Iterator[Element]:
    """Yield the elements with a tag and these attributes, in order; `class_` matches a single class."""
    wanted = attributes.pop("class_", None)
    for element in page.iter(tag):
        if wanted is not None and wanted not in classes_of(element):
            continue
        if all(element.get(name) == value for name, value in attributes.items()):
            yield element


def heads_of(table: Element, scope: str) -> list[str]:
    """Return the texts of a table's headers with a scope: "row", "col", "rowgroup" or "colgroup"."""
    return [text_of(head) for head in all_of(table, "th", scope=scope)]


def grid_row(page: Element, clause: str) -> list[Element]:
    """Return the cells of a clause's row on the home page, without the range."""
    for row in page.iter("tr"):
        head = row.find("th")
        if head is not None and text_of(head).split()[:1] == [clause]:
            return [cell for cell in row.findall("td") if "range" not in classes_of(cell)]
    raise LookupError(clause)
