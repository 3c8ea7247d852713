"""Finds out whether the example rows of one run folder can be those of its header.

`spark_aggregation.reading.refusals` applies the same rules to many folders; a test checks that both agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.parquet as pq

from clauses.catalogue import Role
from reports.records import (
    EXAMPLE_FIELDS,
    EXAMPLE_VERDICTS,
    GATING_LEVELS,
    REFUSAL_OF_UNKNOWN,
    ColumnType,
    Phase,
    RunRefusal,
    Verdict,
)
from reports.refused_runs import MOST_NAMED, TESTS_FAILED

Fault = tuple[RunRefusal, str]
PHASES = tuple(Phase)


class RowKind(NamedTuple):
    """What the rules look at in a row; None where a row has nothing."""

    run_id: str | None
    clause: str | None
    target: str | None
    listener: str | None
    client: str | None
    verdict: str | None
    phase: str | None


def fault_of_rows(header: Mapping[str, Any], files: Iterable[Path]) -> Fault | None:
    """Find out why rows cannot be those of a run.

    Args:
        header: its `run.json`, which follows the schema and has a footer.
        files: its Parquet files of examples, within the limits of `reports.run_limits`.

    Returns:
        The kind of reason, and the reason as a sentence; None if there is none.
    """
    incomplete, kinds = 0, dict[RowKind, int]()
    for file in files:
        missing, found = _rows_of(file)
        incomplete += missing
        for kind, rows in found:
            kinds[kind] = kinds.get(kind, 0) + rows
    return next(_faults(header, kinds, incomplete), None)


def _rows_of(file: Path) -> tuple[int, list[tuple[RowKind, int]]]:
    """Return how many rows lack something that every row has, and of the others how many are of each kind."""
    schema = pq.read_schema(file)
    columns = [field for field in EXAMPLE_FIELDS if field.name in schema.names]
    # As numbers of a dictionary: a text that many rows repeat is in memory once.
    texts = [field.name for field in columns if field.type is ColumnType.STRING]
    table = pq.read_table(
        file, columns=[field.name for field in columns], read_dictionary=texts
    ).unify_dictionaries()
    rows = table.num_rows
    for field in columns:
        if not field.nullable:
            table = table.filter(pc.is_valid(table[field.name]))
    grouped = table.group_by(RowKind._fields).aggregate([([], "count_all")])
    kinds = [grouped[name].to_pylist() for name in RowKind._fields]
    counts = grouped["count_all"].to_pylist()
    return rows - table.num_rows, [
        (RowKind(*values), count)
        for values, count in zip(zip(*kinds, strict=True), counts, strict=True)
    ]


def _faults(
    header: Mapping[str, Any], kinds: Mapping[RowKind, int], incomplete: int
) -> Iterator[Fault]:
    cells = {
        (cell["clause"], cell["target"], cell["listener"]): cell for cell in header["planned_cells"]
    }
    cell_of = {kind: cells.get((kind.clause, kind.target, kind.listener)) for kind in kinds}
    for name, refusal in REFUSAL_OF_UNKNOWN.items():
        listed = {entry["id"] for entry in header[f"{name}s"]}
        unlisted = {getattr(kind, name) for kind, cell in cell_of.items() if cell is None} - listed
        if unlisted:
            found = _named(unlisted)
            yield refusal, f"it has rows of a {name} that its run.json does not list: {found}"
    wrong = incomplete + sum(
        rows
        for kind, rows in kinds.items()
        if cell_of[kind] is None
        or kind.run_id != header["run_id"]
        or kind.verdict not in EXAMPLE_VERDICTS
        or kind.phase not in PHASES
    )
    if wrong:
        yield (
            RunRefusal.INVALID_ROWS,
            (f"{wrong} example rows do not follow the record schema or belong to no planned cell"),
        )
    yield from ((RunRefusal.CONTRADICTION, reason) for reason in _contradictions(header, cell_of))


def _contradictions(
    header: Mapping[str, Any], cell_of: Mapping[RowKind, Mapping[str, Any] | None]
) -> Iterator[str]:
    of_brokers = any(clause["role"] == Role.BROKER.value for clause in header["clauses"])
    with_client = {kind.client is not None for kind in cell_of}
    if of_brokers and True in with_client:
        yield "its clauses are those of brokers, but its rows name clients"
    if not of_brokers and False in with_client:
        yield "its clauses are those of clients, but it has rows that name no client"
    status = header["footer"]["exit_status"]
    gating = {clause["id"] for clause in header["clauses"] if clause["level"] in GATING_LEVELS}
    violated = {
        str(kind.clause)
        for kind, cell in cell_of.items()
        if kind.verdict == Verdict.VIOLATES
        and kind.phase == Phase.GENERATE
        and not (cell and _is_excused(cell))
    }
    # The other way round is no contradiction: a run also ends with 1 because a declared violation is gone, or because a test
    # that belongs to no cell failed.
    if status != TESTS_FAILED and violated & gating:
        yield f"its exit status is {status}, but it has violations of {_named(violated & gating)}"


def _is_excused(cell: Mapping[str, Any]) -> bool:
    """Return whether violations of a cell leave the exit status as it is."""
    return (
        not cell["applicable"]
        or bool(cell["known_violation"])
        or cell.get("flaky") is not None
        or bool(cell.get("unproven"))
    )


def _named(ids: Iterable[Any]) -> str:
    return ", ".join(sorted(map(str, ids))[:MOST_NAMED])
