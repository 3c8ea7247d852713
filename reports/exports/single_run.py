"""One run folder as a grid, without Spark.

It is for reports about one run, or a comparison of two.

Which of several runs supplies a column is the roll-up's rule (`spark_aggregation.tables.run_selection`), not repeated
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from reports.grid.grid_tables import Grid
from reports.records import EXAMPLE_VERDICTS, Phase, Verdict
from reports.run.judged_examples import CellKey
from reports.run.run_folder import Header, read_run_header, verdict_of
from reports.tables.cell_rows import CellFailure, GridCell, GridClause, violations_first
from reports.tables.run_rows import GridRun
from reports.tables.target_rows import GridTarget

_KEYS = ["clause", "target", "listener", "phase", "verdict", "failure_signature"]
_LEADING_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")

Groups = Mapping[CellKey, list[Mapping[str, Any]]]


def grid_of_run(folder: Path) -> Grid:
    """Return a run as a grid of its targets; it has no range statements.

    Raises:
        RunRefused: the folder does not count; the exception says why.
    """
    header = read_run_header(folder)
    groups = _groups(folder)
    cells = [_cell(planned, header["run_id"], groups) for planned in header["planned_cells"]]
    return Grid(
        cells=tuple(cells),
        targets=tuple(_targets(header)),
        clauses=tuple(
            GridClause(
                clause=entry["id"],
                position=position,
                **{name: entry[name] for name in ("role", "level", "source")},
                **{name: entry[name] for name in ("statement", "location", "meaning")},
            )
            for position, entry in enumerate(header["clauses"])
        ),
        ranges=(),
        runs=(_run(folder, header),),
        refused=(),
    )


def _groups(folder: Path) -> Groups:
    """Count the examples of each cell by phase, verdict and failure."""
    rows_by_cell: dict[CellKey, list[Mapping[str, Any]]] = {}
    for part in sorted(folder.glob("examples/*.parquet")):
        table = pq.read_table(part, columns=[*_KEYS, "example_number"])
        counted = table.group_by(_KEYS).aggregate([("example_number", "min"), ("example_number", "count")])
        for row in counted.to_pylist():
            key = CellKey(row["clause"], row["target"], row["listener"])
            rows_by_cell.setdefault(key, []).append(row)
    return rows_by_cell


def _cell(planned: Mapping[str, Any], run_id: str, groups: Groups) -> GridCell:
    key = CellKey(planned["clause"], planned["target"], planned["listener"])
    rows = groups.get(key, [])
    counts = dict.fromkeys(EXAMPLE_VERDICTS, 0)
    for row in rows:
        if row["phase"] == Phase.GENERATE.value:
            counts[Verdict(row["verdict"])] += row["example_number_count"]
    failures = _failures(rows)
    return GridCell(
        clause=key.clause,
        target=key.target,
        listener=key.listener,
        run_id=run_id,
        verdict=verdict_of(planned, {verdict for verdict, count in counts.items() if count}),
        applicable=planned["applicable"],
        reason=planned["reason"],
        known_violation=planned["known_violation"],
        examples=sum(counts.values()),
        conforms=counts[Verdict.CONFORMS],
        violates=counts[Verdict.VIOLATES],
        informational=counts[Verdict.INFORMATIONAL],
        inconclusive=counts[Verdict.INCONCLUSIVE],
        distinct_failures=sum(each.verdict is Verdict.VIOLATES for each in failures),
        failures=failures,
    )


def _failures(rows: list[Mapping[str, Any]]) -> tuple[CellFailure, ...]:
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["failure_signature"] is not None:
            grouped.setdefault((row["failure_signature"], row["verdict"]), []).append(row)
    return violations_first(
        CellFailure(
            signature=signature,
            verdict=Verdict(verdict),
            smallest_example=min(row["example_number_min"] for row in alike),
            examples=sum(row["example_number_count"] for row in alike),
        )
        for (signature, verdict), alike in sorted(grouped.items())
    )


def _targets(header: Header) -> Iterator[GridTarget]:
    facts = {target["id"]: target for target in header["targets"]}
    columns = dict.fromkeys((cell["target"], cell["listener"]) for cell in header["planned_cells"])
    for target, listener in columns:
        known = facts[target]
        numbers = _LEADING_NUMBERS.match(known["release"])
        yield GridTarget(
            target=target,
            listener=listener,
            implementation=known["implementation"],
            release=known["release"],
            release_order=tuple(int(part) for part in numbers[0].split(".")) if numbers else (),
            launcher=known["launcher"],
            artefacts=known["artefacts"],
            run_id=header["run_id"],
            started_at=datetime.fromisoformat(header["started_at"]),
            role=header["clauses"][0]["role"],
            language=known.get("language"),
            like=known.get("like"),
            commit=known.get("commit"),
            judged_by_owner=known.get("judged_by_owner"),
        )


def _run(folder: Path, header: Header) -> GridRun:
    suite, host, footer = header["suite"], header["host"], header["footer"]
    return GridRun(
        run_id=header["run_id"],
        folder=str(folder),
        in_grid=True,
        started_at=datetime.fromisoformat(header["started_at"]),
        finished_at=datetime.fromisoformat(footer["finished_at"]),
        exit_status=footer["exit_status"],
        example_rows=footer["example_rows"],
        exchange_rows=footer["exchange_rows"],
        tier=header["tier"],
        seed=header.get("seed"),
        suite_version=suite["version"],
        suite_commit=suite.get("commit"),
        catalogue_sha256=suite["catalogue_sha256"],
        python=suite["python"],
        hypothesis=suite["hypothesis"],
        system=host["system"],
        machine=host["machine"],
        cpus=host["cpus"],
        load_at_start=host.get("load_at_start"),
        highest_load=host.get("highest_load"),
        clause_set=header.get("clause_set"),
        whole=header.get("whole") is not False,
        corrects=header.get("corrects"),
    )
