"""The pages of rules, and one page that lists all rules.

The list has each rule's title, its source, and the worst verdict of each implementation.

On the page of each rule, who breaks it comes first, and releases that all keep it share a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from proposals import proposals
from reports.grid import addresses
from reports.grid.grid_tables import GridRange
from reports.grid.grid_view import (
    WITHOUT_FINDING,
    FoldedCell,
    FoldedGrid,
    ListenerCell,
    TargetColumn,
)
from reports.records import OPERATION, WORST_FIRST, Verdict
from reports.site.drill_down import ClauseHistory, in_order, listeners_of, page_of
from reports.site.grid_columns import (
    Block,
    FilterOption,
    blocks_of,
    choices,
    states_of,
    unless,
    worst_of,
)
from reports.site.rendering import Site, without_links
from reports.tables.cell_rows import GridClause
from reports.tables.target_names import implementation_name
from reports.verdict_labels import counted

_MIN_FOLDED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One implementation, and the page of the cell with its worst verdict; no address if that has none."""

    name: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One rule.

    Attributes:
        roles: whom it binds: "broker", "broker, client".
        verdicts: each verdict that is the worst of some implementation, with these; the worst first. An implementation
            to which the rule does not apply is left out.
        found: how many of its planted defects are always found, and of how many; None if it was not measured.
    """

    clause: GridClause
    roles: str
    verdicts: tuple[tuple[Verdict, tuple[Holder, ...]], ...]
    found: tuple[int, int] | None

    @property
    def classes(self) -> str:
        """The classes of its row, which the filters use."""
        names = [addresses.anchor(self.clause.level)]
        names += [f"binds-{role}" for role in self.roles.split(", ")]
        names += [f"has-{verdict}" for verdict, _ in self.verdicts]
        return " ".join(names)


def write_rules(site: Site) -> None:
    """Write rules.html."""
    rows = rules_of(site)
    sources: dict[str, list[RuleRow]] = {}
    for row in rows:
        sources.setdefault(row.clause.source, []).append(row)
    found = {verdict for row in rows for verdict, _ in row.verdicts}
    filters = (
        ("Verdict", states_of(found)),
        ("Level", choices("level", dict.fromkeys(row.clause.level for row in rows))),
        ("Binds", choices("role", dict.fromkeys(row.roles.split(", ")[0] for row in rows))),
        ("Source", choices("source", sources)),
    )
    site.render(
        addresses.RULES,
        "rules",
        sources=sources,
        filters=filters,
        source_ids={choice.value: choice.id for choice in filters[-1][1]},
        count=len(rows),
        measured=any(row.found for row in rows),
        rules="\n".join(_style_rules(filters)),
        proposals=[each for each in proposals() if each.page_link],
    )


def _style_rules(filters: Sequence[tuple[str, tuple[FilterOption, ...]]]) -> Iterator[str]:
    """Yield the style rules that hide what the filters exclude; see `grid_columns`."""
    (_, states), (_, levels), (_, roles), (_, sources) = filters
    kept = "".join(f",body:has({each.selector}) tr.has-{each.value}" for each in states)
    yield f"body:has([name=state]:checked) .clauses tr:not(.source{kept}){{display:none}}"
    kept = "".join(f",body:has({each.selector}) tr.binds-{each.value}" for each in roles)
    yield f"body:has([name=role]:checked) .clauses tr:not(.source{kept}){{display:none}}"
    for choice in levels:
        yield f"{unless(choice)} tr.{addresses.anchor(choice.value)}{{display:none}}"
    for choice in sources:
        yield f"{unless(choice)} {choice.rows}{{display:none}}"


def rules_of(site: Site) -> list[RuleRow]:
    """Return the rows of all rules of a grid, in its order; operations of clients are no rules."""
    found = _found_defects(site)
    grids = [folded for role, folded in site.folded.by_role.items() if role != OPERATION]
    return [
        RuleRow(
            clause=clause,
            roles=", ".join(site.folded.roles_of(clause.clause)),
            verdicts=_verdicts(grids, clause),
            found=found.get(clause.clause),
        )
        for clause in site.folded.grid.clauses
        if clause.role != OPERATION
    ]


def _found_defects(site: Site) -> Mapping[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for row in site.history.mutation or ():
        certain, total = found.get(row.clause, (0, 0))
        found[row.clause] = certain + row.certain, total + 1
    return found


def _verdicts(grids: Sequence[FoldedGrid], clause: GridClause) -> tuple[tuple[Verdict, tuple[Holder, ...]], ...]:
    cells: dict[str, list[FoldedCell]] = {}
    for folded in grids:
        for column, cell in zip(folded.columns, folded.cells.get(clause.clause, ()), strict=False):
            if not cell.is_blank:
                cells.setdefault(column.implementation, []).append(cell)
    by_verdict: dict[Verdict, list[Holder]] = {}
    for implementation, own in cells.items():
        worst, _ = worst_of(own)
        holder = Holder(name=implementation_name(implementation), href=page_of(worst, worst.worst))
        by_verdict.setdefault(worst.verdict, []).append(holder)
    return tuple(
        (verdict, tuple(by_verdict[verdict]))
        for verdict in WORST_FIRST
        if verdict in by_verdict and verdict is not Verdict.NOT_APPLICABLE
    )


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
    found: dict[tuple[Verdict, str, str], list[tuple[str, str, str]]] = {}
    for block in blocks_of(folded, 1):
        for column, cell in zip(block.columns, block.cells_of(folded.cells[clause]), strict=True):
            if cell.verdict in WITHOUT_FINDING:
                continue
            reason = next(iter(site.why(cell)), "")
            key = (cell.verdict, column.implementation, without_links(reason))
            page = addresses.cell_page(clause, column.target, cell.worst.listener)
            found.setdefault(key, []).append((column.name, page, reason))
    findings = [
        AlikeTargets(
            verdict=verdict,
            targets=tuple((name, page) for name, page, _ in targets),
            reason=targets[0][2],
        )
        for (verdict, _, _), targets in found.items()
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
