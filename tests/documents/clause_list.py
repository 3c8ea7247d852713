"""Writes docs/clauses.md from the catalogue: a test notices a lost clause, and a diff shows a change.

python -m tests.documents.clause_list
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import click

from clauses.catalogue import catalogue

DOCUMENT = Path(__file__).parents[2] / "docs" / "clauses.md"


def document() -> str:
    """Return the complete document."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Clauses\n"
    yield "Made by `python -m tests.documents.clause_list` from `clauses/`; a test says when it is out of date. What breaks for a user, and"
    yield "where a sentence comes from, is told by `kafka-conformance explain CLAUSE`.\n"
    for source, of_source in groupby(catalogue(), key=lambda clause: clause.source):
        yield f"## {source}\n"
        yield "| clause | level | sentence |\n|---|---|---|"
        for clause in of_source:
            sentence = clause.statement.replace("|", "\\|")
            untested = f" (not judged in a run: {clause.not_tested})" if clause.not_tested else ""
            yield f"| `{clause.id}` | {clause.level.value} | {sentence}{untested} |"
        yield ""


@click.command(name="tests.documents.clause_list")
def main() -> None:
    """Rewrite docs/clauses.md."""
    DOCUMENT.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
