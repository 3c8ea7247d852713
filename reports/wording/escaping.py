"""Escaping of text for the format that it is written into.

Names and messages may come from a hostile target.

Unprintable characters (control characters, bidirectional controls, lone surrogates) are shown as escapes in every
format but JSON, which has escapes of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from html import escape
from itertools import pairwise
from urllib.parse import quote

_BACKSLASHED = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_{}[]()#+!|~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)
_TURNED_INTO_LINKS = re.compile(r"@(?=\w)|#(?=\d)|(?i:(?:https?|ftp):(?=//)|\bwww(?=\.)|\bgh(?=-\d))")
"""What GitHub turns into links even if escaped: mentions (which notify people), issues, addresses."""
_LINK_BREAKER = "<!-- -->"
_FORMULA_STARTS = ("=", "+", "-", "@", "|", "%")
_BACKTICKS = re.compile(r"`+")


def printable(text: str) -> str:
    """Return a text with everything but printable characters and line ends escaped.

    Messages quote what a target sent, and a terminal would act on control characters.
    """
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(
        character if character.isprintable() or character == "\n" else character.encode("unicode_escape").decode()
        for character in text
    )


def one_line(text: str) -> str:
    """Return a text on one line, with unprintable characters escaped."""
    return " ".join(printable(text).split())


def piece_of_line(text: str, escaped: Callable[[str], str] = one_line) -> str:
    """Return a part of a line, escaped by a function that removes spaces at both ends, with these spaces."""
    shown = escaped(text)
    if not shown:
        return " " if text else ""
    return f"{' ' * text[:1].isspace()}{shown}{' ' * text[-1:].isspace()}"


def cut(text: str, longest: int) -> str:
    """Return a text with at most so many characters; the last one of a longer text is an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


@lru_cache(maxsize=1 << 16)
def markdown_text(text: str) -> str:
    """Return a text that GitHub-flavoured Markdown shows literally: no markup, HTML, links or mentions."""
    return _without_links(text, lambda piece: piece.translate(_BACKSLASHED))


def html_text(text: str) -> str:
    """Return a text for HTML inside Markdown, where backslashes escape nothing."""
    return _without_links(text, escape)


def _without_links(text: str, escaped: Callable[[str], str]) -> str:
    """Escape a text, with an HTML comment inside everything that would become a link."""
    shown = one_line(text)
    ends = [match.end() for match in _TURNED_INTO_LINKS.finditer(shown)]
    pieces = (shown[start:end] for start, end in pairwise([0, *ends, len(shown)]))
    return _LINK_BREAKER.join(escaped(piece) for piece in pieces)


def link_address(address: str) -> str:
    """Return an address with everything percent-encoded that could end a link in Markdown, or act on a terminal."""
    return quote(address, safe="%/:?#[]@!$&'*+,;=~", errors="backslashreplace")


def markdown_code_block(text: str, language: str = "") -> list[str]:
    """Return the lines of a fenced block; the fence is longer than any in the text."""
    shown = printable(text.expandtabs()).rstrip("\n")
    longest = max((len(ticks) for ticks in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *shown.split("\n"), fence]


@lru_cache(maxsize=1 << 16)
def csv_text(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: an apostrophe precedes one that looks like it."""
    shown = printable(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA_STARTS) else shown


def xml_text(text: str) -> str:
    """Return a text that XML 1.0 can contain; the XML writer escapes the markup."""
    return printable(text)
