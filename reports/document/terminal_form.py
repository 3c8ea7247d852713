"""A report on a terminal or in a pipe, as wide as that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text as StyledText

from reports.document.blocks import (
    Block,
    BulletList,
    CodeBlock,
    Document,
    Hyperlink,
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
    words_of,
)
from reports.records import Verdict
from reports.wording.escaping import link_address, one_line, piece_of_line, printable

COLOURS: Mapping[Verdict, str] = {
    Verdict.VIOLATES: "bold red",
    Verdict.UNEXPECTED_PASS: "red",
    Verdict.FLAKY: "yellow",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_RUN: "yellow",
    Verdict.KNOWN_VIOLATION: "cyan",
    Verdict.CONFORMS: "green",
}
"""The style of words about a verdict; a terminal shows it unless NO_COLOR is set."""
_MIN_COLUMN = 16
"""Columns of a terminal in which a text can be read."""
ANY_WIDTH = 100_000
"""Columns that are enough for every line."""


def show_document(console: Console, document: Document) -> None:
    """Show a complete report."""
    console.print(StyledText(one_line(document.title), "bold"))
    show(console, *document.blocks, *document.end)


def show(console: Console, *blocks: Block) -> None:
    """Show blocks of a report; an empty line precedes a section, and follows a table."""
    previous: Block | None = None
    for block in blocks:
        if isinstance(block, Section) or isinstance(previous, Section | TextTable):
            console.print()
        console.print(Group(*_parts(block, console)))
        previous = block


def _parts(block: Block, console: Console) -> Iterable[RenderableType]:
    match block:
        case Section():
            yield StyledText(one_line(block.title), COLOURS.get(block.verdict, "bold") if block.verdict else "bold")
            for part in block.blocks:
                yield from _parts(part, console)
        case TextTable():
            yield table_on(console, block)
        case BulletList():
            for number, item in enumerate(block.items, start=1):
                start = f"{number}. " if block.is_numbered else ""
                start += f"{one_line(item.label)}: " if item.label else ""
                yield StyledText(start).append_text(_styled(console, item.text))
        case Sentence():
            yield _styled(console, block.text)
        case Quote():
            yield StyledText(one_line(block.words))
        case CodeBlock():
            yield StyledText(printable(block.lines))


def table_on(console: Console, table: TextTable) -> RenderableType:
    """Return a table; if the console is too narrow for it, its rows become lists."""
    rich_table = Table(box=None, pad_edge=False)
    for index, name in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        is_outcome = all(isinstance(cell, VerdictWords) for cell in cells)
        longest = max(len(words_of(line)) for cell in (name, *cells) for line in lines_of(cell))
        rich_table.add_column(
            StyledText(one_line(name)), overflow="fold", no_wrap=is_outcome, min_width=min(longest, _MIN_COLUMN)
        )
    for row in table.rows:
        rich_table.add_row(*(_styled_lines(console, cell) for cell in row))
    # Measured without the console's own width, which would be all that a table needs.
    needed = console.measure(rich_table, options=console.options.update(width=ANY_WIDTH)).minimum
    return rich_table if needed <= console.width else Group(*_row_lists(console, table))


def _row_lists(console: Console, table: TextTable) -> Iterable[RenderableType]:
    """Yield the first cell of each row, and below it a line for each of the others."""
    for first, *others in table.rows:
        yield _styled_lines(console, first)
        rich_table = Table(box=None, pad_edge=False, show_header=False)
        rich_table.add_column(no_wrap=True, overflow="ellipsis")
        rich_table.add_column(overflow="fold")
        for name, cell in zip(table.columns[1:], others, strict=True):
            rich_table.add_row(StyledText(f"  {one_line(name)}"), _styled_lines(console, cell))
        yield rich_table


def _styled_lines(console: Console, cell: TableCell) -> StyledText:
    return StyledText("\n").join(_styled(console, line) for line in lines_of(cell))


def _styled(console: Console, text: Text) -> StyledText:
    """Return a text with styles; a console without styles shows the addresses of links."""
    styled = StyledText()
    for piece in pieces_of(text):
        match piece:
            case str():
                styled.append(piece_of_line(piece))
            case VerdictWords():
                styled.append(one_line(piece.words), COLOURS.get(piece.verdict, ""))
            case Strong():
                styled.append(one_line(piece.words), "bold")
            case Hyperlink():
                address = link_address(piece.address)
                styled.append(one_line(piece.words), Style(link=address))
                styled.append("" if console.color_system else f" ({address})")
            case _:
                styled.append(one_line(piece.words))
    return styled
