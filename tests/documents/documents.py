"""The project's documents: their shell blocks, the commands in their sentences, and their links.

A block of shell (```sh) is run. A comment straight above it says otherwise:

    <!-- not run here: REASON -->    it is only read: the programs and options that it names must exist
    <!-- ends with: N -->            it is run, and its exit status is N instead of 0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.suite_runs import REPOSITORY

DOCUMENTS = (
    REPOSITORY / "README.md",
    REPOSITORY / "ARCHITECTURE.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "CHANGELOG.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
)
_BLOCK = re.compile(
    r"(?:^<!-- (?P<kind>not run here|ends with): (?P<what>.+?) -->\n+)?"
    r"^```sh\n(?P<script>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of shell.

    Attributes:
        place: document and line.
        script: what stands in it.
        status: the exit status that it ends with.
        not_run: why it is not run; empty where it is.
    """

    place: str
    script: str
    status: int
    not_run: str


def name_of(document: Path) -> str:
    """Give a document's place in the repository."""
    return document.relative_to(REPOSITORY).as_posix()


def blocks_of(text: str, name: str) -> Iterator[Block]:
    """Give the shell blocks of a document."""
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("script"))
        kind, what = found["kind"], found["what"]
        yield Block(
            place=f"{name}:{line}",
            script=found["script"],
            status=int(what) if kind == "ends with" else 0,
            not_run=what if kind == "not run here" else "",
        )


def inline_code_of(text: str) -> Iterator[str]:
    """Give what stands between single backticks."""
    yield from _INLINE.findall(_FENCED.sub("", text))


def links_of(text: str) -> Iterator[str]:
    """Give where a document's links lead."""
    yield from _LINK.findall(_FENCED.sub("", text))


def anchors_of(text: str) -> set[str]:
    """Give the anchors that GitHub makes of a document's headings."""
    headings = _HEADING.findall(_FENCED.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
