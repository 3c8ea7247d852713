"""The page that lists all rules.

The list has each rule's title, its source, and the worst verdict of each implementation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proposals import proposals
from reports.grid import addresses
from reports.grid.grid_view import FoldedCell, FoldedGrid
from reports.records import OPERATION, WORST_FIRST, Verdict
from reports.site.drill_down import by_clause, page_of
from reports.site.filters import choices, states_of
from reports.site.grid_columns import worst_of
from reports.site.rendering import Site
from reports.tables.cell_rows import GridClause
from reports.tables.target_names import implementation_name


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
        """The classes of its row, by which `site.js` filters."""
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
    verdicts = {verdict for row in rows for verdict, _ in row.verdicts}
    filters = (
        ("Verdict", states_of(verdicts)),
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
        proposals={each.source: each.load(each.page) for each in proposals() if each.page},
    )


def rules_of(site: Site) -> list[RuleRow]:
    """Return the rows of all rules of a grid, in its order; operations of clients are no rules."""
    defects = _found_defects(site)
    grids = [folded for role, folded in site.folded.by_role.items() if role != OPERATION]
    return [
        RuleRow(
            clause=clause,
            roles=", ".join(site.folded.roles_of(clause.clause)),
            verdicts=_verdicts(grids, clause),
            found=defects.get(clause.clause),
        )
        for clause in site.folded.grid.clauses
        if clause.role != OPERATION
    ]


def _found_defects(site: Site) -> Mapping[str, tuple[int, int]]:
    """Return by clause how many of its planted defects are certainly found, and how many it has."""
    rows_of = by_clause(site.history.mutation) or {}
    return {clause: (sum(row.certain for row in rows), len(rows)) for clause, rows in rows_of.items()}


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
