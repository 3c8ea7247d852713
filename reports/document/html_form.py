"""A report as HTML, for a page of its own or as a part of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from markupsafe import Markup, escape

from reports.document.blocks import (
    Block,
    BulletList,
    Code,
    CodeBlock,
    Hyperlink,
    ListItem,
    Quote,
    Section,
    Sentence,
    Strong,
    TableCell,
    Text,
    TextTable,
    VerdictWords,
    lines_of,
    pieces_of,
)
from reports.records import Verdict
from reports.wording.escaping import link_address, printable

Linked = Callable[[str, str], Markup]
"""Returns a text as HTML, with links to what it names; also gets the label of the list's entry that it is in."""


def html_of(*blocks: Block, level: int = 2, linked: Linked = lambda text, label: escape(text)) -> Markup:
    """Return blocks as HTML.

    Args:
        blocks: the blocks.
        level: the level of the headings of sections.
        linked: makes links of what a text names.
    """
    return Markup("\n").join(line for block in blocks for line in _block(block, level, linked))


def _block(block: Block, level: int, linked: Linked) -> Iterator[Markup]:
    match block:
        case Section(is_folded=True):
            inside = html_of(*block.blocks, level=level + 1, linked=linked)
            yield Markup("<details><summary>{}</summary>\n{}\n</details>").format(printable(block.title), inside)
        case Section():
            yield Markup("<h{0}>{1}</h{0}>").format(level, printable(block.title))
            yield html_of(*block.blocks, level=level + 1, linked=linked)
        case TextTable():
            yield from _table(block, linked)
        case BulletList():
            yield from _list(block, linked)
        case Sentence():
            yield Markup("<p>{}</p>").format(_text(block.text, linked))
        case Quote():
            yield Markup("<blockquote><p>{}</p></blockquote>").format(printable(block.words))
        case CodeBlock():
            yield Markup("<pre><code>{}</code></pre>").format(printable(block.lines))


def _table(table: TextTable, linked: Linked) -> Iterator[Markup]:
    """Yield a table that scrolls on its own if it is too wide, and can be focused with the keyboard.

    A caption also names it as a region.
    """
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(printable(each)) for each in table.columns)
    caption = printable(table.caption)
    region = Markup(' role="region" aria-label="{}"').format(caption) if caption else ""
    yield Markup('<div class="scroller"{} tabindex="0">').format(region)
    yield Markup('<table class="plain">')
    if caption:
        yield Markup("<caption>{}</caption>").format(caption)
    yield Markup("<thead><tr>{}</tr></thead>\n<tbody>").format(head)
    for first, *others in table.rows:
        cells = Markup("").join(Markup("<td>{}</td>").format(_cell(cell, linked)) for cell in others)
        yield Markup('<tr><th scope="row">{}</th>{}</tr>').format(_cell(first, linked), cells)
    yield Markup("</tbody>\n</table>\n</div>")


def _list(items: BulletList, linked: Linked) -> Iterator[Markup]:
    """Yield entries with a label as terms with what is known about them, and others as entries of a list."""
    for has_label, entries in groupby(items.items, key=lambda item: bool(item.label)):
        if has_label:
            lines = [_term(item, linked) for item in entries]
            yield Markup('<dl class="wide">\n{}\n</dl>').format(Markup("\n").join(lines))
        else:
            lines = [Markup("<li>{}</li>").format(_text(item.text, linked)) for item in entries]
            tag = "ol" if items.is_numbered else "ul"
            yield Markup("<{0}>\n{1}\n</{0}>").format(tag, Markup("\n").join(lines))


def _term(item: ListItem, linked: Linked) -> Markup:
    return Markup("<dt>{}</dt><dd{}>{}{}</dd>").format(
        linked(printable(item.label), ""),
        Markup(' class="violates"') if item.verdict is Verdict.VIOLATES else "",
        _text(item.text, linked, item.label),
        Markup("<br><small>{}</small>").format(printable(item.note)) if item.note else "",
    )


def _cell(cell: TableCell, linked: Linked) -> Markup:
    return Markup("<br>").join(_text(line, linked) for line in lines_of(cell))


def _text(text: Text, linked: Linked, label: str = "") -> Markup:
    return Markup("").join(
        linked(printable(piece), label) if isinstance(piece, str) else _marked_up(piece) for piece in pieces_of(text)
    )


def _marked_up(piece: Hyperlink | Code | Strong | VerdictWords) -> Markup:
    words = printable(piece.words)
    match piece:
        case Hyperlink():
            return Markup('<a href="{}" rel="noreferrer">{}</a>').format(link_address(piece.address), words)
        case VerdictWords():
            return Markup('<span class="verdict {}">{}</span>').format(piece.verdict.value, words)
        case Strong():
            return Markup("<strong>{}</strong>").format(words)
        case Code():
            return Markup("<code>{}</code>").format(words)
