"""The files that a cluster needs are written, or one sentence says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.command_line.suite_command import CannotWork
from spark_aggregation.py_files import ARCHIVE, SCRIPTS, command


def test_archive_and_scripts_are_written(tmp_path: Path) -> None:
    """Into a folder that is made."""
    with pytest.raises(SystemExit) as ended:
        command([str(tmp_path / "new")])
    assert ended.value.code == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {ARCHIVE, *SCRIPTS}


def test_folder_that_cannot_be_made_is_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 10, as for every command."""
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ended:
        command([str(tmp_path / "file" / "new")])
    assert ended.value.code == CannotWork.exit_code
    assert capsys.readouterr().err == f"Error: {tmp_path}/file/new: Not a directory\n"
