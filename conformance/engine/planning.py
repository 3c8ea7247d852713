"""Planning of the cells that a run will judge.

The cells come from the properties that pytest collected. Declared violations are compared with them.

What a target inherits from the release that it is judged like is declared for that release, and has to be corrected
there: it is never out of date for the target, and if a violation is gone, the target is better than the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import pytest

from clauses import marks
from clauses.catalogue import Clause, catalogue
from clauses.clause_sets import EVERYTHING, ClauseSet
from clauses.operations import clause_or_row
from clauses.tiers import Tier
from conformance.runs.run_identity import target_facts
from fixtures.client.own_connection import StartOfBroker
from fixtures.registry.targets import KnownViolation, Target
from fixtures.run_size import Kind
from fixtures.under_test.judged_target import ChosenTarget
from reports.plugin import clauses_of
from reports.records import BROKEN_VERDICTS, PlannedCell, Verdict
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from reports.run.run_writer import NOT_STARTED, RunWriter, clause_facts
from strategies.hypothesis_adapter import Test, examples_since

StoredCheck = Callable[..., None]
"""Judges input that is not drawn: it takes the target, and the values that are stored with a failure."""
NOTHING_MALFORMED = "the run sends nothing malformed: see --malformed"


def is_judged(item: pytest.Item) -> bool:
    """Return whether an item is a property, that is, names clauses."""
    return next(item.iter_markers("clause"), None) is not None


def is_left_out(item: pytest.Item, tier: Tier, kind: Kind) -> bool:
    """Return whether the tier or the kind of what a run sends excludes a property."""
    if kind is not Kind.MALFORMED and item.get_closest_marker(marks.MALFORMED):
        return True
    if tier is Tier.SMOKE and item.get_closest_marker(marks.STANDARD):
        return True
    return tier is not Tier.DEEP and any(map(item.get_closest_marker, (marks.STORED, marks.DEEP)))


def is_malformed_alone(item: pytest.Item, tier: Tier, kind: Kind) -> bool:
    """Return whether a property is left out, and would not be if the run sent malformed requests too."""
    return is_left_out(item, tier, kind) and not is_left_out(item, tier, Kind.MALFORMED)


def chosen_of(item: pytest.Item) -> ChosenTarget:
    """Return what an item is about: a target with a listener, a client, or an operation of a client with a target."""
    parameters = item.callspec.params  # type: ignore[attr-defined]
    return next(value for value in parameters.values() if isinstance(value, ChosenTarget))


def checks_of(marked: Iterable[pytest.Mark]) -> tuple[StoredCheck, ...]:
    """Return the checks that a property makes of input that is not drawn, from its marks; `replay` makes them again."""
    of_list = (mark for mark in marked if mark.name in (marks.STORED, marks.SWEPT))
    return tuple(check for mark in of_list for check in mark.kwargs.get(marks.CHECKS, ()))


def newer_examples(test: Test, clause_set: ClauseSet) -> tuple[Mapping[str, Any], ...]:
    """Return the values of the pinned examples of a property that are newer than a set of clauses."""
    return tuple(values for since, values in examples_since(test) if clause_set.is_newer(since))


def newer_last(items: Iterable[pytest.Item], clause_set: ClauseSet) -> list[pytest.Item]:
    """Return properties with those last, on each listener, that the set does not ask for: they may end a target."""

    def is_newer(item: pytest.Item) -> bool:
        name = str(item.function.__name__)  # type: ignore[attr-defined]
        return all(clause_set.why_note(clause.id, name) for clause in clauses_of(item))

    return [item for _, group in groupby(items, key=chosen_of) for item in sorted(group, key=is_newer)]


def is_about(item: pytest.Item, target: Target) -> bool:
    """Return whether an item is a property that judges a target, on any of its listeners."""
    return is_judged(item) and chosen_of(item).target.id == target.id


def note_started(
    recorder: RunRecorder,
    target: Target,
    launcher: str,
    artefacts: Mapping[str, str],
    start: StartOfBroker | None = None,
) -> bool:
    """Record once how a target was started; return whether this was the first time."""
    if recorder.targets[target.id].launcher != NOT_STARTED:
        return False
    recorder.target_started(target_facts(target, launcher=launcher, artefacts=artefacts, start=start))
    return True


def planned_run(
    judged: Sequence[pytest.Item],
    writer: RunWriter,
    *,
    tier: str,
    role: str,
    malformed: Sequence[pytest.Item] = (),
    clause_set: ClauseSet = EVERYTHING,
) -> RunRecorder:
    """Record the planned cells, in the order of the catalogue or of the operations, before anything is judged.

    `malformed` are properties that are left out because they send malformed requests. A clause that has only such is
    n/a. What `clause_set` does not ask for comes last.
    """
    recorder = RunRecorder(writer, tier=tier, role=role, clause_set=clause_set)
    applying = _cells_of(judged, clause_set)
    cells = {**_cells_of(malformed, clause_set), **applying}
    order = {clause.id: index for index, clause in enumerate(catalogue())}
    # Rows of operations are not in the catalogue; they stay in the order in which they are tried.
    in_order = sorted(cells, key=lambda key: (bool(clause_set.why_not_asked(key.clause)), order.get(key.clause, 0)))
    named = dict.fromkeys(key.clause for key in in_order)
    targets = list({(target := chosen_of(item).target).id: target for item in judged}.values())
    recorder.plan(
        (cells[key] for key in in_order),
        [clause_facts(clause_set.as_asked(clause_or_row(id_)), role=role) for id_ in named],
        [target_facts(target, launcher=NOT_STARTED, artefacts={}) for target in targets],
    )
    for key in cells.keys() - applying.keys():
        recorder.not_applicable(key, NOTHING_MALFORMED)
    recorder.stale_expectations = stale_expectations(targets, clause_set)
    return recorder


def _cells_of(items: Iterable[pytest.Item], clause_set: ClauseSet) -> dict[CellKey, tuple[PlannedCell, str]]:
    """Return the cells of properties, each with the level of its clause."""
    return {
        CellKey(planned.clause, planned.target, planned.listener): (planned, clause.level.value)
        for item in items
        for clause in clauses_of(item)
        for planned in [_plan(clause, chosen_of(item), clause_set)]
    }


def _plan(clause: Clause, listener: ChosenTarget, clause_set: ClauseSet) -> PlannedCell:
    return PlannedCell(
        clause=clause.id,
        target=listener.target.id,
        listener=listener.listener,
        known_violation=declared_violations(listener.target, clause.id, listener.listener, clause_set),
    )


def declared_violations(target: Target, clause: str, listener: str, clause_set: ClauseSet) -> str:
    """Return why violations of a clause are declared for a listener of a target; empty if none is."""
    if clause_set.why_not_asked(clause):
        return ""
    return "; ".join(dict.fromkeys(known.note for known in target.known_violations if known.holds_on(clause, listener)))


def stale_expectations(targets: Iterable[Target], clause_set: ClauseSet = EVERYTHING) -> list[str]:
    """Describe the declared violations that have expired or whose clause does not exist.

    Those of clauses that the set does not ask for are left out.
    """
    today = datetime.now(UTC).date()
    stale = []
    for target in targets:
        for known in _own_declarations(target, clause_set):
            if known.clause not in catalogue():
                stale.append(f"{target.id} declares {known.clause}, which is not in the catalogue")
            elif known.expires <= today:
                stale.append(f"the declaration of {known.clause} on {target.id} expired on {known.expires}")
    return stale


def drop_unneeded(recorder: RunRecorder, targets: Iterable[Target]) -> None:
    """Drop the declarations that targets inherit, from the cells whose clause holds."""
    for target in targets:
        for key, cell in recorder.cells.items():
            if key.target != target.id or cell.verdict is not Verdict.UNEXPECTED_PASS:
                continue
            declared = [known for known in target.known_violations if known.holds_on(key.clause, key.listener)]
            if not all(known.inherited_from for known in declared):
                continue
            recorder.mark_undeclared(key)
            sources = {known.inherited_from for known in declared if not known.is_baseline}
            if sources:
                recorder.note_left_out(
                    key,
                    f"the violation that is declared for {', '.join(sorted(sources))} was not found",
                )


def unmatched_expectations(recorder: RunRecorder, targets: Iterable[Target]) -> Iterator[str]:
    """Describe the declared violations that matched nothing in a run that judged their clause.

    A declaration whose clause holds is excluded: that is an unexpected pass. So are the lines of a baseline, because
    which of a cell's failures are seen may depend on what is drawn.
    """
    for target in targets:
        for known in _own_declarations(target, recorder.clause_set):
            if known.is_baseline:
                continue
            for listener in set(known.listeners) - set(target.listeners):
                yield f"{target.id} declares {known.clause} on the listener {listener}, which it does not have"
            verdicts = {
                cell.verdict
                for key, cell in recorder.cells.items()
                if key.target == target.id and known.holds_on(key.clause, key.listener)
            }
            reason = _why_unmatched(recorder, target, known, verdicts)
            if reason:
                yield f"{target.id} declares {known.clause}, {reason}"


def _why_unmatched(recorder: RunRecorder, target: Target, known: KnownViolation, verdicts: set[Verdict]) -> str:
    if verdicts == {Verdict.NOT_APPLICABLE}:
        return "which does not apply to it"
    if verdicts.isdisjoint(BROKEN_VERDICTS) or (target.id, known) in recorder.matched_expectations:
        return ""
    return f"but no failure matches {known.match!r}"


def _own_declarations(target: Target, clause_set: ClauseSet) -> Iterator[KnownViolation]:
    """Yield the declarations of a target that it does not inherit, without those that the set does not ask for."""
    return (
        known
        for known in target.known_violations
        if not known.inherited_from and not (known.clause in catalogue() and clause_set.why_not_asked(known.clause))
    )
