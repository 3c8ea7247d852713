"""Faults of disks end every command with exit status 10 and one sentence.

The disk is full, or a folder is removed or cannot be written to.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner

from clauses.exit_statuses import USAGE_ERROR
from conformance import __main__ as console_script
from conformance.commands import grid as grid_command
from conformance.commands import site, spark_jobs, start, verify, watch
from reports.command_line.suite_command import DISK_FAULTS
from spark_aggregation import job, rejudge_job, request_logs_job

FAULTS = sorted(DISK_FAULTS)


@pytest.mark.parametrize("number", FAULTS, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ["/a/b", None], ids=["named", "unnamed"])
def test_fault_of_a_disk_is_one_sentence(number: int, name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever command meets it."""

    @click.command()
    def command() -> None:
        raise OSError(number, "in other words", name)

    monkeypatch.setattr(grid_command, "grid", command)
    ended = CliRunner().invoke(console_script.main, ["grid"])
    what = name or "a file could not be read or written"
    assert (ended.exit_code, ended.output) == (10, f"Error: {what}: {os.strerror(number)}\n")


def test_other_errors_are_faults_of_the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file has a cause that only its command knows. A traceback ends with 10 and not with 1."""

    @click.command()
    def command() -> None:
        raise FileNotFoundError(errno.ENOENT, "", "/a/b")

    monkeypatch.setattr(grid_command, "grid", command)
    ended = CliRunner().invoke(console_script.main, ["grid"])
    assert ended.exit_code == 10
    assert ended.stderr.startswith("Traceback (most recent call last):")
    assert ended.stderr.endswith("FileNotFoundError: [Errno 2] : '/a/b'\n")


def test_removed_working_folder_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ended = CliRunner().invoke(console_script.main, ["targets"])
    assert ended.exit_code == 10
    assert ended.output == "Error: the working folder does not exist any more; change to another\n"
    monkeypatch.undo()


def _take_any_folder_for_a_roll_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "ROW_KEYS", {})
    monkeypatch.setattr(site, "missing_run_lists", lambda grid: [])


@pytest.mark.parametrize("number", FAULTS, ids=errno.errorcode.get)
def test_fault_of_a_disk_blames_no_grid(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` and `site` say nothing about the grid then, as for a folder that they may not read; they name a
    damaged one."""
    (tmp_path / "tables" / "cells.parquet").mkdir(parents=True)
    commands = (["verify", str(tmp_path), str(tmp_path)], ["site", str(tmp_path)])
    for raised, status in ((OSError(number, ""), 10), (ValueError(), USAGE_ERROR)):
        fault = Mock(side_effect=raised)
        monkeypatch.setattr(verify, "differing_files", fault)
        monkeypatch.setattr(site, "read_tables", fault)
        _take_any_folder_for_a_roll_up(monkeypatch)
        for arguments in commands:
            ended = CliRunner().invoke(console_script.main, arguments)
            assert ended.exit_code == status
            assert ("cannot be read as a grid" in ended.output) == (status != 10)


def test_runs_that_verify_may_not_read_are_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tables" / "cells.parquet").mkdir(parents=True)
    closed = str(tmp_path / "runs")
    (tmp_path / "runs").mkdir()
    fault = PermissionError(errno.EACCES, "", closed)
    monkeypatch.setattr(verify, "differing_files", lambda site: [])
    # The rights of folders do not bind root.
    monkeypatch.setattr(os, "scandir", Mock(side_effect=fault))
    ended = CliRunner().invoke(console_script.main, ["verify", str(tmp_path), closed])
    assert (ended.exit_code, ended.output) == (10, f"Error: {closed}: Permission denied\n")


@pytest.mark.parametrize("number", FAULTS, ids=errno.errorcode.get)
def test_site_that_cannot_be_written_blames_no_grid(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "index.html")
    _take_any_folder_for_a_roll_up(monkeypatch)
    monkeypatch.setattr(site, "read_tables", lambda grid, pages: (Mock(), Mock()))
    monkeypatch.setattr("reports.site.build.draw_machines", Mock(side_effect=OSError(number, "", path)))
    ended = CliRunner().invoke(console_script.main, ["site", str(tmp_path)])
    assert (ended.exit_code, ended.output) == (10, f"Error: {path}: {os.strerror(number)}\n")


@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [
        (job, "_rolled_up", ["--out", "grid"]),
        (rejudge_job, "_rejudge", ["--out", "differences.jsonl"]),
        (request_logs_job, "count_logs", []),
    ],
    ids=["roll-up", "rejudge", "request logs"],
)
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        *((OSError(number, "", "/a/b"), f": /a/b: {os.strerror(number)}\n") for number in FAULTS),
        (RuntimeError("a bug"), "RuntimeError: a bug\n"),
    ],
)
def test_jobs_of_spark_end_with_10_as_well(
    error: Exception,
    sentence: str,
    module: ModuleType,
    function: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1 would say that no run counts, that the oracle forbids something, or that a client breaks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "start_session", Mock())
    monkeypatch.setattr(module, function, Mock(side_effect=error))
    ended = CliRunner().invoke(module.command, [str(tmp_path), *arguments])
    assert ended.exit_code == 10
    assert ended.stderr.endswith(sentence)


def test_rejudge_says_why_it_cannot_write_before_java_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the roll-up does."""
    closed = OSError(errno.EROFS, "", "/closed")
    monkeypatch.setattr(rejudge_job, "check_writable", Mock(side_effect=closed))
    monkeypatch.setattr(rejudge_job, "start_session", Mock(side_effect=AssertionError))
    ended = CliRunner().invoke(rejudge_job.command, [str(tmp_path), "--out", "/closed/found.jsonl"])
    assert (ended.exit_code, ended.stderr) == (
        10,
        f"Error: the differences could not be found and written: /closed: {os.strerror(errno.EROFS)}\n",
    )


@pytest.mark.parametrize(("ended_with", "status"), [(1, 10), (-9, 10), (2, 2), (3, 3), (10, 10)])
def test_logs_that_spark_cannot_count_break_no_client(
    ended_with: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 of `watch` says that a client breaks with a release, and not that the job did."""
    program = f"import os, signal; {ended_with} > 0 and os._exit({ended_with}); os.kill(os.getpid(), 9)"
    monkeypatch.setattr(spark_jobs, "spark_job", lambda *_: [sys.executable, "-c", program])
    with pytest.raises(SystemExit) as ended:
        spark_jobs.count_with_spark(["file:/logs"])
    assert ended.value.code == status


@pytest.mark.parametrize(
    ("module", "function", "arguments"),
    [
        (
            watch,
            "ReportFolder",
            ("watch", "--bootstrap-server", "localhost:9092", "--for", "apache-kafka-4.4.0"),
        ),
        (start, "temporary_folder", ("start", "scripted")),
    ],
    ids=["watch", "start"],
)
def test_folder_on_a_disk_that_is_read_only_is_no_wrong_usage(
    module: ModuleType, function: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 and not 2, as for every command."""
    monkeypatch.setattr(module, function, Mock(side_effect=OSError(errno.EROFS, "", "/a/b")))
    ended = CliRunner().invoke(console_script.main, [*arguments, "--out", "/a/b"])
    assert (ended.exit_code, ended.output) == (10, f"Error: /a/b: {os.strerror(errno.EROFS)}\n")
