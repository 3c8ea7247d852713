"""Tests that need a program say how to get it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import require_program


@pytest.fixture(autouse=True)
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with one empty folder."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_missing_program_skips_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CI the test is skipped, and the reason names the package."""
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"w3m is not on the PATH.*apt-get install w3m"):
        require_program("w3m")


def test_missing_program_fails_the_test_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CI is set a missing program is a failure: CI installs all of them."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="w3m is not on the PATH"):
        require_program("w3m")


def test_alternative_stands_in_for_the_program(empty_path: Path) -> None:
    """The first program that is there is taken."""
    there = empty_path / "google-chrome"
    there.touch(mode=0o755)
    assert require_program("chromium", "google-chrome") == str(there)
