"""Plans the cells that a run will judge, from the properties that pytest collected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from clauses import marks
from clauses.catalogue import Clause, Role, catalogue
from conformance.engine.expectations import stale_expectations
from conformance.runs.run_identity import target_facts
from fixtures.client_plugin import ChosenClient
from fixtures.plugin import ListenerOfTarget
from fixtures.registry.targets import Target
from reports.plugin import clauses_of
from reports.records import PlannedCell
from reports.run.recorder import NOT_STARTED, CellKey, RunRecorder
from reports.run.run_writer import RunWriter, clause_facts


def is_judged(item: pytest.Item) -> bool:
    """Return whether an item is a property, that is, names clauses."""
    return next(item.iter_markers("clause"), None) is not None


def is_left_out(item: pytest.Item, tier: str) -> bool:
    """Return whether a tier excludes a property."""
    if tier == "gentle" and item.get_closest_marker(marks.MALFORMED):
        return True
    return tier != "deep" and any(map(item.get_closest_marker, (marks.STORED, marks.DEEP)))


def judges_client(item: pytest.Item) -> bool:
    """Return whether a property judges a client; otherwise it judges a broker."""
    return "client" in getattr(item, "fixturenames", ())


def listener_of(item: pytest.Item) -> ListenerOfTarget | ChosenClient:
    """Return the listener that a property is judged on, with its target, or the client that it judges."""
    chosen = item.callspec.params["client" if judges_client(item) else "broker"]  # type: ignore[attr-defined]
    assert isinstance(chosen, ListenerOfTarget | ChosenClient)
    return chosen


def planned_run(judged: Sequence[pytest.Item], writer: RunWriter, tier: str) -> RunRecorder:
    """Record the planned cells, in catalogue order, before anything is judged.

    Args:
        judged: the properties.
        writer: writes the run's folder.
        tier: the run's tier.
    """
    role = Role.CLIENT if any(map(judges_client, judged)) else Role.BROKER
    recorder = RunRecorder(writer, tier=tier, role=role.value)
    cells = {
        CellKey(planned.clause, planned.target, planned.listener): (planned, clause.level.value)
        for item in judged
        for clause in clauses_of(item)
        for planned in [_plan(clause, listener_of(item))]
    }
    named = {key.clause for key in cells}
    order = {clause.id: place for place, clause in enumerate(catalogue())}
    in_order = sorted(cells, key=lambda key: order[key.clause])
    targets = _targets(judged)
    recorder.plan(
        (cells[key] for key in in_order),
        [clause_facts(clause, role=role.value) for clause in catalogue() if clause.id in named],
        [target_facts(target, launcher=NOT_STARTED, artefacts={}) for target in targets],
    )
    recorder.stale_expectations = stale_expectations(targets)
    return recorder


def _targets(items: Iterable[pytest.Item]) -> list[Target]:
    """Return the targets of items, without duplicates."""
    return list({(target := listener_of(item).target).id: target for item in items}.values())


def _plan(clause: Clause, listener: ListenerOfTarget | ChosenClient) -> PlannedCell:
    return PlannedCell(
        clause=clause.id,
        target=listener.target.id,
        listener=listener.listener,
        known_violation="; ".join(
            known.note
            for known in listener.target.known_violations
            if known.holds_on(clause.id, listener.listener)
        ),
    )
