"""A report in GitHub-flavoured Markdown, also with a maximum size.

What does not fit is left out and counted: a row of a table, an entry of a list, or any other block. A title or the head
of a table only precedes something that fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from reports.document.blocks import (
    Block,
    BulletList,
    Code,
    CodeBlock,
    Document,
    Hyperlink,
    ListItem,
    Piece,
    Quote,
    Section,
    Sentence,
    Strong,
    TableCell,
    Text,
    TextTable,
    lines_of,
    pieces_of,
)
from reports.wording.escaping import (
    html_text,
    link_address,
    markdown_code_block,
    markdown_text,
    one_line,
    piece_of_line,
)
from reports.wording.markdown_table import table_head, table_row

MAX_COMMENT_BYTES = 65_536
"""The maximum size of a comment on GitHub."""
_MAX_LEFT_OUT = 10**9
_FOLDED_END = ("", "</details>")


def markdown(document: Document, *, level: int = 1) -> str:
    """Return a report; its title is a heading of this level."""
    return bounded_markdown(document, level=level, max_bytes=math.inf)


def bounded_markdown(document: Document, *, level: int = 1, max_bytes: float, complete_in: Text = "") -> str:
    """Return a report of at most so many bytes.

    Args:
        document: the report.
        level: the level of its title.
        max_bytes: the maximum size; the end of the document must fit.
        complete_in: what has everything; the text names it if it leaves something out.
    """
    end = _MarkdownLines(math.inf)
    end.add_blocks(document.end, level + 1)
    kept = _size([*_left_out(_MAX_LEFT_OUT, complete_in), *end.lines])
    body = _MarkdownLines(max_bytes - kept)
    if document.title:
        body.add(["", f"{'#' * level} {markdown_text(document.title)}"])
    body.add_blocks(document.blocks, level + 1)
    lines = [*body.lines, *_left_out(body.left_out, complete_in), *end.lines]
    return "\n".join(lines[1:]) + "\n"


def markdown_of(*blocks: Block) -> str:
    """Return blocks without a title."""
    return markdown(Document(title="", blocks=blocks))


def _left_out(count: int, complete_in: Text) -> list[str]:
    if not count:
        return []
    everything = f"; {_text(complete_in)} has everything" if complete_in else ""
    return ["", f"Left out for lack of space: {count:,} more {'entry' if count == 1 else 'entries'}{everything}."]


class _MarkdownLines:
    """Collects the lines of blocks while they fit. Each block begins with an empty line."""

    def __init__(self, max_bytes: float) -> None:
        self.lines: list[str] = []
        self.left_out = 0
        self._room = max_bytes
        self._opening: list[str] = []
        """Titles and heads that are written with the first thing below them."""

    def add(self, lines: Sequence[str]) -> None:
        """Add all these lines, or count them as one entry that is left out."""
        size = _size([*self._opening, *lines])
        if size > self._room:
            self.left_out += 1
            return
        self._room -= size
        self.lines += [*self._opening, *lines]
        self._opening.clear()

    def add_blocks(self, blocks: Sequence[Block], level: int) -> None:
        """Add blocks; the titles of sections are headings of this level."""
        for block in blocks:
            self._add_block(block, level)

    def _add_block(self, block: Block, level: int) -> None:
        match block:
            case TextTable():
                with self._below("", *table_head([markdown_text(each) for each in block.columns])):
                    for row in block.rows:
                        self.add([table_row(map(_cell, row))])
            case BulletList():
                with self._below(""):
                    for number, item in enumerate(block.items, start=1):
                        self.add([f"{f'{number}.' if block.is_numbered else '-'} {_item(item)}"])
            case Section(is_folded=True):
                self._add_folded(block, level)
            case Section():
                with self._below("", f"{'#' * level} {markdown_text(block.title)}"):
                    self.add_blocks(block.blocks, level + 1)
            case _:
                self.add(["", *_block_lines(block)])

    def _add_folded(self, section: Section, level: int) -> None:
        """Add a section that is folded: what fits of a table or list, else all of it or nothing."""
        opening = ("", f"<details><summary>{html_text(section.title)}</summary>")
        if isinstance(next(iter(section.blocks), None), TextTable | BulletList):
            with self._below(*opening, closing=_FOLDED_END):
                self.add_blocks(section.blocks, level + 1)
        else:
            inside = _MarkdownLines(math.inf)
            inside.add_blocks(section.blocks, level + 1)
            self.add([*opening, *inside.lines, *_FOLDED_END])

    @contextmanager
    def _below(self, *opening: str, closing: Sequence[str] = ()) -> Iterator[None]:
        """Write an opening and a closing around what is added; if nothing is added, neither of them."""
        waiting = len(self._opening)
        self._opening += opening
        self._room -= _size(closing)
        yield
        if len(self._opening) > waiting:
            del self._opening[waiting:]
            self._room += _size(closing)
        else:
            self.lines += closing


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _block_lines(block: Sentence | Quote | CodeBlock) -> list[str]:
    match block:
        case Sentence():
            return [_text(block.text)]
        case Quote():
            return [f"> {markdown_text(block.words)}"]
        case CodeBlock():
            return markdown_code_block(block.lines, block.language)


def _item(item: ListItem) -> str:
    return f"{markdown_text(item.label)}: {_text(item.text)}" if item.label else _text(item.text)


def _cell(cell: TableCell) -> str:
    return "<br>".join(map(_text, lines_of(cell)))


def _text(text: Text) -> str:
    return "".join(map(_piece, pieces_of(text))).strip()


def _piece(piece: Piece) -> str:
    match piece:
        case str():
            return piece_of_line(piece, markdown_text)
        case Hyperlink():
            return f"[{markdown_text(piece.words)}]({link_address(piece.address)})"
        case Strong():
            return f"**{markdown_text(piece.words)}**"
        case Code() if piece.words.strip() and "`" not in piece.words:
            return f"`{one_line(piece.words)}`"
        case _:
            return markdown_text(piece.words)
