"""Records that cannot be kept are reported as the suite's fault.

One sentence reports a full disk, and a path that not every reader can open.
"""

from __future__ import annotations

import errno
import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from reports import plugin
from reports.plugin import folder_for_runs
from reports.records import Verdict
from reports.run import run_writer
from reports.run.exit_status import exit_status_of
from reports.run.recorder import RunRecorder
from reports.run.run_folder import read_run_header
from reports.run_folders.record_paths import fault_of_absolute_path, fault_of_path, shown_path
from reports.run_folders.refused_runs import RunRefused
from tests.broken_run_folders import NOT_UTF8, write_whole_run
from tests.reports.recorders import example_of, finished_session, key_of, recorder_for

NO_SPACE = os.strerror(errno.ENOSPC)
HARNESS_ERROR = 10


def full_for(write: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """Return what writes as `write` does, but for files of some names, for which there is no space."""

    def writes(*args: Any, **how: Any) -> Any:
        if any(Path(str(arg)).name in names for arg in args[:2]):
            # In the words of Arrow.
            raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28]")
        return write(*args, **how)

    return writes


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("summary.md", id="summary"),
        pytest.param("part-00000.unfinished", id="flush"),
        pytest.param("run.json.unfinished", id="footer"),
    ],
)
def test_end_that_cannot_be_written_is_a_fault_of_ours(
    name: str, recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conforming run ends with 10 and one sentence, and its folder is refused for want of a footer."""
    recorder.judged(example_of(Verdict.CONFORMS))
    monkeypatch.setattr(Path, "write_text", full_for(Path.write_text, name))
    monkeypatch.setattr(Path, "write_bytes", full_for(Path.write_bytes, name))
    session = finished_session(recorder, 0)
    assert session.exitstatus == HARNESS_ERROR
    printed: list[str] = []
    terminal = SimpleNamespace(
        config=session.config,
        section=printed.append,
        write_line=lambda line, **_: printed.append(line),
        _tw=SimpleNamespace(fullwidth=80),
    )
    plugin.pytest_terminal_summary(cast(pytest.TerminalReporter, terminal))
    folder = recorder.writer.folder
    assert printed[-1] == f"the records could not be written to {folder}: {NO_SPACE}"
    with pytest.raises(RunRefused):
        read_run_header(folder)


def test_nothing_is_kept_after_a_write_that_failed(recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full batch that cannot be written raises nothing into the example, and no footer counts the others."""
    monkeypatch.setattr(run_writer, "ROWS_PER_PART", 2)
    full = full_for(Path.write_bytes, "part-00000.unfinished")
    monkeypatch.setattr(Path, "write_bytes", full)
    for number in range(4):
        recorder.judged(example_of(Verdict.CONFORMS, number=number))
    assert recorder.writer.fault.endswith(NO_SPACE)
    assert recorder.writer.examples.count == 2
    recorder.finish(0)
    with pytest.raises(RunRefused):
        read_run_header(recorder.writer.folder)


def test_failure_that_cannot_be_kept_leaves_the_run_without_a_footer(
    recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders of the failures are part of the records."""
    full = full_for(Path.write_bytes, "failure.unfinished")
    monkeypatch.setattr(Path, "write_bytes", full)
    recorder.judged(example_of(Verdict.VIOLATES, message="seen"))
    recorder.write_failures(key_of())
    recorder.finish(1)
    assert recorder.writer.fault.endswith(NO_SPACE)
    with pytest.raises(RunRefused):
        read_run_header(recorder.writer.folder)


def test_folder_that_cannot_be_made_is_noted(tmp_path: Path) -> None:
    """Where a file stands in its place, for example."""
    (tmp_path / "runs").touch()
    recorder = recorder_for(tmp_path / "runs", {key_of(): "MUST"})
    assert recorder.writer.fault.endswith(os.strerror(errno.ENOTDIR))


def test_records_that_cannot_be_read_again_are_a_fault_of_ours(
    recorder: RunRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client may have taken the permission away: the run ends with 10 and a sentence, and with no traceback."""
    recorder.judged(example_of(Verdict.CONFORMS))
    closed = Mock(side_effect=PermissionError(errno.EACCES, os.strerror(errno.EACCES), "x"))
    monkeypatch.setattr("reports.run_folders.hash_list.sha256_of", closed)
    recorder.finish(0)
    folder = recorder.writer.folder
    assert recorder.writer.fault == (f"the records in {folder} could not be read again: {os.strerror(errno.EACCES)}")
    assert exit_status_of(recorder, pytest_status=0, strict=False) == HARNESS_ERROR


def test_run_without_records_judges_no_further(recorder: RunRecorder) -> None:
    """Before the first test it ends with 10 and the sentence; later it stops after the running property."""
    config = SimpleNamespace(stash=pytest.Stash(), getoption=lambda option: None)
    config.stash[plugin.RECORDER] = recorder
    session = SimpleNamespace(config=config, shouldstop=False)
    item = SimpleNamespace(config=config, session=session)
    plugin.pytest_collection_finish(cast(pytest.Session, session))
    plugin.pytest_runtest_teardown(cast(pytest.Item, item))
    assert not session.shouldstop
    recorder.writer.fault = "the records could not be written"
    plugin.pytest_runtest_teardown(cast(pytest.Item, item))
    assert session.shouldstop
    with pytest.raises(pytest.exit.Exception, match="could not be written") as ended:
        plugin.pytest_collection_finish(cast(pytest.Session, session))
    assert ended.value.returncode == HARNESS_ERROR


SENTENCE = "is not UTF-8, so neither Spark nor Arrow can open it; give it another name"


def test_path_in_utf8_has_no_fault() -> None:
    """Whatever characters it has."""
    assert fault_of_path("läufe/✓ \n") is None
    assert shown_path("läufe/✓") == "läufe/✓"


def test_other_bytes_are_shown_with_escapes() -> None:
    """The sentence can be written to any file."""
    assert fault_of_path(Path(NOT_UTF8)) == rf"bad\xff {SENTENCE}"
    assert fault_of_path(NOT_UTF8, called="it") == f"it {SENTENCE}"


def test_relative_path_has_the_fault_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is opened by its absolute one."""
    (tmp_path / NOT_UTF8).mkdir()
    monkeypatch.chdir(tmp_path / NOT_UTF8)
    assert fault_of_path("run") is None
    assert fault_of_absolute_path("run") == rf"{tmp_path}/bad\xff/run {SENTENCE}"


@pytest.mark.parametrize("name", [os.fsdecode(b"bad\xff\xfe/r"), "link/r"])
def test_no_run_is_written_where_none_can_read_it(name: str, tmp_path: Path) -> None:
    """The value of `--runs` is refused by its own name, or by that of the place that it leads to."""
    (tmp_path / "link").symlink_to(tmp_path / NOT_UTF8)
    with pytest.raises(ArgumentTypeError) as refused:
        folder_for_runs(str(tmp_path / name))
    assert str(refused.value).startswith(rf"{tmp_path}/bad\xff")
    assert str(refused.value).endswith(SENTENCE)
    assert folder_for_runs(str(tmp_path)) == str(tmp_path)


def test_run_in_such_a_folder_is_refused(tmp_path: Path) -> None:
    """With a sentence that any terminal and file can have."""
    folder = write_whole_run(tmp_path / "run").rename(tmp_path / NOT_UTF8)
    with pytest.raises(RunRefused) as refused:
        read_run_header(folder)
    assert str(refused.value) == rf"{tmp_path}/bad\xff: its path {SENTENCE}"
