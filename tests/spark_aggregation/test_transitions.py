"""The roll-up and the comparison of two grids call a change by the same name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

from pyspark.sql import SparkSession

from reports.exports.comparison import compare
from reports.grid.grid_tables import Grid, read_grid
from reports.records import Verdict
from spark_aggregation.tables.transitions import transitions_between
from tests.reports.roll_up_tables import cell_row, clause_row, target_row, write_tables

TARGET, LISTENER = "apache-kafka-4.4.0", "plaintext"
CLAUSE_OF = {
    pair: f"KIP-1.pair-{number}"
    for number, pair in enumerate(pair for pair in product(Verdict, Verdict) if pair[0] != pair[1])
}
"""A clause for each ordered pair of different verdicts, which it has in two runs."""
FIRST_NIGHT = datetime(2026, 11, 20, 2, tzinfo=UTC)


def _kinds_in_spark(spark: SparkSession) -> dict[str, str]:
    rows = [
        (clause, TARGET, LISTENER, f"r{night}", FIRST_NIGHT + timedelta(days=night), verdict.value)
        for pair, clause in CLAUSE_OF.items()
        for night, verdict in enumerate(pair)
    ]
    cells = spark.createDataFrame(
        rows,
        "clause string, target string, listener string, run_id string, started_at timestamp, verdict string",
    )
    changes = transitions_between(cells).where("from_verdict IS NOT NULL")
    return {row.clause: row.kind for row in changes.collect()}


def _grid(folder: Path, place: int) -> Grid:
    write_tables(
        folder,
        targets=[target_row(TARGET)],
        clauses=[
            clause_row(clause, position) for position, clause in enumerate(CLAUSE_OF.values())
        ],
        cells=[
            cell_row(clause, TARGET, verdict=pair[place].value)
            for pair, clause in CLAUSE_OF.items()
        ],
    )
    return read_grid(folder)


def _kinds_in_comparison(folder: Path) -> dict[str, str]:
    comparison = compare(_grid(folder / "before", 0), _grid(folder / "after", 1))
    return {change.clause: change.kind.value for change in comparison.changes}


def test_every_pair_of_verdicts_has_one_name(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the verdicts, the transitions between two runs and the comparison of their grids have the same kind."""
    kinds = _kinds_in_spark(spark)
    assert kinds.keys() == set(CLAUSE_OF.values())
    assert _kinds_in_comparison(tmp_path) == kinds


def test_expectation_that_is_not_needed_any_more_is_a_fix(spark: SparkSession) -> None:
    """A declared violation that is gone counts as fixed: the clause holds, and only the declaration is out of date."""
    kinds = _kinds_in_spark(spark)
    assert kinds[CLAUSE_OF[Verdict.KNOWN_VIOLATION, Verdict.UNEXPECTED_PASS]] == "fixed"
    assert kinds[CLAUSE_OF[Verdict.UNEXPECTED_PASS, Verdict.KNOWN_VIOLATION]] == "changed"
    assert kinds[CLAUSE_OF[Verdict.CONFORMS, Verdict.UNEXPECTED_PASS]] == "changed"
