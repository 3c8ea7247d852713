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


def test_newest_usable_one_is_taken() -> None:
    """Neither the order of the list nor a newer but expired artefact changes the choice."""
    listed = [artefact(2, 12), artefact(3, 13), artefact(1, 11), artefact(4, 14, expired=True)]
    assert newest_run(listed, "main") == 3


@pytest.mark.parametrize(
    "changes",
    [{"head_branch": "topic"}, {"head_repository_id": 2}],
    ids=["other-branch", "fork"],
)
def test_foreign_ones_do_not_count(changes: dict[str, Any]) -> None:
    """An artefact of the same name from a pull request never becomes the history."""
    assert newest_run([artefact(1, 11), artefact(9, 19, **changes)], "main") == 1
    assert newest_run([artefact(9, 19, **changes)], "main") is None


def test_an_artefact_without_a_run_does_not_count() -> None:
    """GitHub lists no run if it was deleted."""
    assert newest_run([{**artefact(1, 11), "workflow_run": None}], "main") is None


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
