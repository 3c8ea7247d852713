"""What a Markdown text becomes when it is rendered, by a renderer that is not ours."""

from __future__ import annotations

from html.parser import HTMLParser

from markdown_it import MarkdownIt


class RenderedTags(HTMLParser):
    """Collects the tags of rendered Markdown, with their links, and its comments."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.comments: list[str] = []
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag, and where it leads."""
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_comment(self, data: str) -> None:
        """Note a comment."""
        self.comments.append(data)


EXPECTED_TAGS = {
    *("h3", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "blockquote"),
    *("details", "summary", "pre", "code", "a", "ul", "li"),
}
"""Tags that our Markdown means."""
