"""The page of each rule.

Who breaks it comes first, and releases that all keep it share a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reports.grid import addresses
from reports.grid.grid_tables import GridRange
from reports.grid.grid_view import (
    WITHOUT_FINDING,
    FoldedCell,
    FoldedGrid,
    ListenerCell,
    TargetColumn,
)
from reports.records import WORST_FIRST, Verdict
from reports.site.drill_down import ClauseHistory, in_order, listeners_of, page_of
from reports.site.grid_columns import Block, blocks_of
from reports.site.rendering import Site, without_links
from reports.tables.target_names import implementation_name
from reports.wording.verdict_labels import counted

_MIN_FOLDED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeTargets:
    """Targets of one implementation that share a verdict and its reason: name and page of each."""

    verdict: Verdict
    targets: tuple[tuple[str, str], ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseGroup:
    """Targets under one heading.

    Attributes:
        name: the heading.
        rows: the targets with their cells in the order of the listeners; None where a target has no such listener.
        verdict: the verdict that all their cells have, if one row can stand for them; else None.
        words: what that row says.
        anchors: the ids that lead to the cells that it stands for.
    """

    name: str
    rows: tuple[tuple[TargetColumn, FoldedCell, list[ListenerCell | None]], ...]
    verdict: Verdict | None
    words: str
    anchors: tuple[str, ...]


def write_clauses(site: Site) -> None:
    """Write clauses/<id>.html for every clause."""
    history = ClauseHistory.group(site)
    listeners = listeners_of(site)
    for clause in site.folded.grid.clauses:
        grids = [each for each in site.folded.by_role.values() if clause.clause in each.cells]
        site.render(
            addresses.clause_page(clause.clause),
            "clause",
            clause=clause,
            roles=site.folded.roles_of(clause.clause),
            statements=_statements(site.folded.ranges[clause.clause]),
            findings=[each for folded in grids for each in findings_of(site, folded, clause.clause)],
            listeners=listeners,
            groups=[
                _group(folded, block, clause.clause, listeners) for folded in grids for block in blocks_of(folded, 1)
            ],
            history=history[clause.clause],
            names={column.target: column.name for column in site.folded.columns},
            page_of=page_of,
        )


def _statements(entries: Iterable[GridRange]) -> list[tuple[str, str, str]]:
    """Return implementation, listeners and statement; listeners with the same statement are grouped."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        grouped.setdefault((entry.implementation, entry.statement), []).append(entry.listener)
    return [
        (implementation_name(implementation), ", ".join(listeners), statement)
        for (implementation, statement), listeners in grouped.items()
    ]


def findings_of(site: Site, folded: FoldedGrid, clause: str) -> list[AlikeTargets]:
    """Return what does not plainly conform, the worst first; other brokers come before Apache Kafka."""
    groups: dict[tuple[Verdict, str, str], list[tuple[str, str, str]]] = {}
    for block in blocks_of(folded, 1):
        for column, cell in zip(block.columns, block.cells_of(folded.cells[clause]), strict=True):
            if cell.verdict in WITHOUT_FINDING:
                continue
            reason = next(iter(site.why(cell)), "")
            key = (cell.verdict, column.implementation, without_links(reason))
            page = addresses.cell_page(clause, column.target, cell.worst.listener)
            groups.setdefault(key, []).append((column.name, page, reason))
    findings = [
        AlikeTargets(
            verdict=verdict,
            targets=tuple((name, page) for name, page, _ in targets),
            reason=targets[0][2],
        )
        for (verdict, _, _), targets in groups.items()
    ]
    return sorted(findings, key=lambda each: WORST_FIRST.index(each.verdict))


def _group(folded: FoldedGrid, block: Block, clause: str, listeners: tuple[str, ...]) -> ClauseGroup:
    cells = block.cells_of(folded.cells[clause])
    entries = [entry for cell in cells for entry in cell.listeners]
    same = {(entry.verdict, without_links(entry.reason), entry.is_blank) for entry in entries}
    shared = entries[0].verdict if len(same) == 1 and len(cells) >= _MIN_FOLDED else None
    return ClauseGroup(
        name=block.name,
        rows=tuple(
            (column, cell, in_order(cell, listeners)) for column, cell in zip(block.columns, cells, strict=True)
        ),
        verdict=shared if shared in WITHOUT_FINDING else None,
        words=_words(cells, entries),
        anchors=tuple(_anchors(cells)),
    )


def _words(cells: list[FoldedCell], entries: list[ListenerCell]) -> str:
    examples = sum(entry.row.examples for entry in entries if entry.row)
    where = f"{counted(len(cells), 'release')}, {counted(len(entries), 'listener')} in all"
    if entries[0].verdict is Verdict.CONFORMS:
        where += f", {counted(examples, 'example')}"
    return f"{where}. {entries[0].reason}".rstrip()


def _anchors(cells: list[FoldedCell]) -> Iterator[str]:
    for cell in cells:
        yield addresses.cell_anchor(cell.target)
        yield from (addresses.cell_anchor(cell.target, entry.listener) for entry in cell.listeners)
