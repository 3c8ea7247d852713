"""The roll-up's counts equal those of DuckDB over the same Parquet files.

The test compares many generated rows.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from benchmarks.duckdb_grid import COUNTED_TABLES, by_key, counted_table
from tests.run_folders import clause_entry, planned_cell, run_header, target_entry, write_header
from tests.spark_aggregation.histories import refused_folders, tables_of

CLAUSES = [f"C.{number}" for number in range(12)]
ROWS_PER_RUN = 40_000
# Newest last. Later runs have fewer targets, and each target has runs that the grid does not show.
RUNS = [
    ("run-1", "2026-11-18T10:00:00+00:00", [f"apache-kafka-{number}.0.0" for number in range(8)]),
    ("run-2", "2026-11-19T10:00:00+00:00", [f"apache-kafka-{number}.0.0" for number in range(5)]),
    ("run-3", "2026-11-20T10:00:00+00:00", ["apache-kafka-1.0.0", "other-2.5"]),
    ("run-4", "2026-11-21T10:00:00+00:00", ["apache-kafka-2.0.0"]),
    ("cut-off", "2026-11-22T10:00:00+00:00", ["apache-kafka-3.0.0"]),
    ("short", "2026-11-23T10:00:00+00:00", ["apache-kafka-4.0.0"]),
]
REFUSED = ("cut-off", "short")
FLAKE_RATE = {"failed": 3, "repeats": 10, "rate": 0.3, "low": 0.1, "high": 0.6}

_GENERATE = """
COPY (
  WITH drawn AS (
    SELECT i, hash(i, '{run_id}') AS h, hash(i, '{run_id}', 'more') AS g FROM range({rows}) AS t(i)
  ), skewed AS (
    -- Squaring a uniform number puts half of the rows into the first tenth of the cells.
    SELECT *, CAST(floor(pow((h % 10000) / 10000.0, 2) * {cells}) AS INTEGER) AS cell FROM drawn
  )
  SELECT
    '{run_id}' AS run_id, DATE '{day}' + CAST(g % 2 AS INTEGER) AS run_date,
    p.target, 'x' AS implementation, 'x' AS release, 'process' AS launcher, p.listener,
    CAST(NULL AS VARCHAR) AS client, p.clause, concat('test_', g % 2) AS property, 'standard' AS tier,
    CASE WHEN g % 11 = 0 THEN 'shrink' ELSE 'generate' END AS phase,
    CAST(i AS INTEGER) AS example_number, concat('v', g % 4) AS request,
    ['answer', 'closed', 'ignored', 'silent', 'none'][1 + CAST(h % 5 AS INTEGER)] AS outcome,
    CASE WHEN h % 5 = 0 THEN CAST([0, 35, 42][1 + CAST(g % 3 AS INTEGER)] AS SMALLINT) END AS error_code,
    CASE WHEN g % 997 < cell % 5 THEN 'violates' WHEN cell % 7 = 3 AND g % 50 = 1
      THEN 'informational' WHEN cell % 9 = 4 AND g % 60 = 2 THEN 'inconclusive' ELSE 'conforms'
      END AS verdict,
    CASE WHEN g % 997 < cell % 5 THEN concat('f', g % 3)
      WHEN cell % 7 = 3 AND g % 50 = 1 THEN 'note' END AS failure_signature,
    CASE WHEN g % 13 > 0 THEN CAST(20 + g % 30 AS SMALLINT) END AS latency_bucket
  FROM skewed JOIN planned p ON p.place = skewed.cell WHERE p.applicable
) TO '{path}' (FORMAT parquet)
"""


def _plan(run_number: int, targets: list[str]) -> list[dict[str, object]]:
    """Return a run's planned cells: some do not apply, and some violations are declared."""
    columns = [(target, "plaintext") for target in targets] + [(targets[0], "controller")]
    return [
        planned_cell(
            clause,
            target,
            listener=listener,
            applicable=(number + column) % 6 != 0,
            known_violation="declared" if (number * 3 + column + run_number) % 5 == 0 else "",
            flaky=FLAKE_RATE if (number + 2 * column) % 4 == 0 else None,
            unproven="recurred in none of 3 repeats" if (number + column) % 5 == 0 else "",
        )
        for column, (target, listener) in enumerate(columns)
        for number, clause in enumerate(CLAUSES)
    ]


def _write_runs(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Write all runs; fill the table `planned` with the planned cells of the runs that count."""
    counting = []
    for number, (run_id, started_at, targets) in enumerate(RUNS):
        cells = _plan(number, targets)
        header = run_header(
            cells,
            run_id=run_id,
            started_at=started_at,
            clauses=[clause_entry(id_) for id_ in CLAUSES],
            targets=[target_entry(id_) for id_ in targets],
        )
        (root / run_id / "examples").mkdir(parents=True)
        rows = _write_rows(connection, root / run_id, header, len(cells))
        footer = {
            **header["footer"],
            "example_rows": rows + (run_id == "short"),
            "exit_status": 1,
        }
        if run_id == "cut-off":
            del header["footer"]
        else:
            header["footer"] = footer
        write_header(root / run_id, header)
        if run_id not in REFUSED:
            counting += [{**cell, "run_id": run_id, "started_at": started_at} for cell in cells]
    _make_planned(connection, counting)


def _write_rows(connection: duckdb.DuckDBPyConnection, folder: Path, header: dict[str, object], cells: int) -> int:
    planned = header["planned_cells"]
    assert isinstance(planned, list)
    # A third of the cells gets no rows: these are planned but never run.
    _make_planned(connection, [{**cell, "place": n} for n, cell in enumerate(planned) if n % 3])
    path = folder / "examples" / "part-0.parquet"
    connection.execute(
        _GENERATE.format(
            run_id=header["run_id"],
            day=str(header["started_at"])[:10],
            rows=ROWS_PER_RUN,
            cells=cells,
            path=path,
        )
    )
    counted = connection.execute("SELECT count(*) FROM read_parquet($1)", [str(path)]).fetchall()
    return int(counted[0][0])


def _make_planned(connection: duckdb.DuckDBPyConnection, cells: list[dict[str, object]]) -> None:
    names = list(cells[0])
    types = {"applicable": "BOOLEAN", "place": "INTEGER"}
    columns = ", ".join(f"{name} {types.get(name, 'VARCHAR')}" for name in names)
    connection.execute(f"CREATE OR REPLACE TABLE planned ({columns})")
    marks = ", ".join("?" for _ in names)
    connection.executemany(f"INSERT INTO planned VALUES ({marks})", [[cell[name] for name in names] for cell in cells])


@pytest.mark.nightly
def test_counted_tables_equal_duckdb_queries_over_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Over 10^5 skewed rows of six runs, two of them refused, the two engines agree to the last row."""
    connection = duckdb.connect()
    _write_runs(connection, tmp_path)
    assert set(refused_folders(spark, tmp_path)) == set(REFUSED)
    paths = [str(tmp_path / run_id / "examples" / "*.parquet") for run_id, _, _ in RUNS if run_id not in REFUSED]
    expected = {name: by_key(name, counted_table(connection, name, paths)) for name in COUNTED_TABLES}
    found = tables_of(spark, tmp_path)
    assert {name: by_key(name, found[name].toArrow()) for name in COUNTED_TABLES} == expected
    # Every verdict that a cell can get from examples occurs, so the comparison covers all of them.
    assert {cell["verdict"] for cell in expected["cells"].values()} == {
        *("conforms", "violates", "flaky", "informational", "inconclusive", "known_violation"),
        *("unexpected_pass", "not_applicable", "not_run"),
    }
