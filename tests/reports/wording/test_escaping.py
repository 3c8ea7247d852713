"""Texts are harmless in the format that they are escaped for.

Ordinary texts stay unchanged.
"""

from __future__ import annotations

import pytest

from reports.wording.escaping import (
    csv_text,
    html_text,
    markdown_code_block,
    markdown_text,
    one_line,
    xml_text,
)
from tests.reports.exports.grids import HOSTILE, TERMINAL_ESCAPES


@pytest.mark.parametrize("escaped", [one_line, markdown_text, html_text, csv_text, xml_text])
def test_what_does_not_print_is_shown_as_an_escape(escaped: object) -> None:
    """No escaped text contains a control character, a lone surrogate or a character that reverses text direction."""
    assert callable(escaped)
    text = escaped(f"{HOSTILE}\ud800")
    assert not any(character in text for character in (*TERMINAL_ESCAPES, "\ud800"))
    assert r"x1b" in text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "|x", "%x", " \t=1", "\r=1"])
def test_csv_text_is_no_formula(text: str) -> None:
    """Text that a spreadsheet would evaluate gets an apostrophe in front."""
    assert csv_text(text).startswith("'") or not csv_text(text).startswith(("=", "+", "-", "@"))


def test_plain_texts_stay_as_they_are() -> None:
    """Letters of any script, the verdicts' symbols and dotted names are not touched."""
    for text in ("✕ violates 2", "Ω 日本", "apache-kafka-4.4.0", "KIP-511.names-refused"):
        assert csv_text(text) == markdown_text(text) == html_text(text) == xml_text(text) == text


def test_markdown_mentions_nobody_and_links_nothing() -> None:
    """GitHub finds mentions, issues and addresses even in escaped text, so each has a comment inside."""
    text = markdown_text("@everyone #12 GH-1 https://a.example www.b.example me@c.example")
    assert text == (
        r"@<!-- -->everyone \#<!-- -->12 GH<!-- -->-1 https:<!-- -->//a.example www<!-- -->.b.example "
        "me@<!-- -->c.example"
    )


def test_markdown_has_neither_markup_nor_html() -> None:
    """Characters that form tables, links, code and tags are escaped."""
    assert markdown_text("a|b `c` [d](e) <f> &amp;") == (r"a\|b \`c\` \[d\]\(e\) &lt;f&gt; &amp;amp;")


def test_html_is_escaped_by_entities() -> None:
    """Within HTML a backslash would be visible, and a tag would take effect."""
    assert html_text("a_b <i>") == "a_b &lt;i&gt;"


def test_no_text_ends_its_code_block() -> None:
    """A fence is longer than any run of backticks inside it."""
    lines = markdown_code_block("```\n````\nx", "text")
    assert lines[0] == "`````text"
    assert lines[-1] == "`````"
