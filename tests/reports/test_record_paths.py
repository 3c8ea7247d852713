"""Records are kept only in paths that every reader can open."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from reports.errors import RunRefused
from reports.plugin import folder_for_runs
from reports.record_paths import fault_of_absolute_path, fault_of_path, shown_path
from reports.run.run_folder import read_run_header
from tests.broken_run_folders import NOT_UTF8, write_whole_run

SENTENCE = "is not UTF-8, so neither Spark nor Arrow can open it; give it another name"


def test_path_in_utf8_has_no_fault() -> None:
    """Whatever characters it has."""
    assert fault_of_path("läufe/✓ \n") is None
    assert shown_path("läufe/✓") == "läufe/✓"


def test_other_bytes_are_shown_with_escapes() -> None:
    """The sentence can be written to any file."""
    assert fault_of_path(Path(NOT_UTF8)) == rf"bad\xff {SENTENCE}"
    assert fault_of_path(NOT_UTF8, called="it") == f"it {SENTENCE}"


def test_relative_path_has_the_fault_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
