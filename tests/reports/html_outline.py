"""Reads a page strictly enough to say whether it is well-formed, and what is in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "hr", "img", "input", "col"}


@dataclass(slots=True)
class Element:
    """One element: its tag, attributes and the text inside, that of its children included."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Outline(HTMLParser):
    """All elements of a page in order; a tag that is not closed where it must be is an error."""

    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element; no attribute may stand twice."""
        names = [name for name, _ in attrs]
        if len(set(names)) < len(names):
            raise ValueError(f"<{tag}> has an attribute twice: {names}")
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element, which must be of this tag."""
        innermost = self.open.pop()
        if innermost.tag != tag:
            raise ValueError(f"</{tag}> closes <{innermost.tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        """Add text to every open element."""
        for element in self.open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Give the elements of a tag with these attributes, in order."""
        return [
            element
            for element in self.elements
            if element.tag == tag
            and all(element.attributes.get(name) == value for name, value in attributes.items())
        ]


def outline_of(page: str) -> Outline:
    """Read a page.

    Raises:
        ValueError: elements are not nested, or something is left open, or an id stands twice.
    """
    outline = Outline()
    outline.feed(page)
    outline.close()
    if outline.open:
        raise ValueError(f"<{outline.open[-1].tag}> is left open")
    ids = [element.attributes["id"] for element in outline.elements if "id" in element.attributes]
    if len(set(ids)) < len(ids):
        raise ValueError("an id stands twice")
    return outline
