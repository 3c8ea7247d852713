"""Cells are judged by the same rule as in the records, from the latest run of each target."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from reports.records import EXAMPLE_VERDICTS, Verdict, cell_verdict
from spark_aggregation.history.facts import FACTS, facts_of
from spark_aggregation.tables.cell_tables import judged_cells, release_order, release_steps
from tests.run_folders import (
    clause_entry,
    client_rows,
    client_run_header,
    example_row,
    planned_cell,
    run_header,
    write_run,
)
from tests.spark_aggregation.rolled_up import ingested, tables_of

CELLS_SCHEMA = (
    "clause string, target string, listener string, run_id string, verdict string, "
    "applicable boolean, reason string, known_violation string, examples long, conforms long, "
    "violates long, informational long, inconclusive long, distinct_failures long, "
    "failures array<struct<signature: string, verdict: string, smallest_example: int, "
    "examples: long>>"
)
COLUMN = ("'r1' AS run_id", "'t' AS target", "'l' AS listener")
SEEN = ("1 AS smallest_example", "current_date() AS first_seen", "current_date() AS last_seen")


def _subsets() -> Iterator[tuple[Verdict, ...]]:
    for size in range(len(EXAMPLE_VERDICTS) + 1):
        yield from combinations(EXAMPLE_VERDICTS, size)


def test_cell_verdict_equals_the_rule_of_the_records(spark: SparkSession) -> None:
    """Both rules agree on every set of example verdicts, whether applicable, declared, flaky or unproven; shrinking is ignored."""
    cases = {
        f"C.{number}": case
        for number, case in enumerate(product(_subsets(), *((True, False),) * 4))
    }
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
    assert {
        cell.clause: tuple(cell[verdict] for verdict in EXAMPLE_VERDICTS) for cell in cells
    } == {
        name: tuple(int(verdict in verdicts) for verdict in EXAMPLE_VERDICTS)
        for name, (verdicts, *_) in cases.items()
    }


def test_cells_count_examples_and_failures(spark: SparkSession, tmp_path: Path) -> None:
    """Counts exclude shrinking, failures include it, an unreached cell has its plan, and a note is no failure."""
    planned = [
        planned_cell("C.failed", known_violation="declared"),
        planned_cell("C.left-out", applicable=False, reason="no v3"),
        planned_cell("C.forgotten"),
    ]
    header = run_header(planned, run_id="r1")
    rows = [
        example_row(header, 0),
        example_row(header, 1, verdict="violates", failure_signature="f2"),
        example_row(header, 2, verdict="violates", failure_signature="f1"),
        example_row(header, 3, verdict="violates", failure_signature="f1", phase="shrink"),
        example_row(header, 4, phase="shrink"),
        example_row(header, 5, verdict="informational", failure_signature="f0"),
    ]
    write_run(tmp_path / "run", header, rows)
    key = ("apache-kafka-4.4.0", "plaintext", "r1")
    note = ("f0", "informational", 5, 1)
    failures = [note, ("f1", "violates", 2, 2), ("f2", "violates", 1, 1)]
    expected = spark.createDataFrame(
        [
            (
                *("C.failed", *key, "known_violation", True, "", "declared"),
                *(4, 1, 2, 1, 0, 2, failures),
            ),
            ("C.left-out", *key, "not_applicable", False, "no v3", "", 0, 0, 0, 0, 0, 0, []),
            ("C.forgotten", *key, "not_run", True, "", "", 0, 0, 0, 0, 0, 0, []),
        ],
        CELLS_SCHEMA,
    )
    cells = tables_of(spark, tmp_path)["cells"].drop(
        "first_seen", "last_changed", "previous_verdict"
    )
    assertDataFrameEqual(cells, expected, ignoreNullable=True)


def test_latest_run_gives_the_whole_column(spark: SparkSession, tmp_path: Path) -> None:
    """The latest run is chosen per target, by start in UTC and then by run id; the target's other runs are ignored."""
    new, old = "apache-kafka-4.4.0", "apache-kafka-3.9.2"
    runs = [
        ("r1", "2026-11-21T23:30:00+00:00", [planned_cell("C.a", new), planned_cell("C.b", new)]),
        # 00:15 in Berlin is 23:15 in UTC, which is earlier than r1.
        ("r2", "2026-11-22T00:15:00+01:00", [planned_cell("C.a", new), planned_cell("C.a", old)]),
        ("r3", "2026-11-21T23:30:00+00:00", [planned_cell("C.b", new)]),
    ]
    for run_id, started_at, planned in runs:
        write_run(tmp_path / run_id, run_header(planned, run_id=run_id, started_at=started_at))
    tables = tables_of(spark, tmp_path)
    cells = tables["cells"].select("clause", "target", "run_id").collect()
    assert {tuple(cell) for cell in cells} == {("C.b", new, "r3"), ("C.a", old, "r2")}
    runs_table = tables["runs"].select("run_id", "in_grid").collect()
    assert {tuple(run) for run in runs_table} == {("r1", False), ("r2", True), ("r3", True)}
    clauses = tables["clauses"].select("clause", "position").collect()
    assert {tuple(clause) for clause in clauses} == {("C.a", 0), ("C.b", 0)}
    targets = tables["targets"].select("target", "run_id").collect()
    assert {tuple(target) for target in targets} == {(new, "r3"), (old, "r2")}


def test_runs_about_another_role_give_columns_of_their_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Client operations tried on a release do not replace its column as a broker, however new their run is."""
    operation = "librdkafka-2.12.1.produce"
    for run_id, clause, role in (("r1", "C.a", "broker"), ("r2", operation, "operation")):
        header = run_header(
            [planned_cell(clause)],
            run_id=run_id,
            started_at=f"2026-11-2{run_id[1]}T10:00:00+00:00",
            clauses=[clause_entry(clause, role=role)],
        )
        client = None if role == "broker" else "librdkafka-2.12.1"
        row = example_row(header, 1, clause=clause, client=client)
        write_run(tmp_path / run_id, header, [row])
    tables = tables_of(spark, tmp_path)
    cells = tables["cells"].select("clause", "run_id", "verdict").collect()
    assert {tuple(cell) for cell in cells} == {
        ("C.a", "r1", "conforms"),
        (operation, "r2", "conforms"),
    }
    roles = tables["targets"].select("run_id", "role").collect()
    assert {tuple(target) for target in roles} == {("r1", "broker"), ("r2", "operation")}


def test_operations_of_other_clients_add_to_the_earlier_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A run that tries another client with a release erases nothing; one that tries the same client again replaces it."""
    tried = {"r1": ("python-1.0", "java-2.0"), "r2": ("python-1.0",), "r3": ("rust-3.0",)}
    for run_id, clients in tried.items():
        rows = [f"{client}.produce" for client in clients]
        header = run_header(
            [planned_cell(row) for row in rows],
            run_id=run_id,
            started_at=f"2026-11-2{run_id[1]}T10:00:00+00:00",
            clauses=[clause_entry(row, role="operation") for row in rows],
        )
        examples = [example_row(header, 1, clause=row, client="some") for row in rows]
        write_run(tmp_path / run_id, header, examples)
    tables = tables_of(spark, tmp_path)
    cells = tables["cells"].select("clause", "run_id").collect()
    assert {tuple(cell) for cell in cells} == {
        ("python-1.0.produce", "r2"),
        ("java-2.0.produce", "r1"),
        ("rust-3.0.produce", "r3"),
    }
    (target,) = tables["targets"].select("run_id", "role").collect()
    assert tuple(target) == ("r3", "operation")
    shown = tables["runs"].where("in_grid").select("run_id").collect()
    assert {row.run_id for row in shown} == {"r1", "r2", "r3"}


def test_clients_have_columns_with_their_language(spark: SparkSession, tmp_path: Path) -> None:
    """A run of clients gives columns of the role client; one without languages is read as well."""
    told = {"some-1.9": "violates", "some-1.10": "conforms", "some-2.0": "conforms"}
    untold = {"other-1.0": "conforms"}
    for run_id, verdicts, language in (("r1", told, "Go"), ("r2", untold, None)):
        header = client_run_header(verdicts, language=language, run_id=run_id)
        write_run(tmp_path / run_id, header, client_rows(header, verdicts))
    tables = tables_of(spark, tmp_path)
    targets = tables["targets"].select("target", "role", "language").collect()
    assert {tuple(target) for target in targets} == {
        *((name, "client", "Go") for name in told),
        ("other-1.0", "client", None),
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
    """It may change in either direction; of two targets of one release, the first by name counts."""
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
    ).selectExpr(
        "*", "'r1' AS run_id", "'l' AS listener", "'C.a' AS clause", "'k' AS implementation"
    )
    targets = described.drop("clause", "verdict")
    cells = described.select("run_id", "clause", "target", "listener", "verdict")
    steps = release_steps(cells, targets).orderBy("to_target")
    names = ("from_target", "to_target", "from_verdict", "to_verdict")
    assert [tuple(row) for row in steps.select(*names).collect()] == [
        ("k-2.9", "k-2.10", "conforms", "violates"),
        ("k-3.0", "k-4.0", "violates", "conforms"),
    ]


def test_releases_sort_by_number(spark: SparkSession) -> None:
    """Releases are compared number by number, never as text."""
    releases = ["0.8.2.2", "0.10.0.1", "0.10.2.2", "2.2.2", "2.10.0", "3.9.2", "10.0", "10.0.1"]
    frame = spark.createDataFrame([(release,) for release in reversed(releases)], "release string")
    ordered = frame.orderBy(release_order("release")).collect()
    assert [row.release for row in ordered] == releases


@pytest.mark.parametrize(
    ("release", "numbers"),
    [
        ("4.4.0", [4, 4, 0]),
        ("4.4.0-rc1", [4, 4, 0]),
        ("unknown", []),
        ("", []),
        ("99999999999.1", [1]),
    ],
)
def test_release_order_is_the_leading_numbers(
    spark: SparkSession, release: str, numbers: list[int]
) -> None:
    """Anything but the leading numbers is ignored, and no release text of a target fails the job."""
    frame = spark.createDataFrame([(release,)], "release string")
    assert frame.select(release_order("release")).collect()[0][0] == numbers
