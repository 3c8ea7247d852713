"""A grid of two releases for tests of upgrades.

It has rules of brokers and operations of clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reports.grid.grid_reading import read_grid
from reports.grid.grid_view import FoldedGrid
from tests.reports.roll_up_tables import (
    RUN_ID,
    cell_row,
    clause_row,
    failure_row,
    run_row,
    target_row,
    write_tables,
)

OLD, NEW = "apache-kafka-2.3.1", "apache-kafka-4.4.0"
OPERATIONS = "20261121T150000Z-0a0b0c0d"
Verdicts = Mapping[str, tuple[str, str]]
"""By row: the verdicts of the older and of the newer release."""


def tables_of_two_releases(out_dir: Path, *, rules: Verdicts, operations: Verdicts) -> Path:
    """Write a roll-up with both releases; the newer one has a controller as well, which violates every rule."""
    rows = {**dict.fromkeys(rules, "broker"), **dict.fromkeys(operations, "operation")}
    runs = {"broker": RUN_ID, "operation": OPERATIONS}
    given = {"broker": rules, "operation": operations}
    targets = [
        target_row(target, role=role, run_id=runs[role]) for role in runs if given[role] for target in (OLD, NEW)
    ]
    judged = [
        (row, target, "plaintext", verdict, runs[role])
        for role, of_role in given.items()
        for row, verdicts in of_role.items()
        for target, verdict in zip((OLD, NEW), verdicts, strict=True)
        if verdict
    ]
    if rules:
        targets.append(target_row(NEW, listener="controller"))
        judged += [(rule, NEW, "controller", "violates", RUN_ID) for rule in rules]
    failures = {each: f"{number:016x}" for number, each in enumerate(judged)}
    cells = [
        cell_row(
            *(row, target, verdict),
            **{"listener": listener, "run_id": run_id, "reason": f"why {verdict}"},
            failures=[failures[row, target, listener, verdict, run_id]] if verdict == "violates" else [],
        )
        for row, target, listener, verdict, run_id in judged
    ]
    return write_tables(
        out_dir,
        runs=[run_row(), run_row(run_id=OPERATIONS)],
        targets=targets,
        clauses=[clause_row(row, index, role=role) for index, (row, role) in enumerate(rows.items())],
        cells=cells,
        failures=[
            failure_row(signature, row, target, listener=listener, run_id=run_id)
            for (row, target, listener, verdict, run_id), signature in failures.items()
            if verdict == "violates"
        ],
    )


def grid_of_two_releases(
    out_dir: Path, *, rules: Verdicts | None = None, operations: Verdicts | None = None
) -> FoldedGrid:
    """Return the same as a grid."""
    folder = tables_of_two_releases(out_dir, rules=rules or {}, operations=operations or {})
    return FoldedGrid(read_grid(folder))
