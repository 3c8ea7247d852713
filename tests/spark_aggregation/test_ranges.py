"""Range statements name the range of releases in which a clause holds."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_aggregation.tables.ranges import range_statements

_VERDICTS = {
    "c": "conforms",
    "v": "violates",
    "k": "known_violation",
    "u": "unexpected_pass",
    "i": "informational",
    "?": "inconclusive",
    "n": "not_applicable",
    "o": "not_run",
}
RELEASES = ("0.10.0.1", "1.1.1", "2.2.2", "2.10.0", "4.4.0")

STATEMENTS = {
    "ccccc": "from 0.10.0.1 on (oldest judged)",
    "nnccc": "from 2.2.2 on, not in older releases",
    "vvccc": "from 2.2.2 on, not in older releases; violates in 0.10.0.1 to 1.1.1",
    "ooccc": "from 2.2.2 on; not run in 0.10.0.1 to 1.1.1",
    "n?ccc": "from 2.2.2 on; inconclusive in 1.1.1",
    "nncck": "from 2.2.2 on, not in older releases; known violation in 4.4.0",
    "nnkcc": "from 2.10.0 on, not in older releases; known violation in 2.2.2",
    "ckckc": "from 0.10.0.1 on (oldest judged); known violation in 1.1.1, 2.10.0",
    "cccco": "from 0.10.0.1 on (oldest judged); not run in 4.4.0",
    "ccccv": "0.10.0.1 to 2.10.0; violates in 4.4.0",
    "cnnnn": "only 0.10.0.1",
    "ciiii": "only 0.10.0.1; informational in 1.1.1 to 4.4.0",
    "nccnn": "1.1.1 to 2.2.2",
    "cnccc": "from 0.10.0.1 on (oldest judged); not applicable in 1.1.1",
    "ccccu": "from 0.10.0.1 on (oldest judged); unexpected pass in 4.4.0",
    "ckv?o": (
        "only 0.10.0.1; known violation in 1.1.1; violates in 2.2.2; inconclusive in 2.10.0; not run in 4.4.0"
    ),
    "nnnnn": "not applicable in 0.10.0.1 to 4.4.0",
    "kkkkk": "known violation in 0.10.0.1 to 4.4.0",
    "nnkkk": "not applicable in 0.10.0.1 to 1.1.1; known violation in 2.2.2 to 4.4.0",
    "ooooo": "not run in 0.10.0.1 to 4.4.0",
}


def _statements(
    spark: SparkSession, cells: list[tuple[str, str, str]], *, role: str = "broker"
) -> dict[str, str]:
    """Return the statement of each clause; a cell is (clause, release, verdict), and cells may be in any order."""
    frame = spark.createDataFrame(cells, "clause string, release string, verdict string")
    # A release's only target is named by the release, whatever its id is.
    target = "concat('k-', release, '-x') AS target"
    frame = frame.selectExpr(
        *("clause", "'run-1' AS run_id", target),
        *("'plaintext' AS listener", "verdict"),
    )
    releases = sorted({release for _, release, _ in cells})
    targets = spark.createDataFrame(
        [(release, [int(number) for number in release.split(".")]) for release in releases],
        "release string, release_order array<int>",
    ).selectExpr(
        "'run-1' AS run_id",
        target,
        "'plaintext' AS listener",
        "'k' AS implementation",
        "release",
        "release_order",
        f"'{role}' AS role",
    )
    rows = range_statements(frame, targets).collect()
    return {row.clause: row.statement for row in rows}


def test_statements_are_as_written_out(spark: SparkSession) -> None:
    """Each pattern of verdicts over five releases, given newest first, has its statement."""
    cells = [
        (pattern, release, _VERDICTS[letter])
        for pattern in STATEMENTS
        for release, letter in reversed(list(zip(RELEASES, pattern, strict=True)))
    ]
    assert _statements(spark, cells) == STATEMENTS


def test_operation_that_a_release_lacks_is_unsupported(spark: SparkSession) -> None:
    """The statement of a row of operations has the words of its grid."""
    verdicts = ("informational", "informational", "conforms", "conforms", "violates")
    cells = [
        ("k-1.produce", release, verdict)
        for release, verdict in zip(RELEASES, verdicts, strict=True)
    ]
    assert _statements(spark, cells, role="operation") == {
        "k-1.produce": "2.2.2 to 2.10.0; unsupported in 0.10.0.1 to 1.1.1; violates in 4.4.0"
    }


@pytest.mark.parametrize(
    ("verdict", "statement"),
    [
        ("conforms", "4.4.0, the only release judged"),
        ("violates", "violates in 4.4.0"),
        ("not_applicable", "not applicable in 4.4.0"),
    ],
)
def test_single_release_claims_no_range(spark: SparkSession, verdict: str, statement: str) -> None:
    """If only one release was judged, the statement says nothing about others."""
    assert _statements(spark, [("C.a", "4.4.0", verdict)]) == {"C.a": statement}


def test_targets_of_one_release_are_told_apart(spark: SparkSession) -> None:
    """If two targets of an implementation have the same release, both are named by target."""
    cells = spark.createDataFrame(
        [
            ("C.a", "r1", "ref", "plaintext", "conforms"),
            ("C.a", "r1", "ref+x", "plaintext", "violates"),
        ],
        "clause string, run_id string, target string, listener string, verdict string",
    )
    targets = spark.createDataFrame(
        [("r1", name, "plaintext", "r", "4.4.0", [4], "broker") for name in ("ref", "ref+x")],
        "run_id string, target string, listener string, implementation string, release string, "
        "release_order array<int>, role string",
    )
    rows = range_statements(cells, targets).collect()
    assert [row.statement for row in rows] == ["only ref; violates in ref+x"]


def test_targets_of_one_release_are_told_apart_by_their_own_part_of_the_name(
    spark: SparkSession,
) -> None:
    """If the target's id begins with the implementation, the name leaves that part out."""
    verdicts = {"k-2.2.2": "conforms", "k-2.2.2-rack-1": "violates", "own": "violates"}
    cells = spark.createDataFrame(
        [("C.a", "r1", target, "plaintext", verdict) for target, verdict in verdicts.items()],
        "clause string, run_id string, target string, listener string, verdict string",
    )
    targets = cells.selectExpr(
        *("run_id", "target"),
        "listener",
        "'k' AS implementation",
        "'2.2.2' AS release",
        "array(2, 2, 2) AS release_order",
        "'broker' AS role",
    )
    (row,) = range_statements(cells, targets).collect()
    assert row.statement == "only 2.2.2; violates in 2.2.2-rack-1 to own"
