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
    "ccccc": "since 0.10.0.1, the oldest",
    "nnccc": "since 2.2.2, not before",
    "vvccc": "since 2.2.2, not before; violates 0.10.0.1 to 1.1.1",
    "ooccc": "since 2.2.2; not run 0.10.0.1 to 1.1.1",
    "n?ccc": "since 2.2.2; inconclusive 1.1.1",
    "nncck": "since 2.2.2, not before; known violation 4.4.0",
    "nnkcc": "since 2.10.0, not before; known violation 2.2.2",
    "ckckc": "since 0.10.0.1, the oldest; known violation 1.1.1, 2.10.0",
    "cccco": "since 0.10.0.1, the oldest; not run 4.4.0",
    "ccccv": "0.10.0.1 to 2.10.0; violates 4.4.0",
    "cnnnn": "0.10.0.1 only",
    "ciiii": "0.10.0.1 only; informational 1.1.1 to 4.4.0",
    "nccnn": "1.1.1 to 2.2.2",
    "cnccc": "since 0.10.0.1, the oldest; not applicable 1.1.1",
    "ccccu": "since 0.10.0.1, the oldest; unexpected pass 4.4.0",
    "ckv?o": (
        "0.10.0.1 only; known violation 1.1.1; violates 2.2.2; inconclusive 2.10.0; not run 4.4.0"
    ),
    "nnnnn": "not applicable 0.10.0.1 to 4.4.0",
    "kkkkk": "known violation 0.10.0.1 to 4.4.0",
    "nnkkk": "not applicable 0.10.0.1 to 1.1.1; known violation 2.2.2 to 4.4.0",
    "ooooo": "not run 0.10.0.1 to 4.4.0",
}


def _statements(spark: SparkSession, cells: list[tuple[str, str, str]]) -> dict[str, str]:
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


@pytest.mark.parametrize(
    ("verdict", "statement"),
    [
        ("conforms", "4.4.0, the only one"),
        ("violates", "violates 4.4.0"),
        ("not_applicable", "not applicable 4.4.0"),
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
        [("r1", name, "plaintext", "r", "4.4.0", [4]) for name in ("ref", "ref+x")],
        "run_id string, target string, listener string, implementation string, release string, "
        "release_order array<int>",
    )
    rows = range_statements(cells, targets).collect()
    assert [row.statement for row in rows] == ["ref only; violates ref+x"]


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
    )
    (row,) = range_statements(cells, targets).collect()
    assert row.statement == "2.2.2 only; violates 2.2.2-rack-1 to own"
