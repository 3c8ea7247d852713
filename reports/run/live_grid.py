"""A run in progress as a grid of its current verdicts."""

from __future__ import annotations

from datetime import UTC, datetime

from reports.grid.grid_tables import Grid
from reports.records import Verdict
from reports.run.judged_examples import CellKey
from reports.run.recorder import Cell, RunRecorder
from reports.tables.cell_rows import CellFailure, GridCell, GridClause, violations_first
from reports.tables.target_rows import GridTarget


def recorded_grid(recorder: RunRecorder) -> Grid:
    """Return a run's current cells as a grid, in the order of its plan; fields not shown stay empty."""
    started_at = datetime.now(UTC)
    columns = dict.fromkeys((key.target, key.listener) for key in recorder.cells)
    levels = {key.clause: cell.level for key, cell in recorder.cells.items()}
    return Grid(
        cells=tuple(_cell(recorder, key, cell) for key, cell in recorder.cells.items()),
        targets=tuple(_target(recorder, *column, started_at) for column in columns),
        clauses=tuple(
            GridClause(
                clause=clause,
                position=position,
                role=recorder.role,
                level=level,
                source=clause.rpartition(".")[0],
                statement="",
                location="",
                meaning="",
            )
            for position, (clause, level) in enumerate(levels.items())
        ),
        ranges=(),
        runs=(),
        refused=(),
        crashes=frozenset(
            signature
            for cell in recorder.cells.values()
            for signature, failure in cell.failures.items()
            if failure.is_crash
        ),
    )


def _cell(recorder: RunRecorder, key: CellKey, cell: Cell) -> GridCell:
    return GridCell(
        **key._asdict(),
        run_id=recorder.writer.run_id,
        verdict=cell.verdict,
        applicable=cell.planned.applicable,
        reason=cell.reason,
        known_violation=cell.known_violation,
        examples=cell.verdicts.total(),
        conforms=cell.verdicts[Verdict.CONFORMS],
        violates=cell.verdicts[Verdict.VIOLATES],
        informational=cell.verdicts[Verdict.INFORMATIONAL],
        inconclusive=cell.verdicts[Verdict.INCONCLUSIVE],
        distinct_failures=len(cell.violations),
        failures=violations_first(
            CellFailure(
                signature=signature,
                verdict=Verdict(failure.verdict),
                smallest_example=0,
                examples=0,
            )
            for signature, failure in cell.failures.items()
        ),
    )


def _target(recorder: RunRecorder, target: str, listener: str, started_at: datetime) -> GridTarget:
    facts = recorder.targets.get(target)
    return GridTarget(
        target=target,
        listener=listener,
        implementation=facts.implementation if facts else target,
        release=facts.release if facts else "",
        release_order=(),
        launcher=facts.launcher if facts else "",
        artefacts={},
        run_id=recorder.writer.run_id,
        started_at=started_at,
        role=recorder.role,
        language=facts.language if facts else None,
        like=facts.like if facts else None,
        commit=facts.commit if facts else None,
        ready_ms=facts.ready_ms if facts else None,
        until_ready=facts.until_ready if facts else None,
    )
