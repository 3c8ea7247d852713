"""Clients of which a run judged nothing that counts: such a run is no success, and one sentence says why."""

from __future__ import annotations

from clauses.catalogue import Level, Role
from reports.escaping import printable
from reports.records import Verdict
from reports.run.recorder import RunRecorder

NOT_CHOSEN = "none of those that were chosen applies to it"


def vacuous_clients(recorder: RunRecorder) -> dict[str, str]:
    """Return a sentence for each client to which no MUST of the plan applied, by its id."""
    if recorder.role != Role.CLIENT:
        return {}
    musts: dict[str, set[Verdict]] = {}
    for key, cell in recorder.cells.items():
        if cell.level == Level.MUST:
            musts.setdefault(key.target, set()).add(cell.verdict)
    return {
        target: f"No MUST was judged of {printable(target)}: {recorder.stopped_short.get(target) or NOT_CHOSEN}."
        for target, verdicts in musts.items()
        if verdicts == {Verdict.NOT_APPLICABLE}
    }
