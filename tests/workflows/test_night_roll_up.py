"""Whenever the archive of the history exists, it is complete."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.simulated_kill import SimulatedKill
from workflows.night_roll_up import ARCHIVE, grid_command, main, pack, pages_of, unpack


def _write_history(kept: Path, text: str) -> None:
    for name in ("one", "two"):
        path = kept / "history" / "commits" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _texts(history: Path) -> list[str]:
    return [path.read_text() for path in sorted(history.glob("commits/*"))]


def test_packed_history_is_unpacked_as_it_was(tmp_path: Path) -> None:
    """Only the archive is needed, and nothing else is left next to it."""
    _write_history(tmp_path, "first night")
    pack(tmp_path)
    shutil.rmtree(tmp_path / "history")
    assert [path.name for path in tmp_path.iterdir()] == ["history.tar"]
    assert _texts(unpack(tmp_path)) == ["first night"] * 2


def test_packing_that_was_killed_leaves_the_earlier_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next night finds the complete history of the night before, and overwrites what was left."""
    _write_history(tmp_path, "first night")
    pack(tmp_path)
    _write_history(tmp_path, "second night")
    add = tarfile.TarFile.addfile

    def half(archive: tarfile.TarFile, member: tarfile.TarInfo, *content: Any) -> None:
        add(archive, member, *content)
        if member.isfile():
            raise SimulatedKill

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "addfile", half)
        with pytest.raises(SimulatedKill):
            pack(tmp_path)
    shutil.rmtree(tmp_path / "history")
    assert _texts(unpack(tmp_path)) == ["first night"] * 2
    pack(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history", "history.tar"]


def test_history_of_a_failed_roll_up_is_not_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive keeps its bytes, whatever the roll-up left behind, and the step ends with its status."""
    kept, runs = tmp_path / "kept", tmp_path / "runs"
    runs.mkdir()
    _write_history(kept, "first night")
    pack(kept)
    archived = (kept / ARCHIVE).read_bytes()

    def fail(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        _write_history(kept, "half a night")
        return subprocess.CompletedProcess(command, 3, stdout="")

    monkeypatch.setattr(subprocess, "run", fail)
    arguments = [str(runs), "--kept", str(kept), "--out", str(tmp_path / "site")]
    assert CliRunner().invoke(main, arguments).exit_code == 3
    assert (kept / ARCHIVE).read_bytes() == archived


@pytest.mark.parametrize(
    ("repository", "pages"),
    [
        ("Octo/kafka-conformance", "https://octo.github.io/kafka-conformance/"),
        ("octo/octo.github.io", "https://octo.github.io/"),
    ],
)
def test_published_night_has_links_that_work_anywhere(repository: str, pages: str) -> None:
    """The address is known before GitHub publishes; a night that is not published has relative links."""
    assert pages_of(repository) == pages
    folders = (Path("runs"), Path("history"), None, Path("site"))
    command = grid_command(*folders, published_by=repository)
    assert command[command.index("--pages") + 1] == pages
    assert "--pages" not in grid_command(*folders)
