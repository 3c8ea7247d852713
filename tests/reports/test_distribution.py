"""The suite's commit is the one that the action names, otherwise that of its checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reports.distribution import COMMIT_VARIABLE, commit_of_checkout, suite_commit


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
