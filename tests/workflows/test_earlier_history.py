"""The history comes from the newest artefact of this repository's own branch, and from no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.workflows.fake_gh import FakeGh
from workflows.earlier_history import main, newest_run


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
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert words in result.output
    assert out.is_dir()
    assert sum(call[:2] == ["run", "download"] for call in gh.calls) == downloads
