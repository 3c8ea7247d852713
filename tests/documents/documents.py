"""The project's documents: their shell blocks, the commands in their sentences, and their links.

A shell block (```sh) is run. A comment directly above it can change that:

    <!-- not run here: REASON -->    it is only parsed: its programs and options must exist
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
    REPOSITORY / "SECURITY.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
    *sorted((REPOSITORY / "proposals").glob("*/*.md")),
)
PACKAGES = tuple(path.parent.name for path in REPOSITORY.glob("*/__init__.py"))
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
class ShellBlock:
    """One shell block.

    Attributes:
        where: document and line.
        script: the text of the block.
        status: the exit status it ends with.
        not_run: why it is not run; empty if it is run.
    """

    where: str
    script: str
    status: int
    not_run: str


def name_of(document: Path) -> str:
    """Return a document's path in the repository."""
    return document.relative_to(REPOSITORY).as_posix()


def blocks_of(text: str, name: str) -> Iterator[ShellBlock]:
    """Yield the shell blocks of a document."""
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("script"))
        kind, what = found["kind"], found["what"]
        yield ShellBlock(
            where=f"{name}:{line}",
            script=found["script"],
            status=int(what) if kind == "ends with" else 0,
            not_run=what if kind == "not run here" else "",
        )


def inline_code_of(text: str) -> Iterator[str]:
    """Return the texts between single backticks."""
    yield from _INLINE.findall(_FENCED.sub("", text))


def links_of(text: str) -> Iterator[str]:
    """Return the targets of a document's links."""
    yield from _LINK.findall(_FENCED.sub("", text))


def anchors_of(text: str) -> set[str]:
    """Return the anchors that GitHub makes from a document's headings."""
    headings = _HEADING.findall(_FENCED.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
