"""Spark judges stored exchanges and counts request logs like the local commands."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conformance.commands.spark_jobs import count_with_spark
from spark_aggregation.rejudge_job import command as rejudge
from spark_aggregation.request_logs_job import command
from tests.broken_run_folders import write_whole_run
from tests.conformance.suite_runs import SuiteRun
from tests.spark_aggregation.conftest import DEFECT, PROPERTY
from tests.wire.logged_requests import ENTRIES, FORWARDED
from upgrade.prediction.observed_requests import ObservedRequests
from upgrade.traffic_files.request_logs import add_counted, read_request_logs

pytestmark = pytest.mark.usefixtures("spark")


def _rejudged(runs: Path, out: Path) -> tuple[int, list[dict[str, object]]]:
    with pytest.raises(SystemExit) as ended:
        rejudge([str(runs), "--out", str(out)])
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


@pytest.mark.nightly
@pytest.mark.slow
def test_spark_counts_the_same(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Plain and compressed logs give the same requests, tables and sentences with Spark as without."""
    assert spark.range(1).count() == 1
    lines = [*(line for line, _ in ENTRIES.values()), FORWARDED, b"other \xff line\r"]
    content = b"".join(line + b"\n" for line in lines)
    (tmp_path / "requests.log").write_bytes(content * 50)
    (tmp_path / "requests.log.1.gz").write_bytes(gzip.compress(content))
    paths = sorted(tmp_path.iterdir())

    class Finished:
        returncode = 0
        stdout = ""

    def run(job: Sequence[str], **_: object) -> Finished:
        main_in_this_process(job[job.index("-m") + 2 :])
        finished = Finished()
        finished.stdout = capsys.readouterr().out
        return finished

    monkeypatch.setattr(subprocess, "run", run)
    by_spark, directly = ObservedRequests(), ObservedRequests()
    uris = [path.as_uri() for path in paths]
    sentence = add_counted(count_with_spark(uris), by_spark)
    assert sentence == read_request_logs(paths, directly)
    assert by_spark.clients == directly.clients
    assert all(by_spark.requests(each) == directly.requests(each) for each in directly.clients)
    assert sum(directly.of(each).requests.total() for each in directly.clients) == 51 * len(ENTRIES)
    assert by_spark.tables == directly.tables


def main_in_this_process(arguments: Sequence[str]) -> None:
    """Run the job with the session of the tests."""
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert not ended.value.code


def test_a_path_that_does_not_exist_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that does not exist is named, with the exit status of wrong usage."""
    with pytest.raises(SystemExit) as ended:
        command([str(tmp_path / "missing.log")])
    assert ended.value.code == 2
    assert "missing.log" in capsys.readouterr().err
