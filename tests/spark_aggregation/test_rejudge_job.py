"""Spark judges stored exchanges again, and lists those that the oracle does not allow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_aggregation.rejudge_job import command
from tests.broken_run_folders import write_whole_run
from tests.conformance.suite_runs import SuiteRun
from tests.spark_aggregation.conftest import DEFECT, PROPERTY

pytestmark = pytest.mark.usefixtures("spark")


def _rejudged(runs: Path, out: Path) -> tuple[int, list[dict[str, object]]]:
    with pytest.raises(SystemExit) as ended:
        command([str(runs), "--out", str(out)])
    return int(ended.value.code or 0), [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.nightly
def test_defect_shows_and_nothing_else_does(judged_run: SuiteRun, tmp_path: Path) -> None:
    """Everything that the reference broker did is allowed; with a defect it is not, and the bytes are listed."""
    status, found = _rejudged(judged_run.folder, tmp_path / "differences.jsonl")
    assert status == 1
    assert {entry["target"] for entry in found} == {DEFECT}
    assert {entry["property"] for entry in found} == {PROPERTY}
    assert {entry["recorded_verdict"] for entry in found} == {"violates"}
    first = found[0]
    assert str(first["sent"])[8:12] == "0012"
    assert str(first["recorded_answer"])[16:20] == "0000"
    assert "INVALID_REQUEST" in str(first["allowed"])


def test_run_without_a_difference_ends_with_0(tmp_path: Path) -> None:
    """The file is written, and has no line."""
    assert _rejudged(write_whole_run(tmp_path / "run"), tmp_path / "none.jsonl") == (0, [])
