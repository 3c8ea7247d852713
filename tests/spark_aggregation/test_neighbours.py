"""What other targets did with the smallest example of a failure."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_aggregation.tables.evidence import neighbours


@pytest.mark.parametrize(
    ("role", "found"), [("broker", {"pinned", "same"}), ("client", {"pinned"})]
)
def test_equal_bytes_make_a_neighbour_of_a_broker_only(
    spark: SparkSession, role: str, found: set[str]
) -> None:
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
    targets = examples.selectExpr(
        "run_id", "target", "listener", f"'{role}' AS role", "array(1) AS release_order"
    )
    failure = (
        "struct('f1' AS signature, 'violates' AS verdict, 1 AS smallest_example, 1L AS examples)"
    )
    cells = examples.selectExpr(
        *("run_id", "target", *cell.split(", ")),
        f"filter(array({failure}), each -> target = 'failing') AS failures",
    )
    rows = neighbours(cells, examples, targets).select("signature", "target").collect()
    assert {tuple(row) for row in rows} == {("f1", target) for target in found}
