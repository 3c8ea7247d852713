"""Tests of the roll-up's tables and their schemas.

Written rows follow each schema, and Spark's schemas follow from the classes of rows, the columns of records and the
JSON Schema of a header.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, MapType, StringType, StructType

from reports.records import NOT_RECORDED
from spark_aggregation.errors import UnreadableReport
from spark_aggregation.history.facts import changed_clauses
from spark_aggregation.reading.schema import ANSWERS, EXAMPLES, EXCHANGES, HEADER
from spark_aggregation.tables.evidence import neighbours
from spark_aggregation.tables.given_reports import given_tables
from spark_aggregation.tables.table_schemas import JUDGED_CELLS, TABLES
from tests.broken_run_folders import OTHER_SUITES, ROWS
from tests.run_folders import (
    DEFAULT_CLAUSE,
    clause_entry,
    example_row,
    planned_cell,
    run_header,
    write_run,
)
from tests.spark_aggregation.histories import SmallRun, ingested, tables_of

OLD, NEW = "apache-kafka-3.9.2", "apache-kafka-4.4.0"
CLOSED = {"request": "v3-broken", "outcome": "closed", "error_code": None}
SENT: Sequence[Mapping[str, Any]] = (
    {"error_code": 0},
    {"error_code": 42},
    CLOSED,
    {**CLOSED, "outcome": "ignored"},
    {**CLOSED, "outcome": "silent"},
    {**CLOSED, "phase": "shrink"},
    {"request": "none", "outcome": "none", "error_code": None},
)
"""What distinguishes the examples of the clause C.sent."""
OURS = '{"target": "learned-1.0", "listener": "plaintext"}'
MACHINES = (OURS, OURS.replace("plaintext", "elsewhere"), "{", "[]")

Tables = Mapping[str, Sequence[Row]]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Return the rows of all tables, made from runs of targets that have nothing in common: each test is about its
    own."""
    root = tmp_path_factory.mktemp("runs")
    header = run_header([planned_cell("C.sent", "sent-1.0")], run_id="sent")
    sent = [example_row(header, number, **change) for number, change in enumerate(SENT)]
    write_run(root / "sent", header, sent)
    for suite, change in OTHER_SUITES.items():
        header = run_header([planned_cell(target=f"{suite}-1.0")], run_id=suite)
        rows = [example_row(header, number) for number in range(ROWS)]
        change(write_run(root / suite, header, rows))
    # Cells that no example reached, a flaky one, and a step between two releases.
    SmallRun(number=1, day=1, target=OLD, verdicts=("violates", None), flaky=True).write(root)
    SmallRun(number=2, day=0, target=NEW).write(root)
    learned = SmallRun(number=3, day=0, target="learned-1.0").write(root)
    (learned / "machines").mkdir()
    for number, text in enumerate(MACHINES):
        (learned / "machines" / f"{number}.json").write_text(text)
    return {name: frame.collect() for name, frame in tables_of(spark, root).items()}


def test_coverage_counts_what_was_sent_and_what_came_of_it(tables: Tables) -> None:
    """Coverage has examples by outcome and the error codes per kind of request, without shrinking."""
    names = ("examples", "answered", "closed", "ignored", "silent", "none", "error_codes")
    found = {row.request: tuple(row[name] for name in names) for row in tables["coverage"] if row.clause == "C.sent"}
    assert found == {
        "v3": (2, 2, 0, 0, 0, 0, [0, 42]),
        "v3-broken": (3, 0, 1, 1, 1, 0, []),
        "none": (1, 0, 0, 0, 0, 1, []),
    }


def test_runs_of_other_suites_count(tables: Tables) -> None:
    """Fields that an older suite lacks are shown as not recorded; fields that a newer suite adds are ignored."""
    rows = [row for row in tables["coverage"] if row.clause == DEFAULT_CLAUSE]
    assert {row.request: row.examples for row in rows} == {NOT_RECORDED: ROWS, "v3": ROWS}


def test_no_column_is_null_that_must_not_be(tables: Tables) -> None:
    """Although some cells were not reached."""
    assert all(tables[name] for name in ("release_steps", "flakes", "machines"))
    for name, rows in tables.items():
        needed = [field.name for field in TABLES[name] if not field.nullable]
        assert all(row[column] is not None for row in rows for column in needed), name


def test_machines_of_the_shown_runs_are_kept_as_they_are(tables: Tables) -> None:
    """A machine belongs to its column; what names another column, or is no JSON, is left out."""
    assert [(row.target, row.listener, row.machine) for row in tables["machines"]] == [
        ("learned-1.0", "plaintext", OURS)
    ]


def test_clause_of_another_level_or_no_longer_known_is_noticed_and_counts(spark: SparkSession, tmp_path: Path) -> None:
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
    clauses_of_today = F.from_json(F.lit(json.dumps(today)), "map<string, struct<roles: array<string>, level: string>>")
    notice = changed_clauses(F.col("header"), clauses_of_today).alias("notice")
    assert [row.notice for row in read.accepted.select(notice).collect()] == [
        "role or level differs from the current catalogue: C.a; not in the current catalogue: C.gone"
    ]
    assert [row.counts for row in read.checked.collect()] == [True]


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


def _with_kill(**changes: object) -> str:
    """Return a report with one kill, whose fields are complete apart from the changes."""
    kill = {"clause": "C.a", "defect": "d", "median": 1.0, "percentile_95": 1.0}
    counts = {"seeds": 1, "survived_seeds": 0, "pinned": True}
    return json.dumps({"kills": [kill | counts | changes]})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(None, "is not a file", id="missing"),
        pytest.param('{"seeds": 30, "kills"', "is not JSON", id="cut off"),
        pytest.param('{"seeds": 30}', "was not written by", id="without kills"),
        pytest.param('{"seeds": 30, "kills": {}}', "was not written by", id="no list"),
        pytest.param('{"seeds": 30, "kills": [{"clause": "C.a"}]}', "was not written by", id="half"),
        pytest.param('{"changes": []}', "was not written by", id="another report"),
        pytest.param(_with_kill(clause=7), "was not written by", id="a number for a text"),
        pytest.param(_with_kill(median="x"), "was not written by", id="a text for a number"),
        pytest.param(_with_kill() + "{}", "is not JSON", id="text after it"),
        pytest.param('{"seeds": 30, "kills": null}', "was not written by", id="null for a list"),
        pytest.param("[]", "was not written by", id="a list"),
    ],
)
def test_a_report_that_is_none_is_refused(spark: SparkSession, tmp_path: Path, text: str | None, reason: str) -> None:
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


@pytest.mark.parametrize(("role", "found"), [("broker", {"pinned", "same"}), ("client", {"pinned"})])
def test_equal_bytes_make_a_neighbour_of_a_broker_only(spark: SparkSession, role: str, found: set[str]) -> None:
    """A pinned example is the same on all targets; drawn ones are the same if a broker got the same bytes."""
    cell = "'C.a' AS clause, 'plaintext' AS listener"
    cases = {
        "failing": (True, "x"),
        "pinned": (True, "y"),
        "same": (False, "x"),
        "other": (False, "z"),
    }
    examples = spark.createDataFrame(
        [(name, pinned, sent) for name, (pinned, sent) in cases.items()],
        "target string, pinned boolean, sent_sha256 string",
    ).selectExpr(
        *("target AS run_id", "*", *cell.split(", ")),
        *("'test_x' AS property", "1 AS example_number", "'answer' AS outcome"),
        *("CAST(0 AS SHORT) AS error_code", "'violates' AS verdict", "'a' AS answer_sha256"),
        "IF(target = 'failing', 'f1', NULL) AS failure_signature",
    )
    targets = examples.selectExpr("run_id", "target", "listener", f"'{role}' AS role", "array(1) AS release_order")
    failure = "struct('f1' AS signature, 'violates' AS verdict, 1 AS smallest_example, 1L AS examples)"
    cells = examples.selectExpr(
        *("run_id", "target", *cell.split(", ")),
        f"filter(array({failure}), each -> target = 'failing') AS failures",
    )
    rows = neighbours(cells, examples, targets).select("signature", "target").collect()
    assert {tuple(row) for row in rows} == {("f1", target) for target in found}


def _literal(schema: StructType) -> list[str]:
    """Return the columns as text; a star marks those that may be null."""
    return [f"{field.name} {field.dataType.simpleString()}{' *' * field.nullable}" for field in schema]


def test_schemas_of_tables_follow_from_the_classes_of_their_rows() -> None:
    assert _literal(TABLES["transitions"]) == [
        *("clause string", "target string", "listener string", "at timestamp", "run_id string"),
        *("to_verdict string", "kind string", "from_verdict string *"),
    ]
    assert _literal(TABLES["neighbours"]) == [
        *("signature string", "target string", "listener string", "release_order array<int>"),
        *("outcome string", "verdict string", "error_code smallint *", "answer_sha256 string *"),
    ]
    assert _literal(JUDGED_CELLS)[-2:] == [
        "distinct_failures bigint",
        "failures array<struct<signature:string,verdict:string,smallest_example:int,examples:bigint>>",
    ]
    assert _literal(TABLES["cells"])[-3:] == [
        *("first_seen timestamp", "last_changed timestamp", "previous_verdict string *"),
    ]
    assert TABLES["targets"]["release_order"].dataType == ArrayType(IntegerType(), containsNull=False)
    assert TABLES["targets"]["artefacts"].dataType == MapType(StringType(), StringType(), valueContainsNull=False)


def test_schemas_of_records_follow_from_their_columns() -> None:
    assert [EXAMPLES[name].simpleString() for name in ("run_date", "example_number", "error_code")] == [
        *("run_date:date", "example_number:int", "error_code:smallint"),
    ]
    assert [field.name for field in EXAMPLES if field.nullable] == [
        *("client", "request", "error_code", "failure_signature", "latency_bucket"),
    ]
    assert _literal(EXCHANGES)[5:] == [
        *("example_number int", "step smallint", "outcome string", "sent binary", "answer_sha256 string *"),
    ]
    assert _literal(ANSWERS) == ["answer_sha256 string", "received binary"]


def test_schema_of_a_header_follows_from_the_published_json_schema() -> None:
    assert [field.name for field in HEADER if not field.nullable] == [
        *("record_schema_version", "run_id", "started_at", "suite", "tier", "host", "targets", "clauses"),
        "planned_cells",
    ]
    assert [HEADER[name].simpleString() for name in ("record_schema_version", "run_id", "seed", "footer")] == [
        "record_schema_version:int",
        "run_id:string",
        "seed:bigint",
        "footer:struct<finished_at:string,exit_status:int,example_rows:bigint,exchange_rows:bigint,"
        "files:map<string,string>>",
    ]
    cells = HEADER["planned_cells"].dataType
    assert isinstance(cells, ArrayType)
    assert isinstance(cells.elementType, StructType)
    assert _literal(cells.elementType) == [
        *("clause string", "target string", "listener string", "applicable boolean", "reason string"),
        "known_violation string",
        "flaky struct<failed:int,repeats:int,rate:double,low:double,high:double> *",
        "unproven string *",
    ]
