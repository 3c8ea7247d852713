"""What a report consists of, in whatever form: a title, and blocks below it.

Texts are plain, also those that a target sent: the renderers escape them.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports.records import Verdict


@dataclass(frozen=True, slots=True)
class Hyperlink:
    """Words that lead to an address."""

    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Code:
    """Words that are shown as they are typed: a command, or bytes in hexadecimal."""

    words: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that stand out."""

    words: str


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """Words in the colour of a verdict."""

    words: str
    verdict: Verdict


Piece = str | Hyperlink | Code | Strong | VerdictWords
Text = Piece | tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A paragraph."""

    text: Text


@dataclass(frozen=True, slots=True)
class Quote:
    """The words of a clause."""

    words: str


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines of a program, of a file or of a dump; `language` is Markdown's name for it."""

    lines: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class ListItem:
    """One entry of a list.

    Attributes:
        text: the entry.
        label: what or whom it is about; empty if that is clear.
        note: more about it, for which only pages have space.
        verdict: the verdict that it is about; a page shows a violation in its colour. None for none.
    """

    text: Text
    label: str = ""
    note: str = ""
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class BulletList:
    """A list, whose entries have numbers if their order matters."""

    items: tuple[ListItem, ...]
    is_numbered: bool = False


@dataclass(frozen=True, slots=True)
class CellLines:
    """Texts of one cell of a table, each on a line of its own."""

    texts: tuple[Text, ...]


TableCell = Text | CellLines


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table; `caption` says on a page what it is about."""

    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks below a title.

    Attributes:
        title: the title.
        blocks: what is below it.
        verdict: the verdict whose colour the title has on a terminal; None for none.
        is_folded: whether Markdown and pages show the title alone at first.
    """

    title: str
    blocks: tuple[Block, ...]
    verdict: Verdict | None = None
    is_folded: bool = False


Block = Sentence | Quote | CodeBlock | BulletList | TextTable | Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A complete report.

    Attributes:
        title: its title; empty for none.
        blocks: what it consists of, the most important first.
        end: what stands at its end, also if a limit leaves out other blocks.
    """

    title: str
    blocks: tuple[Block, ...]
    end: tuple[Block, ...] = ()


def pieces_of(text: Text) -> tuple[Piece, ...]:
    """Return the pieces of a text."""
    return text if isinstance(text, tuple) else (text,)


def words_of(text: Text) -> str:
    """Return the words of a text alone."""
    return "".join(piece if isinstance(piece, str) else piece.words for piece in pieces_of(text))


def lines_of(cell: TableCell) -> tuple[Text, ...]:
    """Return the lines of a cell."""
    return cell.texts if isinstance(cell, CellLines) else (cell,)
