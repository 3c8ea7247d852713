"""Spark counts what is in request logs as the command does."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conformance.commands.spark_jobs import count_with_spark
from conformance.watch.request_logs import add_counted, read_request_logs
from conformance.watch.sightings import Sightings
from spark_aggregation.request_logs_job import command
from tests.wire.logged_requests import ENTRIES, FORWARDED


@pytest.mark.nightly
@pytest.mark.slow
def test_spark_counts_the_same(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Plain and compressed logs give the same sightings, tables and sentences with Spark as without."""
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
    by_spark, directly = Sightings(), Sightings()
    uris = [path.as_uri() for path in paths]
    said = add_counted(count_with_spark(uris), by_spark)
    assert said == read_request_logs(paths, directly)
    assert by_spark.clients == directly.clients
    assert all(by_spark.requests(each) == directly.requests(each) for each in directly.clients)
    assert sum(directly.of(each).requests.total() for each in directly.clients) == 51 * len(ENTRIES)
    assert by_spark.tables == directly.tables


def main_in_this_process(arguments: Sequence[str]) -> None:
    """Run the job with the session of the tests."""
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert not ended.value.code


@pytest.mark.usefixtures("spark")
def test_a_path_that_does_not_exist_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path that does not exist is named, with the exit status of wrong usage."""
    with pytest.raises(SystemExit) as ended:
        command([str(tmp_path / "missing.log")])
    assert ended.value.code == 2
    assert "missing.log" in capsys.readouterr().err
