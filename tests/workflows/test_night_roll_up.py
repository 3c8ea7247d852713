"""The history of nights comes from its own branch and is kept completely.

A job adds columns only for the targets of its plan.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reports.records import OPERATION
from tests.run_folders import clause_entry, planned_cell, run_header, write_run
from tests.simulated_kill import SimulatedKill
from tests.workflows.fake_gh import FakeGh
from workflows import earlier_history
from workflows.earlier_history import newest_run
from workflows.night_result import judged_targets, of_operations
from workflows.night_roll_up import (
    ARCHIVE,
    grid_command,
    leave_out_unplanned,
    main,
    pack,
    pages_of,
    unpack,
)


def artefact(run: int, day: int, **changes: Any) -> dict[str, Any]:
    """Return one entry of GitHub's list; `changes` apply to the entry or to its run."""
    origin = {"id": run, "head_branch": "main", "head_repository_id": 1, "repository_id": 1}
    entry = {"expired": False, "created_at": f"2026-11-{day:02}T02:00:00Z"}
    entry |= {name: changes.pop(name) for name in list(changes) if name in entry}
    return {**entry, "workflow_run": origin | changes}


@pytest.mark.parametrize(
    ("listed", "newest"),
    [
        ([artefact(2, 12), artefact(3, 13), artefact(1, 11)], 3),
        ([artefact(1, 11), artefact(4, 14, expired=True)], 1),
        ([artefact(1, 11), artefact(9, 19, head_branch="topic")], 1),
        ([artefact(9, 19, head_repository_id=2)], None),
        # GitHub lists no run if it was deleted.
        ([{**artefact(1, 11), "workflow_run": None}], None),
    ],
    ids=["newest", "expired", "other-branch", "fork", "deleted"],
)
def test_newest_usable_one_is_taken(listed: list[dict[str, Any]], newest: int | None) -> None:
    """An artefact of the same name from a pull request never becomes the history."""
    assert newest_run(listed, "main") == newest


@pytest.mark.parametrize(
    ("listed", "words", "downloads"),
    [([], "a new one begins", 0), ([artefact(5, 11)], "history of workflow run 5", 1)],
    ids=["none", "one"],
)
def test_command_fetches_what_there_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    listed: list[dict[str, Any]],
    words: str,
    downloads: int,
) -> None:
    """The first night succeeds with an empty folder; later nights download the artefact."""
    answers = {
        "api repos/some/one/actions/artifacts?name=history&per_page=100": {"artifacts": listed},
        "run download": "",
    }
    gh = FakeGh(tmp_path / "bin", answers)
    gh.put_on_path(monkeypatch)
    out = tmp_path / "kept"
    arguments = ["--repository", "some/one", "--branch", "main", "--out", str(out)]
    result = CliRunner().invoke(earlier_history.main, arguments)
    assert result.exit_code == 0, result.output
    assert words in result.output
    assert out.is_dir()
    assert sum(call[:2] == ["run", "download"] for call in gh.calls) == downloads


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


def test_packing_that_was_killed_leaves_the_earlier_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_history_of_a_failed_roll_up_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


PLAN = json.dumps(
    {
        "include": [
            {"name": "packages", "judged": "a b"},
            {"name": "clients", "judged": "c"},
            {"name": "operations", "judged": of_operations("a")},
        ]
    }
)


def _write(folder: Path, target: str, role: str = "broker") -> Path:
    header = run_header([planned_cell(target=target)], clauses=[clause_entry(role=role)])
    return write_run(folder, header)


def test_runs_of_other_targets_are_left_out(tmp_path: Path) -> None:
    """Each is named; runs in the plan stay, and so does what the roll-up refuses and lists by itself."""
    kept = [
        _write(tmp_path / "runs-packages" / "r1", "a"),
        _write(tmp_path / "runs-packages" / "r2", "b"),
        _write(tmp_path / "runs-clients" / "r3", "c", "client"),
        _write(tmp_path / "runs-operations" / "r4", "a", OPERATION),
        _write(tmp_path / "runs-clients" / "cut-off", "a"),
    ]
    (kept[-1] / "run.json").write_text("{")
    foreign = [
        _write(tmp_path / "runs-clients" / "r5", "a"),
        _write(tmp_path / "runs-operations" / "deep" / "r6", "a"),
        _write(tmp_path / "runs-packages" / "r7", "a", OPERATION),
    ]
    assert leave_out_unplanned(tmp_path, PLAN) == [
        "left out runs-clients/r5: its job was to judge other targets than a",
        "left out runs-operations/deep/r6: its job was to judge other targets than a",
        "left out runs-packages/r7: its job was to judge other targets than operations/a",
    ]
    assert all(folder.exists() for folder in kept)
    assert not any(folder.exists() for folder in foreign)
    assert set(judged_targets(tmp_path)) == {"a", "b", "c", "operations/a"}


def test_artefacts_of_no_job_are_left_out(tmp_path: Path) -> None:
    """A run next to the folders, a folder with another name, and a link come from no job of the plan."""
    outside = _write(tmp_path / "outside" / "r1", "a").parent
    runs = tmp_path / "runs"
    for name in ("packages", "runs-others", "r2"):
        _write(runs / name / "r", "a")
    (runs / "run.json").touch()
    (runs / "runs-packages").symlink_to(outside)
    lines = leave_out_unplanned(runs, PLAN)
    assert [line.partition(":")[0] for line in lines] == [
        f"left out {name}" for name in ("packages", "r2", "run.json", "runs-others", "runs-packages")
    ]
    assert list(runs.iterdir()) == []
    assert (outside / "r1").exists()
