"""Cells are judged by the rule of the records, from each target's latest run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from reports.records import EXAMPLE_VERDICTS, Verdict, cell_verdict
from spark_aggregation.history.facts import FACTS, facts_of
from spark_aggregation.tables.grid_tables import release_order, release_steps
from spark_aggregation.tables.judged_cells import judged_cells
from tests.run_folders import (
    clause_entry,
    client_rows,
    client_run_header,
    example_row,
    planned_cell,
    run_header,
    write_run,
)
from tests.spark_aggregation.histories import ingested, tables_of

COLUMN = ("'r1' AS run_id", "'t' AS target", "'l' AS listener")
SEEN = ("1 AS smallest_example", "current_date() AS first_seen", "current_date() AS last_seen")


def _subsets() -> Iterator[tuple[Verdict, ...]]:
    for size in range(len(EXAMPLE_VERDICTS) + 1):
        yield from combinations(EXAMPLE_VERDICTS, size)


def test_cell_verdict_equals_the_rule_of_the_records(spark: SparkSession) -> None:
    cases = {f"C.{number}": case for number, case in enumerate(product(_subsets(), *((True, False),) * 4))}
    planned = spark.createDataFrame(
        [
            (
                name,
                applicable,
                "declared" if known else "",
                (3, 10) if flaky else None,
                # Older runs lack the field.
                "too busy" if unproven else (None if applicable else ""),
            )
            for name, (_, applicable, known, flaky, unproven) in cases.items()
        ],
        "clause string, applicable boolean, known_violation string, "
        "flaky struct<failed: int, repeats: int>, unproven string",
    ).selectExpr("*", *COLUMN, "current_timestamp() AS started_at", "'' AS reason")
    partials = spark.createDataFrame(
        [
            (name, phase, verdict.value)
            for name, (verdicts, *_) in cases.items()
            for phase, judged in (("generate", verdicts), ("shrink", EXAMPLE_VERDICTS))
            for verdict in judged
        ],
        "clause string, phase string, verdict string",
    ).selectExpr("*", *COLUMN, "'f1' AS failure_signature", "1L AS examples", *SEEN)
    cells = judged_cells(planned, partials).collect()
    assert {cell.clause: cell.verdict for cell in cells} == {
        name: cell_verdict(
            verdicts,
            applicable=applicable,
            known_violation=known,
            flaky=flaky,
            unproven=unproven,
        ).value
        for name, (verdicts, applicable, known, flaky, unproven) in cases.items()
    }
    assert {cell.clause: tuple(cell[verdict] for verdict in EXAMPLE_VERDICTS) for cell in cells} == {
        name: tuple(int(verdict in verdicts) for verdict in EXAMPLE_VERDICTS) for name, (verdicts, *_) in cases.items()
    }


Tables = Mapping[str, Sequence[Row]]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Return the rows of all tables, made from the runs that stand above each test, which have no target in common."""
    root = tmp_path_factory.mktemp("runs")
    for write in (_write_counted, _write_later, _write_operations, _write_clients):
        write(root)
    return {name: frame.collect() for name, frame in tables_of(spark, root).items()}


def _rows(tables: Tables, table: str, implementation: str, *columns: str) -> set[tuple[Any, ...]]:
    """Return some columns of a table's rows that are about the targets of an implementation."""
    return {tuple(row[column] for column in columns) for row in tables[table] if row.target.startswith(implementation)}


def _write_counted(root: Path) -> None:
    planned = [
        planned_cell("C.failed", "counted-1.0", known_violation="declared"),
        planned_cell("C.left-out", "counted-1.0", applicable=False, reason="no v3"),
        planned_cell("C.forgotten", "counted-1.0"),
    ]
    header = run_header(planned, run_id="counted")
    rows = [
        example_row(header, 0),
        example_row(header, 1, verdict="violates", failure_signature="f2"),
        example_row(header, 2, verdict="violates", failure_signature="f1"),
        example_row(header, 3, verdict="violates", failure_signature="f1", phase="shrink"),
        example_row(header, 4, phase="shrink"),
        example_row(header, 5, verdict="informational", failure_signature="f0"),
    ]
    write_run(root / "counted", header, rows)


def test_cells_count_examples_and_failures(tables: Tables) -> None:
    """Counts exclude shrinking, failures include it, an unreached cell has its plan, and a note is no failure."""
    failures = [("f0", "informational", 5, 1), ("f1", "violates", 2, 2), ("f2", "violates", 1, 1)]
    counts = (*EXAMPLE_VERDICTS, "distinct_failures", "failures")
    names = ("verdict", "applicable", "reason", "known_violation", "examples", *counts)
    found = {row.clause: tuple(row[name] for name in names) for row in tables["cells"] if row.target == "counted-1.0"}
    assert found == {
        "C.failed": ("known_violation", True, "", "declared", 4, 1, 2, 1, 0, 2, failures),
        "C.left-out": ("not_applicable", False, "no v3", "", 0, 0, 0, 0, 0, 0, []),
        "C.forgotten": ("not_run", True, "", "", 0, 0, 0, 0, 0, 0, []),
    }


def _write_later(root: Path) -> None:
    new, old = "later-4.0", "later-3.0"
    runs = [
        ("later-1", "2026-11-21T23:30:00+00:00", [("C.a", new), ("C.b", new)]),
        # 00:15 in Berlin is 23:15 in UTC, which is earlier than later-1.
        ("later-2", "2026-11-22T00:15:00+01:00", [("C.a", new), ("C.a", old)]),
        ("later-3", "2026-11-21T23:30:00+00:00", [("C.b", new)]),
    ]
    for run_id, started_at, cells in runs:
        planned = [planned_cell(clause, target) for clause, target in cells]
        by_set = {"clause_set": "0.1"} if run_id == "later-3" else {}
        write_run(root / run_id, run_header(planned, run_id=run_id, started_at=started_at, **by_set))


def test_latest_run_gives_the_whole_column(tables: Tables) -> None:
    """The latest run is chosen per target, by start in UTC and then by run id; the target's other runs are ignored."""
    assert _rows(tables, "cells", "later", "clause", "target", "run_id") == {
        ("C.b", "later-4.0", "later-3"),
        ("C.a", "later-3.0", "later-2"),
    }
    in_grid = {row.run_id: row.in_grid for row in tables["runs"] if "later" in row.run_id}
    assert in_grid == {"later-1": False, "later-2": True, "later-3": True}
    sets = {row.run_id: row.clause_set for row in tables["runs"] if "later" in row.run_id}
    assert sets == {"later-1": None, "later-2": None, "later-3": "0.1"}
    positions = {row.clause: row.position for row in tables["clauses"]}
    assert (positions["C.a"], positions["C.b"]) == (0, 0)
    assert _rows(tables, "targets", "later", "target", "run_id") == {
        ("later-4.0", "later-3"),
        ("later-3.0", "later-2"),
    }


def _write_operations(root: Path) -> None:
    tried = {1: ("python-1.0", "java-2.0"), 2: ("python-1.0",), 3: ("rust-3.0",)}
    for day, clients in tried.items():
        rows = [f"{client}.consume" for client in clients]
        header = run_header(
            [planned_cell(row, "tried-1.0") for row in rows],
            run_id=f"tried-{day}",
            started_at=f"2026-11-2{day}T10:00:00+00:00",
            clauses=[clause_entry(row, role="operation") for row in rows],
        )
        examples = [example_row(header, 1, clause=row, client="some") for row in rows]
        write_run(root / f"tried-{day}", header, examples)
    as_broker = run_header([planned_cell("C.rule", "tried-1.0")], run_id="tried-as-broker")
    write_run(root / "tried-as-broker", as_broker)


def test_operations_of_other_clients_add_to_the_earlier_run(tables: Tables) -> None:
    """A run that tries another client with a release erases nothing; one that tries the same client again replaces it.

    The release's column as a broker stays, however new these runs are.
    """
    assert _rows(tables, "cells", "tried", "clause", "run_id") == {
        ("python-1.0.consume", "tried-2"),
        ("java-2.0.consume", "tried-1"),
        ("rust-3.0.consume", "tried-3"),
        ("C.rule", "tried-as-broker"),
    }
    assert _rows(tables, "targets", "tried", "run_id", "role") == {
        ("tried-3", "operation"),
        ("tried-as-broker", "broker"),
    }
    shown = {row.run_id for row in tables["runs"] if row.in_grid and "tried" in row.run_id}
    assert shown == {"tried-1", "tried-2", "tried-3", "tried-as-broker"}


def _write_clients(root: Path) -> None:
    with_language = {"some-1.9": "violates", "some-1.10": "conforms", "some-2.0": "conforms"}
    without_language = {"some-3.0": "conforms"}
    for run_id, verdicts, language in (
        ("with-language", with_language, "Go"),
        ("without-language", without_language, None),
    ):
        header = client_run_header(verdicts, language=language, run_id=run_id)
        write_run(root / run_id, header, client_rows(header, verdicts))


def test_clients_have_columns_with_their_language(tables: Tables) -> None:
    """A run of clients gives columns of the role client; one without languages is read as well."""
    assert _rows(tables, "targets", "some", "target", "role", "language") == {
        *((f"some-{version}", "client", "Go") for version in ("1.9", "1.10", "2.0")),
        ("some-3.0", "client", None),
    }


def test_stored_headers_without_languages_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """A history from before languages were recorded is read as if no target had one."""
    write_run(tmp_path / "run", run_header([planned_cell()]))
    headers = facts_of(ingested(spark, tmp_path)).headers
    names = headers.selectExpr("inline(header.targets)").columns
    kept = ", ".join(f"entry.{name} AS {name}" for name in names if name != "language")
    older = F.expr(f"transform(header.targets, entry -> struct({kept}))")
    changed = F.col("header").withField("targets", older)
    headers.withColumn("header", changed).write.parquet(str(tmp_path / "headers"))
    again = spark.read.schema(FACTS["headers"]).parquet(str(tmp_path / "headers"))
    (entry,) = again.selectExpr("inline(header.targets)").collect()
    assert (entry.id, entry.language) == ("apache-kafka-4.4.0", None)


def test_steps_are_the_releases_at_which_the_verdict_differs(spark: SparkSession) -> None:
    verdicts = {
        "k-2.9": ("conforms", "2.9", [2, 9]),
        "k-2.10": ("violates", "2.10", [2, 10]),
        "k-2.10-x": ("flaky", "2.10", [2, 10]),
        "k-3.0": ("violates", "3.0", [3, 0]),
        "k-4.0": ("conforms", "4.0", [4, 0]),
    }
    described = spark.createDataFrame(
        [(target, *values) for target, values in verdicts.items()],
        "target string, verdict string, release string, release_order array<int>",
    ).selectExpr("*", "'r1' AS run_id", "'l' AS listener", "'C.a' AS clause", "'k' AS implementation")
    targets = described.drop("clause", "verdict")
    cells = described.select("run_id", "clause", "target", "listener", "verdict")
    steps = release_steps(cells, targets).orderBy("to_target")
    names = ("from_target", "to_target", "from_verdict", "to_verdict")
    assert [tuple(row) for row in steps.select(*names).collect()] == [
        ("k-2.9", "k-2.10", "conforms", "violates"),
        ("k-3.0", "k-4.0", "violates", "conforms"),
    ]


def test_release_order_is_the_leading_numbers(spark: SparkSession) -> None:
    """Anything but the leading numbers is ignored, and no release text of a target fails the job."""
    numbers = {
        "2.10.0": [2, 10, 0],
        "4.4.0-rc1": [4, 4, 0],
        "unknown": [],
        "": [],
        "99999999999.1": [1],
    }
    frame = spark.createDataFrame([(release,) for release in numbers], "release string")
    ordered = frame.select("release", release_order("release").alias("numbers")).collect()
    assert {row.release: row.numbers for row in ordered} == numbers
