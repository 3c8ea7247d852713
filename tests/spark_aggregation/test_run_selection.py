"""Which run supplies a column depends on class, start and corrections.

The order in which runs arrive has no influence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from spark_aggregation.tables.run_selection import (
    STANDING_DAYS,
    columns_of_runs,
    shown_runs,
    supplying_columns,
)

FIRST = datetime(2026, 3, 1, 4, tzinfo=UTC)
TWO_WEEKS = timedelta(days=14)
MONTH = 2 * TWO_WEEKS
SECOND = timedelta(seconds=1)
NOW = timedelta(0)


class RunRow(NamedTuple):
    """A run's row of one column.

    Attributes:
        run_id: its id.
        after: the time between `FIRST` and its start.
        run_class: its class.
        corrects: the run that it corrects.
        supplied_before: whether it supplied its column before; None if it is new.
        listener: the listener that it judged.
        role: the role of its clauses.
    """

    run_id: str
    after: timedelta = NOW
    run_class: int = 3
    corrects: str | None = None
    supplied_before: bool | None = None
    listener: str = "l"
    role: str = "broker"
    client: str = ""


def columns_frame(spark: SparkSession, runs: Mapping[str, Sequence[RunRow]]) -> DataFrame:
    """Return the columns of each target's runs, as the state keeps them."""
    rows = [
        (run.run_id, target, run.listener, run.role, run.client, FIRST + run.after, *run[2:5])
        for target, own in runs.items()
        for run in own
    ]
    return spark.createDataFrame(
        rows,
        "run_id string, target string, listener string, role string, client string, "
        "started_at timestamp, "
        "run_class int, corrects string, supplied_before boolean",
    )


def supplying(columns: DataFrame, *, since: timedelta | None = None) -> dict[str, list[str]]:
    """Return the ids of the runs that supply a column, by target."""
    start = None if since is None else int((FIRST + since).timestamp())
    found: dict[str, list[str]] = {}
    for row in supplying_columns(columns, since=start).where("supplies").orderBy("run_id").collect():
        found.setdefault(row.target, []).append(row.run_id)
    return found


def test_classes_rank_complete_runs_before_full_tiers(spark: SparkSession) -> None:
    """A complete smoke run ranks above a partial standard run, and each above one that its owner has judged.

    A run that does not say so is complete.
    """
    kinds = [
        ("whole-deep", True, "deep", None),
        ("unsaid-standard", None, "standard", None),
        ("whole-smoke", True, "smoke", None),
        ("part-standard", False, "standard", None),
        ("part-smoke", False, "smoke", None),
        ("by-owner", True, "deep", "5 of 5"),
    ]
    rows = [
        (
            name,
            (
                "2026-03-01T05:00:00+01:00",
                whole,
                tier,
                None,
                [("client",)],
                [("C.a", "t", "l")] * 2,
                [(by_owner,)],
            ),
        )
        for name, whole, tier, by_owner in kinds
    ]
    headers = spark.createDataFrame(
        rows,
        "run_id string, header struct<started_at: string, whole: boolean, tier: string, "
        "corrects: string, clauses: array<struct<role: string>>, "
        "planned_cells: array<struct<clause: string, target: string, listener: string>>, "
        "targets: array<struct<judged_by_owner: string>>>",
    )
    columns = columns_of_runs(headers).selectExpr(
        *("run_id", "target", "listener", "role", "unix_seconds(started_at) AS start"),
        *("run_class", "corrects"),
    )
    shared = ("t", "l", "client", int(FIRST.timestamp()))
    assert sorted(tuple(row) for row in columns.collect()) == [
        ("by-owner", *shared, -1, None),
        ("part-smoke", *shared, 0, None),
        ("part-standard", *shared, 1, None),
        ("unsaid-standard", *shared, 3, None),
        ("whole-deep", *shared, 3, None),
        ("whole-smoke", *shared, 2, None),
    ]


def test_runs_keep_their_columns_for_two_weeks(spark: SparkSession) -> None:
    """Only runs of a lower class of the same column have to wait."""
    assert timedelta(days=STANDING_DAYS) == TWO_WEEKS
    others = {
        "lower class after 14 days": (RunRow("b", TWO_WEEKS, 2), ["a"]),
        "lower class later": (RunRow("b", TWO_WEEKS + SECOND, 2), ["a", "b"]),
        "same class": (RunRow("b", SECOND), ["a", "b"]),
        "lower class before": (RunRow("b", -SECOND, 2), ["a", "b"]),
        "lower class at once": (RunRow("b", NOW, 2), ["a"]),
        "other listener": (RunRow("b", SECOND, 2, listener="m"), ["a", "b"]),
        "other role": (RunRow("b", SECOND, 2, role="operation"), ["a", "b"]),
    }
    columns = columns_frame(spark, {name: [RunRow("a"), other] for name, (other, _) in others.items()})
    assert supplying(columns) == {name: expected for name, (_, expected) in others.items()}


def test_corrected_runs_supply_nothing(spark: SparkSession) -> None:
    """A later run of the same column corrects it, and the corrected run displaces no other."""
    corrections = {
        "later": (RunRow("b", SECOND, 0, "a"), ["b"]),
        "at once with a greater id": (RunRow("b", NOW, 0, "a"), ["b"]),
        "at once with a lesser id": (RunRow("0", NOW, 3, "a"), ["0", "a"]),
        "earlier": (RunRow("b", -SECOND, 3, "a"), ["a", "b"]),
        "other listener": (RunRow("b", SECOND, 3, "a", listener="m"), ["a", "b"]),
        "itself": (RunRow("b", SECOND, 3, "b"), ["a", "b"]),
    }
    columns = columns_frame(spark, {name: [RunRow("a"), correction] for name, (correction, _) in corrections.items()})
    assert supplying(columns) == {name: expected for name, (_, expected) in corrections.items()}


def test_only_runs_since_a_start_are_decided_again(spark: SparkSession) -> None:
    """Older runs keep what is known of them; those of the two weeks before count as rivals, and older ones do not."""
    columns = columns_frame(
        spark,
        {
            "no rival": [
                RunRow("a", supplied_before=False),
                RunRow("b", TWO_WEEKS, supplied_before=True),
                RunRow("c", MONTH),
            ],
            "rival": [RunRow("a", TWO_WEEKS, supplied_before=True), RunRow("b", MONTH, 1)],
            "old rival": [
                RunRow("a", TWO_WEEKS, supplied_before=True),
                RunRow("b", MONTH + SECOND, 1),
            ],
        },
    )
    assert supplying(columns, since=MONTH) == {
        "no rival": ["b", "c"],
        "rival": ["a"],
        "old rival": ["a", "b"],
    }


def test_the_newest_kept_run_is_shown(spark: SparkSession) -> None:
    """Among runs that began together, the greater id is the newer; a column whose run is gone is not shown."""
    columns = columns_frame(
        spark,
        {
            "kept": [
                RunRow("r1", SECOND),
                RunRow("r2", SECOND),
                RunRow("r3"),
                RunRow("r4", TWO_WEEKS),
            ],
            "gone": [RunRow("r5"), RunRow("r6", SECOND)],
        },
    ).selectExpr("*", "run_id <> 'r4' AS supplies")
    kept = spark.createDataFrame([(f"r{number}", number != 6) for number in range(1, 7)], "run_id string, kept boolean")
    shown = shown_runs(columns, kept).collect()
    assert [tuple(row) for row in shown] == [("kept", "l", "broker", "", "r2")]
