"""The cells of a grid by another engine: what the roll-up is measured against, and checked with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

_CELLS = """
WITH rows AS (
  SELECT * FROM read_parquet($paths)
), latest AS (
  SELECT target, listener, max({'s': started_at, 'r': run_id}).r AS run_id FROM planned GROUP BY ALL
), counted AS (
  SELECT run_id, clause, target, listener,
    count(*) FILTER (phase = 'generate') AS examples,
    count(*) FILTER (phase = 'generate' AND verdict = 'conforms') AS conforms,
    count(*) FILTER (phase = 'generate' AND verdict = 'violates') AS violates,
    count(*) FILTER (phase = 'generate' AND verdict = 'informational') AS informational,
    count(*) FILTER (phase = 'generate' AND verdict = 'inconclusive') AS inconclusive
  FROM rows GROUP BY ALL
), failed AS (
  SELECT run_id, clause, target, listener,
    list({'signature': failure_signature, 'smallest_example': smallest, 'examples': n}
      ORDER BY failure_signature) AS failures
  FROM (
    SELECT run_id, clause, target, listener, failure_signature, min(example_number) AS smallest,
      count(*) AS n
    FROM rows WHERE failure_signature IS NOT NULL GROUP BY ALL
  ) GROUP BY ALL
)
SELECT clause, target, listener, run_id,
  CASE WHEN NOT applicable THEN 'not_applicable'
    WHEN coalesce(examples, 0) = 0 THEN 'not_run'
    WHEN violates > 0 AND known_violation = '' AND flaky IS NOT NULL THEN 'flaky'
    WHEN violates > 0 AND known_violation = '' THEN 'violates'
    WHEN inconclusive > 0 THEN 'inconclusive'
    WHEN violates > 0 THEN 'known_violation'
    WHEN known_violation <> '' THEN 'unexpected_pass'
    WHEN informational > 0 THEN 'informational'
    ELSE 'conforms' END AS verdict,
  coalesce(examples, 0) AS examples, coalesce(conforms, 0) AS conforms,
  coalesce(violates, 0) AS violates, coalesce(informational, 0) AS informational,
  coalesce(inconclusive, 0) AS inconclusive, coalesce(failures, []) AS failures
FROM planned JOIN latest USING (target, listener, run_id)
  LEFT JOIN counted USING (run_id, clause, target, listener)
  LEFT JOIN failed USING (run_id, clause, target, listener)
"""
COLUMNS = (
    *("clause", "target", "listener", "run_id", "verdict", "examples", "conforms", "violates"),
    *("informational", "inconclusive", "failures"),
)
"""What both engines say of a cell."""
Cells: TypeAlias = Mapping[tuple[str, ...], Mapping[str, Any]]
"""Cells by clause, target and listener."""


def duckdb_cells(runs: Path, *, threads: int) -> pa.Table:
    """Compute the cells of runs of which every one counts.

    Args:
        runs: folder of run folders.
        threads: how many cores are used.
    """
    planned = [
        {"run_id": header["run_id"], "started_at": header["started_at"], "flaky": None, **cell}
        for header in (json.loads(path.read_bytes()) for path in runs.glob("*/run.json"))
        for cell in header["planned_cells"]
    ]
    with duckdb.connect(config={"threads": threads}) as connection:
        connection.register("planned", pa.Table.from_pylist(planned))
        return cells_of(connection, [str(runs / "*" / "examples" / "*.parquet")])


def cells_of(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> pa.Table:
    """Compute the cells of example rows.

    Args:
        connection: in it a table `planned` has the planned cells of the rows' runs, each with `run_id` and `started_at`.
        paths: of the Parquet files; patterns are allowed.
    """
    return connection.sql(_CELLS, params={"paths": list(paths)}).to_arrow_table()


def by_cell(cells: pa.Table) -> Cells:
    """Give rows by their cell, for a comparison."""
    rows = cells.select(list(COLUMNS)).to_pylist()
    return {(row["clause"], row["target"], row["listener"]): row for row in rows}
