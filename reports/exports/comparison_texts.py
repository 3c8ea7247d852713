"""A comparison as a table for the terminal, as Markdown and as JSON.

Listeners of a target are grouped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.table import Table
from rich.text import Text

from reports.exports.bounded_text import BoundedText
from reports.exports.comparison import TITLES, CellChange, ChangeKind, GridComparison
from reports.exports.issues import ViolatedClause, violation_documents
from reports.exports.summary_markdown import MAX_BYTES
from reports.grid.grid_view import verdict_text
from reports.records import Verdict
from reports.wording.escaping import cut, html_text, markdown_text, one_line
from reports.wording.markdown_table import table_head, table_row

COMPARISON_SCHEMA_VERSION = 1
"""Version of the layout of the JSON."""
LONG_KINDS = (ChangeKind.NEW, ChangeKind.GONE)
"""Kinds that are summarised per target if a target has many of them."""
_MANY_CELLS = 12
_FOLDED_FROM = 12
_KEPT_FOR_END = 256
_MAX_WHY = 60
_COLUMNS = ("clause", "level", "target", "listeners", "verdict", "why")
_WIDE = 140
_NAMED_LISTENERS = 2
_STYLES = {
    ChangeKind.REGRESSED: "bold red",
    ChangeKind.NEWLY_FLAKY: "yellow",
    ChangeKind.FIXED: "green",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """Changes that share a row: of one clause on several listeners, or of all clauses of one target."""

    clause: str
    level: str
    target: str
    listeners: tuple[str, ...]
    before: Verdict | None
    after: Verdict | None
    why: str
    cells: int

    @property
    def step(self) -> str:
        """The verdicts before and after, in the words of the grid."""
        before = verdict_text(self.before) if self.before else ""
        after = verdict_text(self.after) if self.after else ""
        return f"{before} → {after}" if before and after and before != after else before or after


def rows_of(comparison: GridComparison, kind: ChangeKind) -> list[ChangeRow]:
    """Return the changes of one kind as rows.

    Similar changes share a row. If a target has many new or gone cells, they all share one.
    """
    changes = comparison.of_kind(kind)
    of_target = Counter(change.target for change in changes)
    alike: dict[tuple[object, ...], list[CellChange]] = {}
    whole: dict[str, list[CellChange]] = {}
    for change in changes:
        if kind in LONG_KINDS and of_target[change.target] > _MANY_CELLS:
            whole.setdefault(change.target, []).append(change)
        else:
            key = (change.clause, change.target, change.before, change.after)
            alike.setdefault(key, []).append(change)
    return [*map(_row_of, alike.values()), *map(_row_of_target, whole.values())]


def _row_of(changes: Sequence[CellChange]) -> ChangeRow:
    first = changes[0]
    return ChangeRow(
        clause=first.clause,
        level=first.level,
        target=first.target,
        listeners=tuple(dict.fromkeys(change.listener for change in changes)),
        before=first.before,
        after=first.after,
        why=first.why,
        cells=len(changes),
    )


def _row_of_target(changes: Sequence[CellChange]) -> ChangeRow:
    violated = sum((each.after or each.before) is Verdict.VIOLATES for each in changes)
    words = f"{len(changes)} cells{f', {violated} violated' if violated else ''}"
    row = _row_of(changes)
    return replace(row, clause="(all clauses)", level="", before=None, after=None, why=words)


def comparison_tables(comparison: GridComparison, *, width: int) -> Iterator[Table]:
    """Yield one table per kind of change; names are plain text, never markup.

    If six columns would be too wide, pairs of columns are merged into one with two lines.
    """
    for kind in ChangeKind:
        rows = rows_of(comparison, kind)
        if not rows:
            continue
        table = Table(box=None, pad_edge=False, title_justify="left", title_style="")
        title = f"{TITLES[kind]} ({sum(row.cells for row in rows):,})"
        table.title = Text(title, _STYLES.get(kind, "bold"))
        is_wide = width >= _WIDE
        for name in _COLUMNS if is_wide else ("clause", "target", "verdict"):
            table.add_column(name, overflow="fold")
        for row in rows:
            texts = [cut(one_line(text), _MAX_WHY) for text in _row_texts(row)]
            pairs = ("\n".join(filter(None, pair)) for pair in zip(texts[::2], texts[1::2], strict=True))
            table.add_row(*(Text(text) for text in (texts if is_wide else pairs)))
        yield table


def _row_texts(row: ChangeRow) -> tuple[str, ...]:
    many = len(row.listeners) > _NAMED_LISTENERS
    where = f"{len(row.listeners)} listeners" if many else ", ".join(row.listeners)
    return (row.clause, row.level, row.target, where, row.step, row.why)


def comparison_markdown(comparison: GridComparison, names: tuple[str, str]) -> str:
    """Return the comparison for a pull request's comment; rows that do not fit are counted."""
    bounded = BoundedText(MAX_BYTES - _KEPT_FOR_END)
    before, after = (markdown_text(name) for name in names)
    bounded.add(["### Kafka conformance: what changed", "", f"**{markdown_text(comparison.sentence)}**"])
    bounded.add(["", f"From {before} to {after}."])
    bounded.add([f"- {markdown_text(line)}" for line in release_lines(comparison)])
    for kind in ChangeKind:
        _add_rows(bounded, kind, rows_of(comparison, kind))
    left = f"\n{bounded.left_out:,} more rows are left out for lack of space.\n" if bounded.left_out else ""
    return bounded.text() + left


def _add_rows(bounded: BoundedText, kind: ChangeKind, rows: Sequence[ChangeRow]) -> None:
    if not rows:
        return
    columns = ((row.clause, row.level, row.target, ", ".join(row.listeners), row.step, row.why) for row in rows)
    bounded.add_rows(
        html_text(f"{TITLES[kind]}: {sum(row.cells for row in rows):,}"),
        (table_row(map(markdown_text, texts)) for texts in columns),
        is_folded=len(rows) > _FOLDED_FROM or kind in LONG_KINDS,
        head=table_head(_COLUMNS),
    )


def release_lines(comparison: GridComparison) -> list[str]:
    """Return a sentence for each target that is compared with another release."""
    return [f"{newer} is compared with {older}." for newer, older in comparison.releases.items()]


def comparison_document(
    comparison: GridComparison, names: tuple[str, str], violations: Sequence[ViolatedClause]
) -> dict[str, Any]:
    """Return the comparison as one JSON object, with what is violated now and was not before, to open issues from."""
    return {
        "comparison_schema_version": COMPARISON_SCHEMA_VERSION,
        "before": names[0],
        "after": names[1],
        "sentence": comparison.sentence,
        "compared_cells": comparison.cells,
        "compared_releases": dict(comparison.releases),
        "changes": [{**asdict(change), "older_target": change.older_target or None} for change in comparison.changes],
        "violations": violation_documents(violations),
    }
