"""The files of a run folder, and the commit of the suite that they name."""

from __future__ import annotations

import json
import random
import subprocess
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pyarrow.parquet as pq
import pytest

from reports.command_line.distribution import COMMIT_VARIABLE, commit_of_checkout, suite_commit
from reports.record_columns import ANSWER_FIELDS
from reports.run import run_writer
from reports.run.recorder import RunRecorder
from reports.run.run_writer import PartWriter, new_run_id
from reports.run_folders.hash_list import WrittenFiles
from reports.run_folders.run_limits import MAX_FILE_BYTES, fault_of_files
from reports.run_folders.run_rules import fault_of_times
from tests.reports.recorders import key_of, recorder_for


def test_full_batches_go_to_disk_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are written batch by batch into numbered files, and the rest when asked for."""
    monkeypatch.setattr(run_writer, "ROWS_PER_PART", 2)
    writer = PartWriter(WrittenFiles(tmp_path), "answers", ANSWER_FIELDS)
    for number in range(5):
        writer.add({"answer_sha256": str(number), "received": bytes([number])})
    assert sorted(file.name for file in (tmp_path / "answers").iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    writer.flush()
    writer.flush()
    parts = sorted((tmp_path / "answers").iterdir())
    assert [pq.read_metadata(part).num_rows for part in parts] == [2, 2, 1]
    assert writer.count == 5


def test_large_responses_make_no_large_file(tmp_path: Path) -> None:
    """A hostile target sends megabytes that no compression makes small, and readers refuse files that are too large."""
    writer = PartWriter(WrittenFiles(tmp_path), "answers", ANSWER_FIELDS)
    for number in range(8):
        writer.add({"answer_sha256": str(number), "received": random.Random(number).randbytes(2**22)})
    writer.flush()
    sizes = [part.stat().st_size for part in (tmp_path / "answers").iterdir()]
    assert len(sizes) == 4
    assert max(sizes) < MAX_FILE_BYTES
    assert fault_of_files(tmp_path) is None


def test_nothing_is_written_for_no_rows(tmp_path: Path) -> None:
    """A table without rows has no folder."""
    PartWriter(WrittenFiles(tmp_path), "answers", ANSWER_FIELDS).flush()
    assert list(tmp_path.iterdir()) == []


def test_run_ids_sort_by_time_and_do_not_meet() -> None:
    """A run's id begins with its time in UTC, and two ids of the same second differ."""
    now = datetime(2026, 11, 21, 14, 30, 5, tzinfo=UTC)
    ids = {new_run_id(now) for _ in range(100)}
    assert len(ids) == 100
    assert all(id_.startswith("20261121T143005Z-") for id_ in ids)


def test_load_of_the_machine_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header has the load at the start and the highest that was seen since."""
    monkeypatch.setattr(run_writer, "load", lambda: 1.4)
    writer = (recorder := recorder_for(tmp_path, {key_of(): "MUST"})).writer
    for now in (0.5, 20.3, 7.0):
        writer.note_load(now)
    assert writer.load_words.startswith("1.4 at the start, 20.3 at most, on ")
    recorder.finish(0)
    host = json.loads((writer.folder / "run.json").read_text())["host"]
    assert (host["load_at_start"], host["highest_load"]) == (1.4, 20.3)


def test_clock_that_is_set_back_makes_no_run_that_ends_before_it_began(
    recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers would refuse such a run."""

    class SetBack(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) - timedelta(hours=1)

    monkeypatch.setattr(run_writer, "datetime", SetBack)
    recorder.finish(0)
    header = json.loads((recorder.writer.folder / "run.json").read_text())
    assert fault_of_times(header["started_at"], header["footer"]["finished_at"]) is None


def _git(folder: Path, *arguments: str) -> str:
    person = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *person, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_commit_is_that_of_the_checkout(tmp_path: Path) -> None:
    """An installed package, a folder within another project's checkout, and a checkout without commits have none."""
    inside = tmp_path / "inside"
    inside.mkdir()
    assert commit_of_checkout(inside) is None
    commit_of_checkout.cache_clear()
    _git(tmp_path, "init", "--quiet")
    assert commit_of_checkout(inside) is None
    _git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "First")
    assert commit_of_checkout(tmp_path) == _git(tmp_path, "rev-parse", "HEAD")
    commit_of_checkout.cache_clear()
    assert commit_of_checkout(inside) is None


def test_commit_of_another_project_is_not_the_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    """In CI `GITHUB_SHA` may be another project's commit; the action has a variable for the suite's own."""
    monkeypatch.setenv("GITHUB_SHA", "a" * 40)
    assert suite_commit() != "a" * 40
    monkeypatch.setenv(COMMIT_VARIABLE, "b" * 40)
    assert suite_commit() == "b" * 40
