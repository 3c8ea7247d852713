"""Rules for brokers whose verdict in a grid differs between two releases."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from clauses.catalogue import Role
from reference_model.profiles.release_tables import RecordedRelease
from reports.grid.grid_view import FoldedGrid, ListenerCell, reason_text
from reports.records import (
    BROKEN_VERDICTS,
    UNSETTLED_VERDICTS,
    WORST_FIRST,
    Verdict,
)
from reports.release_changes.steps import last_with_zookeeper
from reports.tables.cell_rows import GridClause


class RuleKind(StrEnum):
    """How the verdict of a rule differs, the gravest first."""

    WORSE = "worse"
    OTHER = "otherwise different"
    BETTER = "better"
    APPLIES = "newly apply"
    ENDS = "no longer apply"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """One rule whose verdict differs.

    Attributes:
        kind: how its verdict differs.
        before: the verdict of the older release, over the listeners that both have.
        after: that of the newer one.
        why: why the newer one has its verdict; of a rule that was broken before only, why the older one had it.
    """

    clause: GridClause
    kind: RuleKind
    before: Verdict
    after: Verdict
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChanges:
    """The rules whose verdict differs, the gravest first.

    Attributes:
        changes: the rules that differ with the release.
        with_quorum: those that differ because one end has ZooKeeper and the other KRaft: the last release with both
            differs in the same way.
        compared: how many rules have a verdict on both.
        unclear: how many could not be judged on one of them.
        is_quorum_mixed: whether some may differ with the quorum and not with the release: the grid does not have the
            last release with both.
        absent: which of the releases the grid does not have, as the ids of targets; nothing is compared then.
    """

    changes: tuple[RuleChange, ...] = ()
    with_quorum: tuple[RuleChange, ...] = ()
    compared: int = 0
    unclear: int = 0
    is_quorum_mixed: bool = False
    absent: tuple[str, ...] = ()

    def of(self, kind: RuleKind) -> tuple[RuleChange, ...]:
        """Return the changes of one kind."""
        return tuple(change for change in self.changes if change.kind is kind)


def rule_changes(grid: FoldedGrid, before: RecordedRelease, after: RecordedRelease) -> RuleChanges:
    """Return the rules for brokers whose verdict differs on the listeners that both releases were judged on."""
    differences = _differences(grid, before, after)
    if before.quorum == after.quorum:
        return differences
    migration = _differences(grid, *last_with_zookeeper())
    moved = {(each.clause, each.before, each.after) for each in migration.changes}
    is_moved = [(each.clause, each.before, each.after) in moved for each in differences.changes]
    pairs = list(zip(differences.changes, is_moved, strict=True))
    return replace(
        differences,
        is_quorum_mixed=bool(migration.absent),
        changes=tuple(change for change, moves in pairs if not moves),
        with_quorum=tuple(change for change, moves in pairs if moves),
    )


def _differences(grid: FoldedGrid, before: RecordedRelease, after: RecordedRelease) -> RuleChanges:
    brokers = grid.by_role.get(Role.BROKER)
    columns = {} if brokers is None else {each.target: each for each in brokers.columns}
    absent = tuple(each.target for each in (before, after) if each.target not in columns)
    if brokers is None or absent:
        return RuleChanges(absent=absent)
    indexes = [list(columns).index(each.target) for each in (before, after)]
    shared = set.intersection(
        *({entry.listener for entry in columns[each.target].listeners} for each in (before, after))
    )
    compared, unclear, changes = 0, 0, []
    for clause in brokers.grid.clauses:
        old, new = (_worst(brokers.cells[clause.clause][index].listeners, shared) for index in indexes)
        if {old.verdict, new.verdict} & {*UNSETTLED_VERDICTS}:
            unclear += 1
            continue
        compared += 1
        if old.verdict is not new.verdict:
            changes.append(_rule_change(clause, old, new))
    order = list(RuleKind)
    return RuleChanges(
        changes=tuple(sorted(changes, key=lambda each: order.index(each.kind))),
        compared=compared,
        unclear=unclear,
    )


def _worst(cells: Sequence[ListenerCell], listeners: Set[str]) -> ListenerCell:
    """Return the cell with the worst verdict among those of some listeners."""
    own = [cell for cell in cells if cell.listener in listeners] or cells
    return min(own, key=lambda cell: WORST_FIRST.index(cell.verdict))


def _rule_change(clause: GridClause, old: ListenerCell, new: ListenerCell) -> RuleChange:
    kind = _rule_kind(old.verdict, new.verdict)
    decisive = old if kind is RuleKind.BETTER else new
    return RuleChange(
        clause=clause,
        kind=kind,
        before=old.verdict,
        after=new.verdict,
        why=decisive.reason or reason_text(decisive),
    )


def _rule_kind(before: Verdict, after: Verdict) -> RuleKind:
    if after in BROKEN_VERDICTS and before not in BROKEN_VERDICTS:
        return RuleKind.WORSE
    if before is Verdict.NOT_APPLICABLE:
        return RuleKind.APPLIES
    if after is Verdict.NOT_APPLICABLE:
        return RuleKind.ENDS
    if before in BROKEN_VERDICTS and after not in BROKEN_VERDICTS:
        return RuleKind.BETTER
    return RuleKind.OTHER
