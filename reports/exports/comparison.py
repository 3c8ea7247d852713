"""Differences between two grids: two runs, or two nights.

The kinds are those of the roll-up's transitions and three more: new cells, gone cells, and the same verdict for another
reason. If each grid has one target of a product that the other lacks, these are two releases of it, and are compared
with each other.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reports.grid.grid_tables import Grid
from reports.records import UNSETTLED_VERDICTS, TransitionKind, Verdict, gates, transition_kind
from reports.run.judged_examples import CellKey
from reports.tables.cell_rows import GridCell
from reports.wording.verdict_labels import SYMBOLS, counted, some_of


class ChangeKind(enum.StrEnum):
    """How a cell changed, the gravest first."""

    REGRESSED = TransitionKind.REGRESSED.value
    NEWLY_FLAKY = TransitionKind.NEWLY_FLAKY.value
    CHANGED = TransitionKind.CHANGED.value
    REASON = "other_reason"
    FIXED = TransitionKind.FIXED.value
    NEW = "new"
    GONE = "gone"


TITLES: Mapping[ChangeKind, str] = {
    ChangeKind.REGRESSED: "Regressed",
    ChangeKind.NEWLY_FLAKY: "Newly flaky",
    ChangeKind.CHANGED: "Otherwise changed",
    ChangeKind.REASON: "Same verdict, other reason",
    ChangeKind.FIXED: "Fixed",
    ChangeKind.NEW: "New",
    ChangeKind.GONE: "Gone",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """One changed cell, with its fields in the order of the JSON.

    `before` or `after` is None if only the other grid has the cell.

    Attributes:
        kind: how it changed.
        level: the level of its clause, such as MUST.
        older_target: the other release that the target is compared with; empty if it is compared with itself.
        why: the reason of its verdict now, if it has one, else the reason before.
        gates: whether a violation of its clause fails a run.
    """

    kind: ChangeKind
    clause: str
    level: str
    target: str
    older_target: str = ""
    listener: str
    before: Verdict | None
    after: Verdict | None
    why: str

    @property
    def gates(self) -> bool:
        """Whether a violation of its clause fails a run."""
        return gates(self.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridComparison:
    """All changes, the gravest first, then in the order of the grid.

    Attributes:
        cells: how many cells are in both grids.
        releases: maps each target that is compared with another release of the same product to that one.
    """

    changes: tuple[CellChange, ...]
    cells: int
    releases: Mapping[str, str] = field(default_factory=dict)

    def of_kind(self, kind: ChangeKind) -> tuple[CellChange, ...]:
        """Return the changes of one kind."""
        return tuple(change for change in self.changes if change.kind is kind)

    @property
    def regressed(self) -> tuple[CellChange, ...]:
        """The changes for the worse that fail a run: violated now, always or sometimes, and not before."""
        worse = (ChangeKind.REGRESSED, ChangeKind.NEWLY_FLAKY)
        return tuple(change for change in self.changes if change.kind in worse and change.gates)

    @property
    def no_longer_judged(self) -> tuple[CellChange, ...]:
        """The cells that had a verdict and have none now, of clauses whose violation fails a run."""
        return tuple(
            change
            for change in self.changes
            if change.gates and change.after in UNSETTLED_VERDICTS and change.before not in (None, *UNSETTLED_VERDICTS)
        )

    @property
    def lost(self) -> tuple[CellChange, ...]:
        """The cells that had a verdict, and that the other grid lacks."""
        return tuple(change for change in self.of_kind(ChangeKind.GONE) if change.before not in UNSETTLED_VERDICTS)

    @property
    def sentence(self) -> str:
        """The most important result, in one sentence."""
        counts = Counter(change.kind for change in self.changes)
        others = ", ".join(f"{counts[kind]} {TITLES[kind].lower()}" for kind in ChangeKind if counts[kind])
        if not self.cells:
            return (
                f"{SYMBOLS[Verdict.INCONCLUSIVE]} Nothing could be compared, as no cell is in both "
                f"(cells: {others or 'none'})."
            )
        if self.regressed:
            clauses = len({change.clause for change in self.regressed})
            targets = len({change.target for change in self.regressed})
            return (
                f"{SYMBOLS[Verdict.VIOLATES]} {counted(clauses, 'binding clause')} regressed on "
                f"{counted(targets, 'target')} (cells: {others})."
            )
        if self.no_longer_judged:
            return (
                f"{SYMBOLS[Verdict.INCONCLUSIVE]} {counted(len(self.no_longer_judged), 'cell')} of binding clauses "
                f"can no longer be judged (cells: {others})."
            )
        if not others:
            return f"{SYMBOLS[Verdict.CONFORMS]} Nothing changed in {counted(self.cells, 'cell')}."
        clauses_gone = [*dict.fromkeys(change.clause for change in self.lost)]
        lost = f", but judged cells are gone: {some_of(clauses_gone, 2)}" if clauses_gone else ""
        return f"{SYMBOLS[Verdict.CONFORMS]} No binding clause regressed{lost} (cells: {others})."


def compare(before: Grid, after: Grid) -> GridComparison:
    """Return how the second grid differs from the first."""
    levels = {clause.clause: clause.level for grid in (before, after) for clause in grid.clauses}
    releases = _releases(before, after)
    newer = {older: target for target, older in releases.items()}
    was, is_now = _cells(before, newer), _cells(after, {})
    order = list(ChangeKind)
    changes = (
        replace(change, older_target=releases.get(change.target, "")) for change in _changes(was, is_now, levels)
    )
    return GridComparison(
        changes=tuple(sorted(changes, key=lambda change: order.index(change.kind))),
        cells=len(was.keys() & is_now.keys()),
        releases=releases,
    )


def _releases(before: Grid, after: Grid) -> Mapping[str, str]:
    """Map the only target of a product that is new to the only one of it that is gone."""
    old, new = ({each.target: each.implementation for each in grid.targets} for grid in (before, after))
    gone = _by_implementation({target: old[target] for target in old if target not in new})
    come = _by_implementation({target: new[target] for target in new if target not in old})
    return {
        come[implementation][0]: gone[implementation][0]
        for implementation in come.keys() & gone.keys()
        if len(come[implementation]) == len(gone[implementation]) == 1
    }


def _by_implementation(targets: Mapping[str, str]) -> Mapping[str, list[str]]:
    targets_of: dict[str, list[str]] = {}
    for target, implementation in targets.items():
        targets_of.setdefault(implementation, []).append(target)
    return targets_of


def _cells(grid: Grid, names: Mapping[str, str]) -> Mapping[CellKey, GridCell]:
    """Return the cells by their keys, with other names for some targets."""
    return {CellKey(cell.clause, names.get(cell.target, cell.target), cell.listener): cell for cell in grid.cells}


def _changes(
    was: Mapping[CellKey, GridCell], is_now: Mapping[CellKey, GridCell], levels: Mapping[str, str]
) -> Iterator[CellChange]:
    for key in [*is_now, *(key for key in was if key not in is_now)]:
        before, after = was.get(key), is_now.get(key)
        kind = _kind(before, after)
        if kind is not None:
            yield CellChange(
                **key._asdict(),
                level=levels[key.clause],
                kind=kind,
                before=before.verdict if before else None,
                after=after.verdict if after else None,
                why=_why(after) or _why(before),
            )


def _kind(before: GridCell | None, after: GridCell | None) -> ChangeKind | None:
    if after is None:
        return ChangeKind.GONE
    if before is None:
        return ChangeKind.NEW
    if before.verdict is after.verdict:
        return ChangeKind.REASON if _reason(before) != _reason(after) else None
    return ChangeKind(transition_kind(before.verdict, after.verdict))


def _reason(cell: GridCell) -> tuple[str, str, Sequence[str]]:
    """Return the reason of a verdict, to be compared.

    Its failures count only for an undeclared violation: elsewhere they vary with the examples that chance draws.
    """
    is_undeclared = cell.verdict is Verdict.VIOLATES
    signatures = sorted(failure.signature for failure in cell.violations) if is_undeclared else ()
    return cell.known_violation, cell.reason, signatures


def _why(cell: GridCell | None) -> str:
    if cell is None:
        return ""
    if cell.why:
        return cell.why
    count = cell.distinct_failures
    if count:
        return f"{counted(count, 'distinct failure')} in {counted(cell.examples, 'example')}"
    return ""
