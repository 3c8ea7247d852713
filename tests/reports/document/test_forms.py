"""A report says the same in each form, and no text in it acts."""

from __future__ import annotations

from io import StringIO

import html5lib
import pytest
from rich.console import Console

from reports.document.blocks import (
    Block,
    BulletList,
    CellLines,
    Code,
    CodeBlock,
    Document,
    Hyperlink,
    ListItem,
    Quote,
    Section,
    Sentence,
    Strong,
    TextTable,
    VerdictWords,
)
from reports.document.html_form import html_of
from reports.document.markdown_form import bounded_markdown, markdown, markdown_of
from reports.document.terminal_form import show, show_document
from reports.records import Verdict
from reports.wording.escaping import link_address
from tests.reports.exports.grids import EXPECTED_TAGS, HOSTILE, TERMINAL_ESCAPES, RenderedTags

BREAKS = VerdictWords("breaks", Verdict.VIOLATES)
CLIENTS = TextTable(
    columns=("client", "requests", "4.4.0"),
    rows=(("one", CellLines(("Fetch v2", "Produce v1")), BREAKS),),
    caption="What becomes of each client",
)
REPORT = Document(
    title="A report",
    blocks=(
        Sentence(("It has ", Strong("all"), " blocks, ", Code("kafka-conformance"), ".")),
        CLIENTS,
        Section(
            title="Why",
            blocks=(
                Quote("The rule."),
                BulletList(
                    (ListItem("it fails", "one"), ListItem(("see ", Hyperlink("KIP-896", "https://a.example/"))))
                ),
                BulletList((ListItem("first"), ListItem("second")), is_numbered=True),
            ),
        ),
        Section(title="More", blocks=(CodeBlock("00 12", "text"),), is_folded=True),
    ),
    end=(Sentence("The end."),),
)


def shown(*blocks: Block, width: int = 80) -> str:
    """Return what a terminal of a width shows, without spaces at the ends of lines."""
    console = Console(width=width, file=StringIO(), record=True)
    show(console, *blocks)
    return "\n".join(line.rstrip() for line in console.export_text().splitlines())


def test_markdown_has_every_block() -> None:
    assert (
        markdown(REPORT, level=2)
        == """\
## A report

It has **all** blocks, `kafka-conformance`.

| client | requests | 4.4.0 |
|---|---|---|
| one | Fetch v2<br>Produce v1 | breaks |

### Why

> The rule.

- one: it fails
- see [KIP-896](https://a.example/)

1. first
2. second

<details><summary>More</summary>

```text
00 12
```

</details>

The end.
"""
    )


def test_terminal_has_every_block() -> None:
    console = Console(width=80, file=StringIO(), record=True)
    show_document(console, REPORT)
    assert [line.rstrip() for line in console.export_text().splitlines()] == [
        "A report",
        "It has all blocks, kafka-conformance.",
        "client  requests    4.4.0",
        "one     Fetch v2    breaks",
        "        Produce v1",
        "",
        "Why",
        "The rule.",
        "one: it fails",
        "see KIP-896 (https://a.example/)",
        "1. first",
        "2. second",
        "",
        "More",
        "00 12",
        "",
        "The end.",
    ]


def test_html_has_every_block_and_is_valid() -> None:
    text = html_of(*REPORT.blocks, *REPORT.end)
    html5lib.HTMLParser(strict=True).parse(f"<!DOCTYPE html><title>x</title>{text}")
    for part in (
        "<p>It has <strong>all</strong> blocks, <code>kafka-conformance</code>.</p>",
        '<tr><th scope="row">one</th><td>Fetch v2<br>Produce v1</td><td><span class="verdict violates">breaks</span></td></tr>',
        "<h2>Why</h2>",
        "<dt>one</dt><dd>it fails</dd>",
        '<li>see <a href="https://a.example/" rel="noreferrer">KIP-896</a></li>',
        "<ol>\n<li>first</li>\n<li>second</li>\n</ol>",
        "<details><summary>More</summary>\n<pre><code>00 12</code></pre>\n</details>",
        "<p>The end.</p>",
    ):
        assert part in text


@pytest.mark.parametrize("width", [20, 40])
def test_rows_become_lists_if_a_table_is_too_wide(width: int) -> None:
    wide = TextTable(
        columns=("client", "address", "4.4.0"), rows=(("one", "a" * 14, BREAKS), ("two", "b" * 14, BREAKS))
    )
    as_table = "client  address         4.4.0\none     aaaaaaaaaaaaaa  breaks\ntwo     bbbbbbbbbbbbbb  breaks"
    as_lists = "one\n  address  aaaaaaaaa\n           aaaaa\n  4.4.0    breaks\ntwo\n  address  bbbbbbbbb\n           bbbbb\n  4.4.0    breaks"
    assert shown(wide, width=width) == (as_table if width == 40 else as_lists)


def hostile_blocks() -> tuple[Block, ...]:
    """Return blocks with a hostile text wherever one can be."""
    texts = (HOSTILE, Strong(HOSTILE), Code(HOSTILE), Hyperlink(HOSTILE, "#"), VerdictWords(HOSTILE, Verdict.FLAKY))
    return (
        Sentence(texts),
        Quote(HOSTILE),
        CodeBlock(HOSTILE),
        BulletList((ListItem(HOSTILE, HOSTILE, HOSTILE), ListItem(texts))),
        TextTable(columns=(HOSTILE, "b"), rows=((texts, CellLines(texts)),), caption=HOSTILE),
        Section(title=HOSTILE, blocks=(Sentence(HOSTILE),)),
        Section(title=HOSTILE, blocks=(Sentence(HOSTILE),), is_folded=True),
    )


@pytest.mark.parametrize("block", hostile_blocks(), ids=lambda block: type(block).__name__)
def test_no_text_acts_in_any_form(block: Block) -> None:
    rendered = RenderedTags(markdown_of(block))
    assert set(rendered.tags) <= EXPECTED_TAGS | {"a", "br", "h2"}
    assert set(rendered.links) <= {"#"}
    assert "<script>" not in html_of(block)
    for text in (markdown_of(block), shown(block), html_of(block)):
        assert not any(escape in text for escape in TERMINAL_ESCAPES)


def test_no_address_acts_in_any_form() -> None:
    link = Hyperlink("here", f"https://a.example/{HOSTILE}")
    block = Sentence((link, "."))
    rendered = RenderedTags(markdown_of(block))
    assert rendered.tags == ["p", "a"]
    assert [each.partition("!")[0] for each in rendered.links] == ["https://a.example/=cmd%7C%22/c%20calc%22"]
    assert "<script>" not in html_of(block)
    on_terminal = StringIO()
    show(Console(file=on_terminal, force_terminal=True, color_system="standard"), block)
    assert on_terminal.getvalue().split("\x1b\\")[0].endswith(f";{link_address(link.address)}")
    for text in (markdown_of(block), shown(block), html_of(block)):
        assert not any(escape in text for escape in TERMINAL_ESCAPES)


@pytest.mark.parametrize("width", [20, 80])
def test_names_of_columns_are_no_markup_on_a_terminal(width: int) -> None:
    table = TextTable(columns=("first", "[red]x[/]"), rows=(("a" * 14, "b" * 14),))
    assert "[red]x[/]" in shown(table, width=width)


def test_table_without_a_caption_is_no_region() -> None:
    text = html_of(TextTable(columns=("number",), rows=(("1",),)))
    assert "<caption" not in text
    assert "aria-label" not in text
    assert "region" not in text


def test_verdict_of_an_entry_decides_its_colour() -> None:
    """Its text does not: a target may have sent it."""
    entries = (ListItem("✕", "one"), ListItem("fails", "two", verdict=Verdict.VIOLATES))
    text = html_of(BulletList(entries))
    assert "<dt>one</dt><dd>✕</dd>" in text
    assert '<dt>two</dt><dd class="violates">fails</dd>' in text


def test_empty_parts_have_a_form() -> None:
    assert markdown_of(Sentence(("a", Code(" "), "b"))) == "ab\n"
    assert "<summary>T</summary>" in markdown_of(Section(title="T", blocks=(), is_folded=True))


def test_spaces_between_pieces_stay() -> None:
    pieces = Sentence(("a ", Strong("b"), " ", Code("c"), " d"))
    assert markdown_of(pieces) == "a **b** `c` d\n"
    assert shown(pieces) == "a b c d"


ROWS = TextTable(columns=("number",), rows=tuple((f"row {number}",) for number in range(1, 5)))


@pytest.mark.parametrize(
    ("room", "kept", "left_out"),
    [(58, ["| row 1 |", "| row 2 |", "| row 3 |", "| row 4 |"], 0), (47, ["| row 1 |", "| row 2 |"], 2), (27, [], 4)],
)
def test_rows_that_do_not_fit_are_counted(room: int, kept: list[str], left_out: int) -> None:
    """The head of a table, and a title above it, only precede a row that fits."""
    section = Section(title="T", blocks=(ROWS,))
    reserved = len("\nLeft out for lack of space: 1,000,000,000 more entries; x has everything.\n\nThe end.\n")
    document = Document(title="", blocks=(section,), end=(Sentence("The end."),))
    lines = bounded_markdown(document, max_bytes=reserved + room + len("\n## T\n"), complete_in="x").splitlines()
    assert [line for line in lines if "row" in line] == kept
    assert ("## T" in lines) == bool(kept)
    sentence = f"Left out for lack of space: {left_out} more entries; x has everything."
    assert (sentence in lines) == bool(left_out)
    assert lines[-1] == "The end."


@pytest.mark.parametrize("block", [ROWS, Sentence("a" * 40)])
def test_folded_sections_are_closed_or_left_out(block: Block) -> None:
    """A table is cut, any other section complete or missing; what began ends in any case."""
    section = Section(title="T", blocks=(block, Sentence("b")), is_folded=True)
    for max_bytes in range(60, 220):
        text = bounded_markdown(Document(title="", blocks=(section,)), max_bytes=max_bytes)
        assert len(text.encode()) <= max_bytes
        assert text.count("<details>") == text.count("</details>")
        assert ("a" * 40 in text) <= ("\nb\n" in text)
