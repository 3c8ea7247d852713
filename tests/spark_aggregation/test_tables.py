"""The tables have the columns that the report reads, and written rows follow each schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from reports.grid import grid_tables, history_tables
from reports.intervals import wilson_interval
from reports.records import NOT_RECORDED
from spark_aggregation.errors import UnreadableReport
from spark_aggregation.history.ingest import changed_clauses
from spark_aggregation.tables.given_reports import given_tables
from spark_aggregation.tables.table_schemas import TABLES
from tests.broken_run_folders import OTHER_SUITES, ROWS, write_whole_run
from tests.run_folders import clause_entry, example_row, planned_cell, run_header, write_run
from tests.spark_aggregation.histories import FLAKE_RATE, SmallRun
from tests.spark_aggregation.rolled_up import ingested, tables_of

ROW_TYPES: dict[str, type] = {
    "cells": grid_tables.GridCell,
    "targets": grid_tables.GridTarget,
    "clauses": grid_tables.GridClause,
    "runs": grid_tables.GridRun,
    **history_tables.ROW_TYPES,
}


@pytest.mark.parametrize("name", ROW_TYPES)
def test_every_column_that_the_report_reads_is_written(name: str) -> None:
    """Each class of the report names only columns of its table."""
    assert {field.name for field in fields(ROW_TYPES[name])} <= set(TABLES[name].fieldNames())


@pytest.mark.slow
def test_coverage_counts_what_was_sent_and_what_came_of_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Coverage has examples by outcome and the error codes per kind of request, without shrinking."""
    header = run_header([planned_cell()])
    closed = {"request": "v3-broken", "outcome": "closed", "error_code": None}
    changes: list[Mapping[str, Any]] = [
        {"error_code": 0},
        {"error_code": 42},
        closed,
        {**closed, "outcome": "ignored"},
        {**closed, "outcome": "silent"},
        {**closed, "phase": "shrink"},
        {"request": "none", "outcome": "none", "error_code": None},
    ]
    rows = [example_row(header, number, **change) for number, change in enumerate(changes)]
    write_run(tmp_path / "run", header, rows)
    names = ("examples", "answered", "closed", "ignored", "silent", "none", "error_codes")
    found = {
        row.request: tuple(row[name] for name in names)
        for row in tables_of(spark, tmp_path)["coverage"].collect()
    }
    assert found == {
        "v3": (2, 2, 0, 0, 0, 0, [0, 42]),
        "v3-broken": (3, 0, 1, 1, 1, 0, []),
        "none": (1, 0, 0, 0, 0, 1, []),
    }


@pytest.mark.slow
def test_runs_of_other_suites_count(spark: SparkSession, tmp_path: Path) -> None:
    """Fields that an older suite lacks are shown as not recorded; fields that a newer suite adds are ignored."""
    for suite, change in OTHER_SUITES.items():
        change(write_whole_run(tmp_path / suite, run_id=suite))
        kinds = tables_of(spark, tmp_path / suite)["coverage"].select("request", "examples")
        expected = NOT_RECORDED if suite == "older" else "v3"
        assert [tuple(row) for row in kinds.collect()] == [(expected, ROWS)]


def test_steps_between_releases_and_flakes_are_told(spark: SparkSession, tmp_path: Path) -> None:
    """A verdict that differs from the release before is a step; repeats are summed, with their interval.

    No column is null that must not be, although a cell was not reached.
    """
    old, new = "apache-kafka-3.9.2", "apache-kafka-4.4.0"
    for number in (1, 2):
        SmallRun(
            number=number, day=number, target=old, verdicts=("violates", None), flaky=True
        ).write(tmp_path)
    SmallRun(number=3, day=0, target=new).write(tmp_path)
    SmallRun(number=4, day=0, target=f"{old}-zookeeper").write(tmp_path)
    tables = {name: frame.collect() for name, frame in tables_of(spark, tmp_path).items()}
    steps = [
        (row.from_target, row.to_target, row.from_verdict, row.to_verdict)
        for row in tables["release_steps"]
    ]
    assert steps == [(old, new, "flaky", "conforms")]
    failed, repeats = (2 * int(FLAKE_RATE[name]) for name in ("failed", "repeats"))
    low, high = (round(bound, 4) for bound in wilson_interval(failed, repeats))
    flakes = {
        (row.failed, row.repeats, row.rate, row.low, row.high, row.runs) for row in tables["flakes"]
    }
    assert flakes == {(failed, repeats, 0.3, low, high, 2)}
    for name, rows in tables.items():
        needed = [field.name for field in TABLES[name] if not field.nullable]
        assert all(row[column] is not None for row in rows for column in needed), name


@pytest.mark.slow  # The rule itself is tested on frames in test_run_selection
def test_part_and_smoke_run_do_not_displace_a_whole_one_for_14_days(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A complete standard run keeps its column for 14 days against lower classes, and not for a day more."""
    young, old = "apache-kafka-3.9.2", "apache-kafka-4.4.0"
    SmallRun(number=1, day=0, target=young).write(tmp_path)
    SmallRun(number=2, day=14, target=young, tier="smoke").write(tmp_path)
    SmallRun(number=3, day=0, target=old).write(tmp_path)
    SmallRun(number=4, day=15, target=old, whole=False).write(tmp_path)
    targets = tables_of(spark, tmp_path)["targets"].select("target", "run_id").collect()
    assert {tuple(row) for row in targets} == {(young, "run-1"), (old, "run-4")}


def test_target_has_the_role_that_its_run_judges(spark: SparkSession, tmp_path: Path) -> None:
    """Brokers and clients come from separate runs, even if a clause binds both."""
    for number, (target, role) in enumerate(
        (("apache-kafka-4.4.0", "broker"), ("librdkafka-2.12.1", "client"))
    ):
        planned = [planned_cell("C.a", target)]
        clauses = [clause_entry("C.a", role=role)]
        header = run_header(planned, clauses=clauses, run_id=f"run-{number}")
        write_run(tmp_path / str(number), header)
    targets = tables_of(spark, tmp_path)["targets"].select("target", "role").collect()
    assert {tuple(row) for row in targets} == {
        ("apache-kafka-4.4.0", "broker"),
        ("librdkafka-2.12.1", "client"),
    }


def test_clause_of_another_level_or_no_longer_known_is_noticed_and_counts(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The run is not refused, and readers of the grid get a notice. A client operation is not a clause."""
    tried = clause_entry("librdkafka-2.12.1.produce", role="operation")
    clauses = [clause_entry("C.a"), clause_entry("C.b"), clause_entry("C.gone"), tried]
    planned = [planned_cell("C.a"), planned_cell("C.b")]
    write_run(tmp_path / "run", run_header(planned, clauses=clauses))
    read = ingested(spark, tmp_path)
    today = {
        "C.a": {"roles": ["broker"], "level": "SHOULD"},
        "C.b": {"roles": ["broker", "client"], "level": "MUST"},
    }
    clauses_of_today = F.from_json(
        F.lit(json.dumps(today)), "map<string, struct<roles: array<string>, level: string>>"
    )
    notice = changed_clauses(F.col("header"), clauses_of_today).alias("notice")
    assert [row.notice for row in read.accepted.select(notice).collect()] == [
        "role or level differs from the current catalogue: C.a; "
        "not in the current catalogue: C.gone"
    ]
    assert [row.counts for row in read.judged.collect()] == [True]


def test_reports_of_other_commands_become_tables(spark: SparkSession, tmp_path: Path) -> None:
    """The mutation score and the log of changes are copied row by row."""
    (tmp_path / "mutation.json").write_text(
        '{"seeds": 30, "kills": [{"clause": "C.a", "defect": "d", "median": 2, "percentile_95": null,'
        ' "seeds": 30, "survived_seeds": 3, "pinned": true}, {"clause": "C.b", "defect": "d", "median": 1,'
        ' "percentile_95": 1, "seeds": 1, "survived_seeds": 0, "pinned": false}]}'
    )
    (tmp_path / "changes.json").write_text(
        '{"changes": [{"listener": "plaintext", "before": "a-1", "since": "a-2", "was": "closed",'
        ' "became": "answer", "clauses": ["C.a", "C.b"], "predicted": true, "inputs": 4,'
        ' "shortest": "00"}], "left_out": [{"listener": "ssl", "release": "a-1", "reason": "no end",'
        ' "inputs": ["one", "two"]}]}'
    )
    reports = {name: str(tmp_path / f"{name}.json") for name in ("mutation", "changes")}
    given = given_tables(spark, **reports)
    assert given.inputs_sha256["release_changes"] == given.inputs_sha256["inputs_left_out"] != ""
    score = given.tables["mutation"]().collect()
    assert [tuple(row) for row in score] == [
        ("C.a", "d", 30, 27, True, 2.0, None),
        ("C.b", "d", 1, 1, True, 1.0, 1.0),
    ]
    changes = given.tables["release_changes"]().collect()
    assert [(row.clause, row.from_release, row.before) for row in changes] == [
        ("C.a", "a-1", "closed"),
        ("C.b", "a-1", "closed"),
    ]
    left_out = given.tables["inputs_left_out"]().collect()
    assert [tuple(row) for row in left_out] == [("ssl", "a-1", "no end", 2, "one, two")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(None, "is not a file", id="missing"),
        pytest.param('{"seeds": 30, "kills"', "was not written by", id="cut off"),
        pytest.param('{"seeds": 30}', "was not written by", id="without kills"),
        pytest.param('{"seeds": 30, "kills": {}}', "was not written by", id="no list"),
        pytest.param(
            '{"seeds": 30, "kills": [{"clause": "C.a"}]}', "was not written by", id="half"
        ),
        pytest.param('{"changes": []}', "was not written by", id="another report"),
        pytest.param('{"kills": [{"clause": 7}]}', "was not written by", id="a number for a text"),
        pytest.param('{"seeds": 30, "kills": null}', "was not written by", id="null for a list"),
        pytest.param("[]", "was not written by", id="a list"),
    ],
)
def test_a_report_that_is_none_is_refused(
    spark: SparkSession, tmp_path: Path, text: str | None, reason: str
) -> None:
    """The error names the file and the command that writes it."""
    path = tmp_path / "mutation.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UnreadableReport, match=rf"mutation\.json {reason}") as caught:
        given_tables(spark, mutation=str(path))
    assert "kafka-conformance mutation --out" in str(caught.value)


def test_folder_of_a_report_is_no_report(spark: SparkSession, tmp_path: Path) -> None:
    """The other command's `--out` takes a folder, but the roll-up needs the file in it."""
    with pytest.raises(UnreadableReport, match="is not a file"):
        given_tables(spark, changes=str(tmp_path))


def test_machines_of_the_shown_runs_are_kept_as_they_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A machine belongs to its column; what names another column, or is no JSON, is left out."""
    folder = write_whole_run(tmp_path / "run")
    (folder / "machines").mkdir()
    ours = '{"target": "apache-kafka-4.4.0", "listener": "plaintext"}'
    texts = (ours, ours.replace("plaintext", "elsewhere"), "{", "[]")
    for number, text in enumerate(texts):
        (folder / "machines" / f"{number}.json").write_text(text)
    rows = tables_of(spark, tmp_path)["machines"].collect()
    assert [(row.target, row.listener, row.machine) for row in rows] == [
        ("apache-kafka-4.4.0", "plaintext", ours)
    ]
