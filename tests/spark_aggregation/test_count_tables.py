"""Rates and durations, against literals."""

from __future__ import annotations

from pyspark.sql import SparkSession

from reports.repeats import wilson_interval
from spark_aggregation.tables.count_tables import flake_rates, flaky_cells, latency, speed

CELL = ("C.a", "t", "l")
CELL_SCHEMA = "clause string, target string, listener string"


def test_speed_counts_examples_by_the_second(spark: SparkSession) -> None:
    """The seconds are those of the run, the examples those of the target; no time means no rate."""
    start, zones = "2026-03-01T04:00:00Z", "2026-03-01T05:00:02.5+01:00"
    headers = spark.createDataFrame(
        [
            ("r1", (start, "deep", (zones,), [("t", "process"), ("u", "process")])),
            ("r2", (start, "smoke", (start,), [("t", "address")])),
            ("r3", (start, "smoke", ("2026-03-01T04:00:00.5Z",), [("t", "address")])),
        ],
        "run_id string, header struct<started_at: string, tier: string, "
        "footer: struct<finished_at: string>, targets: array<struct<id: string, launcher: string>>>",
    )
    cells = spark.createDataFrame(
        [("r1", "t", 7), ("r1", "t", 3), ("r1", "u", 5), ("r2", "t", 1), ("r3", "t", 1)],
        "run_id string, target string, examples long",
    )
    found = speed(headers, cells).drop("started_at").collect()
    assert sorted(tuple(row) for row in found) == [
        ("r1", "t", "deep", "process", 2.5, 10, 4.0),
        ("r1", "u", "deep", "process", 2.5, 5, 2.0),
        ("r2", "t", "smoke", "address", 0.0, 1, 0.0),
        ("r3", "t", "smoke", "address", 0.5, 1, 2.0),
    ]


def test_latencies_of_the_shown_runs_are_added_up(spark: SparkSession) -> None:
    """Examples of all clauses count, and those of runs that the grid does not show do not."""
    shown = spark.createDataFrame([("r1", "t", "l"), ("r2", "t", "m")], "run_id string, target string, listener string")
    latencies = spark.createDataFrame(
        [("r1", *CELL, 36, 2), ("r1", "C.b", "t", "l", 36, 3), ("r2", *CELL, 36, 4)],
        f"run_id string, {CELL_SCHEMA}, latency_bucket short, examples long",
    )
    assert [tuple(row) for row in latency(shown, latencies).collect()] == [("t", "l", 36, 5)]


def test_rates_of_flaky_cells_have_the_interval_of_the_records(spark: SparkSession) -> None:
    counts = {"C.never": (0, 10), "C.once": (1, 3), "C.rare": (29, 100), "C.always": (10, 10)}
    repeated = [
        row
        for clause, (failed, repeats) in counts.items()
        for row in (
            ("r1", clause, "t", "l", failed // 2, repeats // 2),
            ("r2", clause, "t", "l", failed - failed // 2, repeats - repeats // 2),
            ("r3", clause, "t", "l", 1, 1),
            ("r4", clause, "t", "l", 1, 1),
        )
    ]
    found = flake_rates(
        spark.createDataFrame(repeated, f"run_id string, {CELL_SCHEMA}, failed int, repeats int"),
        spark.createDataFrame(
            [(f"r{number}", "t", "l", "", number != 3) for number in (1, 2, 3, 4)],
            "run_id string, target string, listener string, client string, supplies boolean",
        ),
        spark.createDataFrame(
            [(f"r{number}", number != 4) for number in (1, 2, 3, 4)],
            "run_id string, kept boolean",
        ),
    )
    expected = {
        clause: (failed, repeats, round(failed / repeats, 4), *_interval(failed, repeats), 2)
        for clause, (failed, repeats) in counts.items()
    }
    assert {row.clause: tuple(row[3:]) for row in found.collect()} == expected


def _interval(failed: int, repeats: int) -> tuple[float, ...]:
    return tuple(round(end, 4) for end in wilson_interval(failed, repeats))


def test_flaky_cells_are_those_with_repeats(spark: SparkSession) -> None:
    """A cell whose failures are not flaky has none."""
    headers = spark.createDataFrame(
        [("r1", ([(*CELL, (3, 10)), ("C.b", "t", "l", None)],))],
        "run_id string, header struct<planned_cells: array<struct<clause: string, target: string, "
        "listener: string, flaky: struct<failed: int, repeats: int>>>>",
    )
    assert [tuple(row) for row in flaky_cells(headers).collect()] == [("r1", *CELL, 3, 10)]
