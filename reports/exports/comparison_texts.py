"""A comparison as a report and as JSON.

Listeners of a target are grouped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from reports.document.blocks import (
    Block,
    BulletList,
    CellLines,
    Document,
    ListItem,
    Section,
    Sentence,
    Strong,
    TextTable,
)
from reports.exports.comparison import TITLES, CellChange, ChangeKind, GridComparison
from reports.exports.issues import ViolatedClause, violation_documents
from reports.grid.grid_view import verdict_text
from reports.records import VIOLATED_VERDICTS, Verdict
from reports.wording.escaping import cut, one_line
from reports.wording.verdict_labels import counted

COMPARISON_SCHEMA_VERSION = 1
"""Version of the layout of the JSON."""
LONG_KINDS = (ChangeKind.NEW, ChangeKind.GONE)
"""Kinds that are summarised per target if a target has many of them."""
_MANY_CELLS = 12
_FOLDED_FROM = 12
_MAX_WHY = 60
_COLUMNS = ("clause", "level", "target", "listeners", "verdict", "why")
_WIDE = 140
_NAMED_LISTENERS = 2
_VERDICTS = {
    ChangeKind.REGRESSED: Verdict.VIOLATES,
    ChangeKind.NEWLY_FLAKY: Verdict.FLAKY,
    ChangeKind.FIXED: Verdict.CONFORMS,
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
    single: list[CellChange] = []
    whole: dict[str, list[CellChange]] = {}
    for change in changes:
        if kind in LONG_KINDS and of_target[change.target] > _MANY_CELLS:
            whole.setdefault(change.target, []).append(change)
        else:
            single.append(change)
    return [*_rows_of_listeners(single), *map(_row_of_target, whole.values())]


def _rows_of_listeners(changes: Iterable[CellChange]) -> list[ChangeRow]:
    """Return a row for each clause that changed in the same way on several listeners of a target."""
    alike: dict[tuple[object, ...], list[CellChange]] = {}
    for change in changes:
        alike.setdefault((change.clause, change.target, change.before, change.after), []).append(change)
    return [*map(_row_of, alike.values())]


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


def comparison_report(comparison: GridComparison, names: tuple[str, str], *, width: int | None = None) -> Document:
    """Return the comparison as a report, the most serious first.

    Args:
        comparison: the comparison.
        names: of both grids.
        width: columns of a terminal, where long texts are cut, and the most serious comes last, because a user looks
            there first; None for a form that has all of them.
    """
    releases = tuple(ListItem(f"{newer} is compared with {older}.") for newer, older in comparison.releases.items())
    sentence = Sentence(Strong(comparison.sentence))
    compared: list[Block] = [Sentence(f"From {names[0]} to {names[1]}.")]
    compared += [BulletList(releases)] if releases else []
    sections = [_section(kind, rows, width) for kind in ChangeKind if (rows := rows_of(comparison, kind))]
    return Document(
        title="Kafka conformance: what changed",
        blocks=(sentence, *compared, *sections) if width is None else (*compared, *reversed(sections), sentence),
    )


def pull_request_report(comparison: GridComparison, names: tuple[str, str]) -> Document:
    """Return the three lists of a pull request: what is newly violated, what no longer is, and what else changed.

    Args:
        comparison: of the base branch's run with that of the pull request.
        names: of both runs.
    """
    lists: dict[str, list[CellChange]] = {"New red": [], "Gone": [], "Changed": []}
    for change in comparison.changes:
        was_red, is_red = change.before in VIOLATED_VERDICTS, change.after in VIOLATED_VERDICTS
        lists["Changed" if was_red == is_red else "New red" if is_red else "Gone"].append(change)
    counts = ", ".join(f"{len(changes)} {title.lower()}" for title, changes in lists.items())
    return Document(
        title="Kafka conformance: compared with the base branch",
        blocks=(
            Sentence(Strong(f"Cells: {counts}.")),
            Sentence(f"From {names[0]} to {names[1]}."),
            *(_pull_request_section(title, _rows_of_listeners(each)) for title, each in lists.items() if each),
        ),
    )


def _pull_request_section(title: str, rows: Sequence[ChangeRow]) -> Section:
    return Section(
        title=f"{title}: {sum(row.cells for row in rows):,}", blocks=(_table(rows),), is_folded=title == "Changed"
    )


def _section(kind: ChangeKind, rows: Sequence[ChangeRow], width: int | None) -> Section:
    return Section(
        title=f"{TITLES[kind]}: {sum(row.cells for row in rows):,}",
        blocks=(_table(rows) if width is None else _terminal_table(rows, width),),
        verdict=_VERDICTS.get(kind),
        is_folded=len(rows) > _FOLDED_FROM or kind in LONG_KINDS,
    )


def _table(rows: Sequence[ChangeRow]) -> TextTable:
    return TextTable(
        columns=_COLUMNS,
        rows=tuple((row.clause, row.level, row.target, ", ".join(row.listeners), row.step, row.why) for row in rows),
    )


def _terminal_table(rows: Sequence[ChangeRow], width: int) -> TextTable:
    """Return the table for a terminal; if six columns would be too wide, pairs become one column with two lines."""
    short = [
        replace(row, listeners=(counted(len(row.listeners), "listener"),))
        if len(row.listeners) > _NAMED_LISTENERS
        else row
        for row in rows
    ]
    texts = [tuple(cut(one_line(str(text)), _MAX_WHY) for text in row) for row in _table(short).rows]
    if width >= _WIDE:
        return TextTable(columns=_COLUMNS, rows=tuple(texts))
    pairs = (zip(row[::2], row[1::2], strict=True) for row in texts)
    return TextTable(
        columns=("clause", "target", "verdict"),
        rows=tuple(tuple(CellLines(tuple(filter(None, pair))) for pair in row) for row in pairs),
    )


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
