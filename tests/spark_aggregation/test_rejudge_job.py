"""Spark judges stored exchanges again, and lists those that the oracle does not allow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_aggregation.rejudge_job import command as main
from tests.conformance.suite_runs import run_suite

DEFECT = "reference+names-are-not-checked"
PROPERTY = "test_illegal_name_is_refused"

pytestmark = pytest.mark.usefixtures("spark")


def _rejudged(runs: Path, out: Path) -> tuple[int, list[dict[str, object]]]:
    with pytest.raises(SystemExit) as ended:
        main([str(runs), "--out", str(out)])
    return int(ended.value.code or 0), [json.loads(line) for line in out.read_text().splitlines()]


def test_defect_shows_and_a_clean_run_has_no_difference(tmp_path: Path) -> None:
    """Everything that the reference broker did is allowed; with a defect it is not, and the bytes are listed."""
    for broker in ("reference", DEFECT):
        options = ("--broker", broker, "--tier", "smoke", "-k", PROPERTY)
        run_suite(*options, runs=tmp_path / broker)
    assert _rejudged(tmp_path / "reference", tmp_path / "clean.jsonl") == (0, [])
    status, found = _rejudged(tmp_path / DEFECT, tmp_path / "defect.jsonl")
    assert status == 1
    assert {entry["target"] for entry in found} == {DEFECT}
    assert {entry["property"] for entry in found} == {PROPERTY}
    assert {entry["recorded_verdict"] for entry in found} == {"violates"}
    first = found[0]
    assert str(first["sent"])[8:12] == "0012"
    assert str(first["recorded_answer"])[16:20] == "0000"
    assert "INVALID_REQUEST" in str(first["allowed"])
