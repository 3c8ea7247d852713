"""DuckDB's computation of a grid's tables, a reference for the roll-up.

The roll-up's speed is measured against it, and its tables are checked against it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from reports.records import HEADER_FILE

_ROWS = """
WITH rows AS (
  SELECT * FROM read_parquet($paths)
), latest AS (
  SELECT target, listener, max({'s': started_at, 'r': run_id}).r AS run_id FROM planned GROUP BY ALL
)
"""
_CELLS = """
, counted AS (
  SELECT run_id, clause, target, listener,
    count(*) FILTER (phase = 'generate') AS examples,
    count(*) FILTER (phase = 'generate' AND verdict = 'conforms') AS conforms,
    count(*) FILTER (phase = 'generate' AND verdict = 'violates') AS violates,
    count(*) FILTER (phase = 'generate' AND verdict = 'informational') AS informational,
    count(*) FILTER (phase = 'generate' AND verdict = 'inconclusive') AS inconclusive
  FROM rows GROUP BY ALL
), failed AS (
  SELECT run_id, clause, target, listener,
    count(*) FILTER (verdict = 'violates') AS distinct_failures,
    list({'signature': failure_signature, 'verdict': verdict, 'smallest_example': smallest,
      'examples': n} ORDER BY failure_signature, verdict) AS failures
  FROM (
    SELECT run_id, clause, target, listener, failure_signature, verdict,
      min(example_number) AS smallest, count(*) AS n
    FROM rows WHERE failure_signature IS NOT NULL GROUP BY ALL
  ) GROUP BY ALL
)
SELECT clause, target, listener, run_id,
  CASE WHEN NOT applicable THEN 'not_applicable'
    WHEN coalesce(examples, 0) = 0 THEN 'not_run'
    WHEN violates > 0 AND known_violation = '' AND unproven <> '' THEN 'inconclusive'
    WHEN violates > 0 AND known_violation = '' AND flaky IS NOT NULL THEN 'flaky'
    WHEN violates > 0 AND known_violation = '' THEN 'violates'
    WHEN inconclusive > 0 THEN 'inconclusive'
    WHEN violates > 0 THEN 'known_violation'
    WHEN known_violation <> '' THEN 'unexpected_pass'
    WHEN informational > 0 THEN 'informational'
    ELSE 'conforms' END AS verdict,
  coalesce(examples, 0) AS examples, coalesce(conforms, 0) AS conforms,
  coalesce(violates, 0) AS violates, coalesce(informational, 0) AS informational,
  coalesce(inconclusive, 0) AS inconclusive, coalesce(distinct_failures, 0) AS distinct_failures,
  coalesce(failures, []) AS failures
FROM planned JOIN latest USING (target, listener, run_id)
  LEFT JOIN counted USING (run_id, clause, target, listener)
  LEFT JOIN failed USING (run_id, clause, target, listener)
"""
_COVERAGE = """
SELECT clause, property, listener, request, count(DISTINCT target) AS targets, count(*) AS examples,
  count(*) FILTER (outcome = 'answer') AS answered,
  count(*) FILTER (outcome = 'closed') AS closed,
  count(*) FILTER (outcome = 'ignored') AS ignored,
  count(*) FILTER (outcome = 'silent') AS silent,
  count(*) FILTER (outcome = 'none') AS none,
  coalesce(list_sort(list(DISTINCT error_code) FILTER (error_code IS NOT NULL)), []) AS error_codes
FROM rows JOIN latest USING (target, listener, run_id)
WHERE phase = 'generate' GROUP BY clause, property, listener, request
"""
_LATENCY = """
SELECT target, listener, latency_bucket AS bucket, count(*) AS examples
FROM rows JOIN latest USING (target, listener, run_id)
WHERE phase = 'generate' AND latency_bucket IS NOT NULL GROUP BY ALL
"""
_QUERIES = {"cells": _CELLS, "coverage": _COVERAGE, "latency": _LATENCY}
_KEYS = {
    "cells": ("clause", "target", "listener"),
    "coverage": ("clause", "property", "listener", "request"),
    "latency": ("target", "listener", "bucket"),
}
_OF_CELLS = (
    *("clause", "target", "listener", "run_id", "verdict", "examples", "conforms", "violates"),
    *("informational", "inconclusive", "distinct_failures", "failures"),
)
"""The columns of a cell that both engines compute; the roll-up has more, which do not come from rows."""

COUNTED_TABLES = tuple(_QUERIES)
"""The tables of a grid that are computed from every example row."""
Rows: TypeAlias = Mapping[tuple[str | int, ...], Mapping[str, Any]]
"""The rows of a table by its key."""


def duckdb_tables(runs: Path, *, threads: int, names: Sequence[str] = COUNTED_TABLES) -> Mapping[str, pa.Table]:
    """Compute tables, among `COUNTED_TABLES`, from runs that all count."""
    planned = [
        {
            "run_id": header["run_id"],
            "started_at": header["started_at"],
            "flaky": None,
            "unproven": "",
            **cell,
        }
        for header in (json.loads(path.read_bytes()) for path in runs.glob(f"*/{HEADER_FILE}"))
        for cell in header["planned_cells"]
    ]
    with duckdb.connect(config={"threads": threads}) as connection:
        connection.register("planned", pa.Table.from_pylist(planned))
        paths = [str(runs / "*" / "examples" / "*.parquet")]
        return {name: counted_table(connection, name, paths) for name in names}


def counted_table(connection: duckdb.DuckDBPyConnection, name: str, paths: Sequence[str]) -> pa.Table:
    """Compute one of `COUNTED_TABLES` from example rows.

    Args:
        connection: has a table `planned` with the planned cells of the rows' runs, each with `run_id` and `started_at`.
        name: the table's name.
        paths: paths of the Parquet files; patterns are allowed.
    """
    return connection.sql(_ROWS + _QUERIES[name], params={"paths": list(paths)}).to_arrow_table()


def by_key(name: str, table: pa.Table) -> Rows:
    """Return the rows of one of `COUNTED_TABLES` from either engine by their key, for a comparison."""
    columns = _OF_CELLS if name == "cells" else table.column_names
    rows = table.select(list(columns)).to_pylist()
    return {tuple(row[column] for column in _KEYS[name]): row for row in rows}
