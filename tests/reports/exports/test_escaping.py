"""Texts are harmless in the format that they are escaped for, and ordinary texts stay as they are."""

from __future__ import annotations

import pytest

from reports.exports.escaping import (
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
    """No escaped text holds a control character, a lone surrogate or what turns text around."""
    assert callable(escaped)
    text = escaped(f"{HOSTILE}\ud800")
    assert not any(character in text for character in (*TERMINAL_ESCAPES, "\ud800"))
    assert r"x1b" in text


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "|x", "%x", " \t=1", "\r=1"])
def test_csv_text_is_no_formula(text: str) -> None:
    """An apostrophe stands before what a spreadsheet would calculate."""
    assert csv_text(text).startswith("'") or not csv_text(text).startswith(("=", "+", "-", "@"))


def test_plain_texts_stay_as_they_are() -> None:
    """Letters of any script, the verdicts' symbols and dotted names are not touched."""
    for text in ("✕ violates 2", "Ω 日本", "apache-kafka-4.4.0", "KIP-511.names-refused"):
        assert csv_text(text) == markdown_text(text) == html_text(text) == xml_text(text) == text


def test_markdown_mentions_nobody_and_links_nothing() -> None:
    """GitHub looks for mentions, issues and addresses in what is escaped too: a comment stands inside each."""
    text = markdown_text("@everyone #12 GH-1 https://a.example www.b.example me@c.example")
    assert text == (
        r"@<!-- -->everyone \#<!-- -->12 GH<!-- -->-1 https:<!-- -->//a.example www<!-- -->.b.example "
        "me@<!-- -->c.example"
    )


def test_markdown_has_neither_markup_nor_html() -> None:
    """What makes tables, links, code and tags is escaped."""
    assert markdown_text("a|b `c` [d](e) <f> &amp;") == (
        r"a\|b \`c\` \[d\]\(e\) &lt;f&gt; &amp;amp;"
    )


def test_html_is_escaped_by_entities() -> None:
    """Inside HTML a backslash would be seen, and a tag would act."""
    assert html_text("a_b <i>") == "a_b &lt;i&gt;"


def test_no_text_ends_its_code_block() -> None:
    """A fence is longer than any run of backticks that it holds."""
    lines = markdown_code_block("```\n````\nx", "text")
    assert lines[0] == "`````text"
    assert lines[-1] == "`````"
