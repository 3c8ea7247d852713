"""Changes of verdicts are named as in the comparison of two grids.

A new night is appended to the known changes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

from pyspark.sql import DataFrame, SparkSession

from reports.records import Verdict, transition_kind
from spark_aggregation.tables.transitions import (
    append_transitions,
    cell_ages,
    reopened_columns,
    transitions_between,
)

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


def test_every_pair_of_verdicts_has_one_name(spark: SparkSession) -> None:
    """Whatever the verdicts, the transitions between two runs have the kind that a comparison of two grids gives
    them."""
    assert _kinds_in_spark(spark) == {clause: transition_kind(*pair).value for pair, clause in CLAUSE_OF.items()}


def test_expectation_that_is_not_needed_any_more_is_a_fix(spark: SparkSession) -> None:
    """A declared violation that is gone counts as fixed: the clause holds, and only the declaration is out of date."""
    kinds = _kinds_in_spark(spark)
    assert kinds[CLAUSE_OF[Verdict.KNOWN_VIOLATION, Verdict.UNEXPECTED_PASS]] == "fixed"
    assert kinds[CLAUSE_OF[Verdict.UNEXPECTED_PASS, Verdict.KNOWN_VIOLATION]] == "changed"
    assert kinds[CLAUSE_OF[Verdict.CONFORMS, Verdict.UNEXPECTED_PASS]] == "changed"


def _night(number: int) -> datetime:
    return FIRST_NIGHT + timedelta(days=number)


def test_only_a_changed_past_reopens_a_column(spark: SparkSession) -> None:
    """A run that is late or no longer supplies its column does; a newer one, or one that does not count, does not."""
    runs: dict[str, list[tuple[str, int, bool | None, bool]]] = {
        "newer": [("r1", 1, True, True), ("r2", 2, None, True)],
        "late": [("r1", 2, True, True), ("r2", 1, None, True)],
        "late by id": [("r1", 1, None, True), ("r2", 1, True, True)],
        "late for nothing": [("r1", 2, True, True), ("r2", 1, None, False)],
        "later than all that count": [("r1", 3, False, False), ("r2", 2, None, True)],
        "corrected": [("r1", 1, True, False), ("r2", 2, None, True)],
        "supplies again": [("r1", 1, False, True), ("r2", 2, True, True)],
        "known": [("r1", 1, False, False), ("r2", 2, True, True)],
        "new": [("r1", 1, None, True)],
    }
    columns = spark.createDataFrame(
        [
            (target, LISTENER, run, _night(night), supplied_before, supplies)
            for target, own in runs.items()
            for run, night, supplied_before, supplies in own
        ],
        "target string, listener string, run_id string, started_at timestamp, supplied_before boolean, supplies boolean",
    )
    reopened = sorted(row.target for row in reopened_columns(columns).collect())
    assert reopened == ["corrected", "late", "late by id", "supplies again"]


def _transitions(spark: SparkSession, *rows: tuple[str, int, str, str | None, str]) -> DataFrame:
    """Return transitions, each given as clause, night, run, verdict before and verdict."""
    return spark.createDataFrame(
        [(clause, TARGET, LISTENER, _night(night), run, *verdicts, "") for clause, night, run, *verdicts in rows],
        "clause string, target string, listener string, at timestamp, run_id string, "
        "from_verdict string, to_verdict string, kind string",
    )


def test_a_night_is_appended_to_the_last_verdicts(spark: SparkSession) -> None:
    """A new verdict is compared with the last one of its cell, and one that stays the same adds nothing."""
    known = _transitions(
        spark,
        ("C.broken", 1, "r1", None, "violates"),
        ("C.broken", 2, "r2", "violates", "conforms"),
        ("C.same", 1, "r1", None, "conforms"),
        ("C.not-judged", 1, "r1", None, "conforms"),
    )
    nights = [
        ("C.broken", 3, "r3", "violates"),
        ("C.broken", 4, "r4", "conforms"),
        ("C.same", 3, "r3", "conforms"),
        ("C.first", 3, "r3", "conforms"),
    ]
    new_cells = spark.createDataFrame(
        [(run, clause, TARGET, LISTENER, _night(night), now) for clause, night, run, now in nights],
        "run_id string, clause string, target string, listener string, started_at timestamp, verdict string",
    )
    added = append_transitions(known, new_cells).drop("target", "listener", "at").collect()
    assert sorted(tuple(row) for row in added) == [
        ("C.broken", "r3", "conforms", "violates", "regressed"),
        ("C.broken", "r4", "violates", "conforms", "fixed"),
        ("C.first", "r3", None, "conforms", "appeared"),
    ]


def test_age_of_a_cell_is_that_of_its_transitions(spark: SparkSession) -> None:
    """The first one is when it was first seen, and the last one names the previous verdict."""
    transitions = _transitions(
        spark,
        ("C.a", 1, "r1", None, "violates"),
        ("C.a", 3, "r3", "conforms", "flaky"),
        ("C.a", 2, "r2", "violates", "conforms"),
        ("C.b", 2, "r2", None, "conforms"),
    )
    ages = cell_ages(transitions).selectExpr(
        *("clause", "datediff(last_changed, first_seen) AS days", "previous_verdict")
    )
    assert sorted(tuple(row) for row in ages.collect()) == [
        ("C.a", 2, "conforms"),
        ("C.b", 0, None),
    ]
