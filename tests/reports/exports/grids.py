"""Grids for tests of the exports, and a renderer of Markdown.

One grid is small. In another, every name and message is hostile. The renderer is a third party's.
"""

from __future__ import annotations

from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from reports.exports.writing import write_exports
from reports.grid.grid_reading import read_grid
from reports.grid.grid_summary import summarise
from reports.grid.grid_view import FoldedGrid
from reports.grid.history_tables import read_history_tables
from tests.reports.roll_up_tables import (
    RUN_ID,
    cell_row,
    clause_row,
    failure_row,
    target_row,
    write_tables,
)

NEW, OLD = "apache-kafka-4.4.0", "apache-kafka-3.9.2"
CLAUSE, OTHER = "KIP-511.names-refused", "KIP-35.keys-unique"
SIGNATURE = "0123456789abcdef"
HOSTILE = (
    '=cmd|"/c calc"!A1 @everyone #1 https://evil.example www.evil.example ``` | <script>alert(1)</script>'
    " ]]> --> </title> \x1b[2J\x00\x9b31m\u202egnp \\| [x](javascript:y) &amp; ~~~ \ufffe\r\nend"
)
"""A name that acts as markup or code in some format wherever it is not escaped."""
TERMINAL_ESCAPES = ("\x1b", "\x00", "\x9b", "\u202e", "\ufffe")
"""Characters of `HOSTILE` that must not be written unchanged."""
CAME = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)


def transition_row(clause: str, target: str, kind: str, **changes: Any) -> dict[str, Any]:
    """Return one row of the transitions."""
    return {
        "clause": clause,
        "target": target,
        "listener": "plaintext",
        "at": CAME,
        "run_id": RUN_ID,
        "from_verdict": None if kind == "appeared" else "conforms",
        "to_verdict": "violates",
        "kind": kind,
    } | changes


def small_tables(out_dir: Path) -> Path:
    """Write the tables of two clauses on two targets; the older one violates a MUST on one listener."""
    return write_tables(
        out_dir,
        targets=[target_row(OLD), target_row(OLD, listener="ssl"), target_row(NEW)],
        clauses=[clause_row(CLAUSE), clause_row(OTHER, 1, level="SHOULD")],
        cells=[
            cell_row(CLAUSE, OLD),
            cell_row(CLAUSE, OLD, "violates", listener="ssl", failures=[SIGNATURE]),
            cell_row(CLAUSE, NEW, "known_violation", known_violation="open as KAFKA-1"),
            cell_row(OTHER, OLD, "violates"),
            cell_row(OTHER, NEW, "not_applicable", reason="it lists nothing"),
        ],
        transitions=[
            transition_row(CLAUSE, OLD, "regressed", listener="ssl"),
            transition_row(CLAUSE, OLD, "regressed", listener="plaintext"),
            transition_row(CLAUSE, NEW, "appeared"),
            transition_row(OTHER, NEW, "appeared"),
        ],
        failures=[failure_row(SIGNATURE, CLAUSE, OLD, listener="ssl")],
    )


def newer_grid(folder: Path) -> Path:
    """Write a grid of one cell that differs in a clause newer than the set of clauses that its run was judged by."""
    return write_tables(
        folder,
        targets=[target_row(NEW)],
        clauses=[clause_row(CLAUSE)],
        cells=[cell_row(CLAUSE, NEW, "informational", reason="newer than set 0.1")],
    )


def hostile_tables(out_dir: Path, **failure: str) -> Path:
    """Write tables with hostile text wherever a target can choose the text, and in more places."""
    return write_tables(
        out_dir,
        targets=[target_row(HOSTILE, implementation=HOSTILE, release=HOSTILE, launcher=HOSTILE)],
        clauses=[clause_row(CLAUSE, statement=HOSTILE, meaning=HOSTILE, location=HOSTILE)],
        cells=[cell_row(CLAUSE, HOSTILE, "violates", reason=HOSTILE, failures=[SIGNATURE])],
        refused=[{"folder": HOSTILE, "refusal": "cut_off", "reason": HOSTILE}],
        transitions=[transition_row(CLAUSE, HOSTILE, "regressed")],
        failures=[
            failure_row(
                *(SIGNATURE, CLAUSE, HOSTILE),
                **{"message": HOSTILE, "hex_dump": HOSTILE, "reproducer": HOSTILE, **failure},
            )
        ],
    )


def export(out_dir: Path) -> Path:
    """Write the exports of a folder with tables, and return the folder."""
    folded, history = FoldedGrid(read_grid(out_dir)), read_history_tables(out_dir)
    summary = summarise(folded, out_dir / "index.html", history.failures)
    write_exports(folded, history, summary, out_dir)
    return out_dir


class RenderedTags(HTMLParser):
    """Collects the tags, links and comments of rendered Markdown."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.comments: list[str] = []
        self.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag, and the target of its link."""
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_comment(self, data: str) -> None:
        """Record a comment."""
        self.comments.append(data)


EXPECTED_TAGS = {
    *("h3", "h4", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "blockquote"),
    *("details", "summary", "pre", "code", "a", "ul", "li"),
}
"""Tags that the suite's Markdown uses."""
