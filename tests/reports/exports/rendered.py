"""Renders Markdown with a third-party renderer."""

from __future__ import annotations

from html.parser import HTMLParser

from markdown_it import MarkdownIt


class RenderedTags(HTMLParser):
    """Collects the tags, links and comments of rendered Markdown."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.comments: list[str] = []
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag, and the target of its link."""
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_comment(self, data: str) -> None:
        """Record a comment."""
        self.comments.append(data)


EXPECTED_TAGS = {
    *("h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "blockquote"),
    *("details", "summary", "pre", "code", "a", "ul", "li"),
}
"""Tags that the suite's Markdown uses."""
