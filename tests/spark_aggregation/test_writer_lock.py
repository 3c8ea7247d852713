"""Of two roll-ups that add to one history, the loser ends with exit status 4.

It prints a sentence, and does not harm the other roll-up.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import filelock
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_aggregation.errors import CannotWrite, HistoryMoved, fault_of_disk
from spark_aggregation.history.history import Batch, RunHistory
from spark_aggregation.history.state import State
from spark_aggregation.job import command
from spark_aggregation.run_roll_up import RollUpRequest, RollUpResult, aggregate, only_writer
from tests.spark_aggregation.histories import TARGETS, SmallRun


def test_one_roll_up_at_a_time_holds_the_lock(tmp_path: Path) -> None:
    """The other one gets a sentence, whichever way it names the folder; afterwards the lock is free."""
    folder = tmp_path / "new" / "a history"
    for _ in range(2):
        with only_writer(str(folder)) as alone:
            assert alone
            for uri in (str(folder), folder.as_uri()):
                with (
                    pytest.raises(HistoryMoved, match="is writing to the history"),
                    only_writer(uri),
                ):
                    pytest.fail("two hold it")


def test_other_file_systems_have_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A URI of a cluster is not locked, and neither is a disk that cannot."""
    with only_writer("hdfs://somewhere/history") as alone:
        assert not alone

    def no_locks(*_: object, **__: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(filelock.FileLock, "acquire", no_locks)
    with only_writer(str(tmp_path)) as alone:
        assert not alone


def test_history_in_use_ends_the_command_with_4(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says so, writes nothing, and leaves what the other one has not finished."""
    run = SmallRun(number=1, day=1).write(tmp_path / "runs")
    history, out = tmp_path / "history", tmp_path / "out"
    unfinished = history / "facts" / "cells" / "batch=00000001-unfinished"
    unfinished.mkdir(parents=True)
    with only_writer(str(history)), pytest.raises(SystemExit) as ended:
        command([str(run), "--history", str(history), "--out", str(out)])
    assert ended.value.code == 4
    assert capsys.readouterr().err == (
        f"Error: another roll-up is writing to the history {history}; run this one again when it has ended\n"
    )
    assert unfinished.exists()
    assert not out.exists()


def _unfinished(root: Path, batch: Batch) -> Path:
    """Write the first folder of a batch."""
    folder = root / "facts" / "cells" / f"batch={batch.name}"
    folder.mkdir(parents=True)
    return folder


def _others_committed(root: Path, name: str) -> None:
    (root / "commits").mkdir()
    (root / "commits" / name).touch()


def _commit(history: RunHistory) -> Batch:
    batch = history.begin()
    history.commit(batch, history.state())
    return batch


@pytest.mark.nightly
def test_without_a_lock_the_loser_keeps_its_files_and_its_sentence(spark: SparkSession, tmp_path: Path) -> None:
    """The faster one removes no unfinished batch with the same number; the next one of its kind removes an older
    one."""
    uri = str(tmp_path)
    slow, fast = RunHistory(spark, uri), RunHistory(spark, uri)
    unfinished = slow.begin()
    written = _unfinished(tmp_path, unfinished)
    _commit(fast)
    assert written.exists()
    with pytest.raises(HistoryMoved):
        slow.check_unmoved()
    _commit(fast)
    assert not written.exists()


def test_holder_of_the_lock_removes_what_is_left_over(spark: SparkSession, tmp_path: Path) -> None:
    """What has the number of its commit can only be left by a roll-up that died."""
    dead = RunHistory(spark, str(tmp_path))
    written = _unfinished(tmp_path, dead.begin())
    _commit(RunHistory(spark, str(tmp_path), alone=True))
    assert not written.exists()


def test_state_read_at_the_start_is_the_one_at_the_commit(spark: SparkSession, tmp_path: Path) -> None:
    """A roll-up whose commit was numbered before others came is late, even if its own number is free."""
    late = RunHistory(spark, str(tmp_path))
    batch, state = late.begin(), late.state()
    _others_committed(tmp_path, "00000002.json")
    with pytest.raises(HistoryMoved):
        late.commit(batch, state)


@pytest.mark.nightly
@pytest.mark.slow
def test_tables_need_no_earlier_state_after_the_commit(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next roll-up may remove that state at once, while this one still writes its tables."""
    history = str(tmp_path / "history")
    first, second = (SmallRun(number=n, day=n, target=TARGETS[n], verdicts=("violates",), flaky=True) for n in (0, 1))
    aggregate(
        spark,
        RollUpRequest(roots=[str(first.write(tmp_path))], out=str(tmp_path / "1"), history=history),
    )
    commit = RunHistory.commit

    def commit_and_lose_the_earlier(self: RunHistory, batch: Batch, state: State) -> None:
        commit(self, batch, state)
        for folder in (tmp_path / "history" / "states").iterdir():
            if folder.name != batch.name:
                shutil.rmtree(folder)

    monkeypatch.setattr(RunHistory, "commit", commit_and_lose_the_earlier)
    out = tmp_path / "2"
    aggregate(spark, RollUpRequest(roots=[str(second.write(tmp_path))], out=str(out), history=history))
    for table in ("flakes", "speed"):
        targets = pq.read_table(out / "tables" / f"{table}.parquet")["target"].to_pylist()
        assert {*targets} == {first.target, second.target}, table


def test_failure_that_another_roll_up_caused_is_explained(spark: SparkSession, tmp_path: Path) -> None:
    """A removed file is no error of Spark's if the history moved; without that it stays what it is."""
    slow = RunHistory(spark, str(tmp_path))
    with pytest.raises(FileNotFoundError), slow.writing():
        raise FileNotFoundError
    _others_committed(tmp_path, "00000001.json")
    with pytest.raises(HistoryMoved), slow.writing():
        raise FileNotFoundError


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "", "/a/b"), "/a/b: No space left on device"),
        (OSError(errno.EROFS, "in the words of Arrow"), "Read-only file system"),
        (
            RuntimeError(
                "An error occurred while calling o1.parquet.\n: org.apache.spark.SparkException: Job aborted.\n"
                "Caused by: java.io.IOException: No space left on device\n\tat java.base/java.io.File.x(File.java:1)"
            ),
            "No space left on device",
        ),
        (
            RuntimeError(": java.io.IOException: Mkdirs failed to create file:/a/b (exists=false)"),
            "Mkdirs failed to create file:/a/b (exists=false)",
        ),
        (FileNotFoundError(errno.ENOENT, "", "/a/b"), None),
        (ValueError("a fault of ours"), None),
    ],
    ids=["full", "read-only", "full in Java", "folder in Java", "missing", "other"],
)
def test_faults_of_disks_are_found(error: Exception, sentence: str | None) -> None:
    assert fault_of_disk(error) == sentence


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which no file can be made."""
    folder = tmp_path / "closed"
    folder.mkdir()

    def file_in(*, dir: Path) -> io.BytesIO:
        if dir == folder:
            # As Python does, with the name of the temporary file.
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(dir / "tmp8x2_j1qk"))
        return io.BytesIO()

    monkeypatch.setattr("reports.command_line.suite_command.TemporaryFile", file_in)
    return folder


@pytest.mark.parametrize("option", ["out", "history"])
def test_roll_up_says_why_it_cannot_write_before_java_starts(
    option: str,
    closed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Hadoop would say only that it could not create a folder."""
    monkeypatch.setattr("spark_aggregation.job.start_session", Mock(side_effect=AssertionError))
    run = SmallRun(number=1, day=1).write(tmp_path / "runs")
    folders = {"out": tmp_path / "out", "history": tmp_path / "h", option: closed / "not" / "yet"}
    with pytest.raises(SystemExit) as ended:
        command([str(run), *(f"--{name}={folder}" for name, folder in folders.items())])
    assert ended.value.code == CannotWrite.exit_code
    assert capsys.readouterr().err == (f"Error: the roll-up could not be written: {closed}: Read-only file system\n")


@pytest.mark.parametrize(
    ("more", "reads_only"), [((), True), (("--keep-days=3",), False)], ids=["read", "removed from"]
)
def test_history_that_is_only_read_need_not_be_writable(
    more: tuple[str, ...],
    reads_only: bool,
    closed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without new runs and without a retention nothing in it changes."""
    aggregated = Mock(return_value=RollUpResult())
    monkeypatch.setattr("spark_aggregation.job.start_session", Mock())
    monkeypatch.setattr("spark_aggregation.job.aggregate", aggregated)
    monkeypatch.setattr("spark_aggregation.job.Storage", Mock())
    arguments = [f"--history={closed}", f"--out={tmp_path / 'out'}", *more]
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert ended.value.code == (0 if reads_only else CannotWrite.exit_code)
    assert aggregated.called == reads_only


def test_full_disk_ends_the_command_with_10(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "", "/out")

    monkeypatch.setattr("spark_aggregation.job.aggregate", full)
    run = SmallRun(number=1, day=1).write(tmp_path / "runs")
    with pytest.raises(SystemExit) as ended:
        command([str(run), "--out", str(tmp_path / "out")])
    assert ended.value.code == CannotWrite.exit_code
    assert capsys.readouterr().err == ("Error: the roll-up could not be written: /out: No space left on device\n")
