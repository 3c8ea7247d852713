"""Which run supplies a column is decided by class, start and corrections, whatever the order of arrival."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_aggregation.columns import (
    STANDING_DAYS,
    columns_of_runs,
    giving_columns,
    shown_runs,
)

FIRST = datetime(2026, 3, 1, 4, tzinfo=UTC)
TWO_WEEKS = timedelta(days=14)
SECOND = timedelta(seconds=1)
NOW = timedelta(0)


class Run(NamedTuple):
    """A run's row of one column.

    Attributes:
        run_id: its id.
        after: the time between `FIRST` and its start.
        run_class: its class.
        corrects: the run that it corrects.
        gave: whether it supplied its column before; None if it is new.
        target: the target that it judged.
        role: the role of its clauses.
    """

    run_id: str
    after: timedelta = NOW
    run_class: int = 3
    corrects: str | None = None
    gave: bool | None = None
    target: str = "t"
    role: str = "broker"


def columns_frame(spark: SparkSession, *runs: Run) -> DataFrame:
    """Return the columns of runs, as the state keeps them."""
    rows = [(run.run_id, run.target, "l", run.role, FIRST + run.after, *run[2:5]) for run in runs]
    return spark.createDataFrame(
        rows,
        "run_id string, target string, listener string, role string, started_at timestamp, "
        "run_class int, corrects string, gave boolean",
    )


def giving(spark: SparkSession, *runs: Run, since: timedelta | None = None) -> list[str]:
    """Return the ids of the runs that supply a column, sorted."""
    start = None if since is None else int((FIRST + since).timestamp())
    found = giving_columns(columns_frame(spark, *runs), since=start).where("gives").collect()
    return sorted(row.run_id for row in found)


def test_classes_rank_complete_runs_before_full_tiers(spark: SparkSession) -> None:
    """A complete smoke run ranks above a partial standard run; a run that does not say so is complete."""
    kinds = [
        ("whole-deep", True, "deep"),
        ("unsaid-standard", None, "standard"),
        ("whole-smoke", True, "smoke"),
        ("part-standard", False, "standard"),
        ("part-smoke", False, "smoke"),
    ]
    rows = [
        (name, ("2026-03-01T05:00:00+01:00", whole, tier, None, [("client",)], [("t", "l")] * 2))
        for name, whole, tier in kinds
    ]
    headers = spark.createDataFrame(
        rows,
        "run_id string, header struct<started_at: string, whole: boolean, tier: string, "
        "corrects: string, clauses: array<struct<role: string>>, "
        "planned_cells: array<struct<target: string, listener: string>>>",
    )
    columns = columns_of_runs(headers).selectExpr(
        *("run_id", "target", "listener", "role", "unix_seconds(started_at) AS start"),
        *("run_class", "corrects"),
    )
    shared = ("t", "l", "client", int(FIRST.timestamp()))
    assert sorted(tuple(row) for row in columns.collect()) == [
        ("part-smoke", *shared, 0, None),
        ("part-standard", *shared, 1, None),
        ("unsaid-standard", *shared, 3, None),
        ("whole-deep", *shared, 3, None),
        ("whole-smoke", *shared, 2, None),
    ]


@pytest.mark.parametrize(
    ("after", "run_class", "supplies"),
    [
        pytest.param(TWO_WEEKS, 2, False, id="lower-class-at-14-days"),
        pytest.param(TWO_WEEKS + SECOND, 2, True, id="lower-class-later"),
        pytest.param(SECOND, 3, True, id="same-class"),
        pytest.param(-SECOND, 2, True, id="lower-class-before"),
        pytest.param(NOW, 2, False, id="lower-class-at-once"),
    ],
)
def test_a_run_keeps_its_column_for_two_weeks(
    spark: SparkSession, after: timedelta, run_class: int, supplies: bool
) -> None:
    """Only runs of a lower class have to wait."""
    assert timedelta(days=STANDING_DAYS) == TWO_WEEKS
    expected = ["first", "other"] if supplies else ["first"]
    assert giving(spark, Run("first"), Run("other", after, run_class)) == expected


def test_a_run_stands_only_in_its_own_column(spark: SparkSession) -> None:
    """Neither another target nor another role is displaced."""
    runs = [Run("a"), Run("b", SECOND, 0, target="u"), Run("c", SECOND, 0, role="operation")]
    assert giving(spark, *runs) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        pytest.param(Run("b", SECOND, 0, "a"), ["b"], id="later"),
        pytest.param(Run("b", NOW, 0, "a"), ["b"], id="at-once-with-a-greater-id"),
        pytest.param(Run("0", NOW, 3, "a"), ["0", "a"], id="at-once-with-a-lesser-id"),
        pytest.param(Run("b", -SECOND, 3, "a"), ["a", "b"], id="earlier"),
        pytest.param(Run("b", SECOND, 3, "a", target="u"), ["a", "b"], id="of-another-target"),
        pytest.param(Run("b", SECOND, 3, "b"), ["a", "b"], id="of-itself"),
    ],
)
def test_a_corrected_run_supplies_nothing(
    spark: SparkSession, correction: Run, expected: list[str]
) -> None:
    """A later run of the same column corrects it, and the corrected run displaces no other."""
    assert giving(spark, Run("a"), correction) == expected


def test_only_runs_since_a_start_are_decided_again(spark: SparkSession) -> None:
    """Older runs keep what they gave; those of the two weeks before count as rivals, and older ones do not."""
    runs = [
        Run("before", gave=False),
        Run("rival", TWO_WEEKS, 2, gave=True),
        Run("rival-of-gone", TWO_WEEKS, target="u", gave=True),
        Run("at-once", 2 * TWO_WEEKS, 1),
        Run("later", 2 * TWO_WEEKS + SECOND, 1),
        Run("of-gone", 2 * TWO_WEEKS + SECOND, 1, target="u"),
    ]
    assert giving(spark, *runs, since=2 * TWO_WEEKS) == [
        *("later", "of-gone", "rival", "rival-of-gone")
    ]


def test_the_newest_kept_run_is_shown(spark: SparkSession) -> None:
    """Among runs that began together, the greater id is the newer; a column whose run is gone is not shown."""
    columns = columns_frame(
        spark,
        Run("r1", SECOND),
        Run("r2", SECOND),
        Run("r3"),
        Run("r4", TWO_WEEKS),
        Run("r5", target="u"),
        Run("r6", SECOND, target="u"),
    ).selectExpr("*", "run_id <> 'r4' AS gives")
    kept = spark.createDataFrame(
        [(f"r{number}", number != 6) for number in range(1, 7)], "run_id string, kept boolean"
    )
    shown = shown_runs(columns, kept).collect()
    assert [tuple(row) for row in shown] == [("t", "l", "broker", "r2")]
