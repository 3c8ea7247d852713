"""A release has one version, which tag, changelog and README agree about."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from reports.command_line.suite_command import CannotWork
from tests.conformance.suite_runs import REPOSITORY
from workflows import release
from workflows.documents.project_address import PLACEHOLDER
from workflows.release import main, notes_of, version_in

VERSION = version_in((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def test_notes_are_those_of_the_version() -> None:
    changelog = "# Changelog\n\n## 1.1.0 (2027-01-02)\n\nNew.\n\n## 1.0.0 (2027-01-01)\n\nOld.\n"
    assert notes_of("1.1.0", changelog) == "New.\n"


@pytest.mark.parametrize(
    ("changelog", "message"),
    [
        ("# Changelog\n", "is none, not 1.0.0"),
        ("## 1.1.0 (2027-01-02)\n", "is 1.1.0, not 1.0.0"),
        ("## 1.0.0 (unreleased)\n", "no date for 1.0.0"),
        ("## 1.0.0\n", "no date for 1.0.0"),
    ],
    ids=["nothing", "another", "unreleased", "undated"],
)
def test_changelog_that_is_not_ready_ends_the_release(changelog: str, message: str) -> None:
    """The sentence says what is missing."""
    with pytest.raises(CannotWork, match=message):
        notes_of("1.0.0", changelog)


def test_another_tag_ends_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tag has to be the version, and this repository is ready for its own but for who owns it."""
    monkeypatch.setattr(release, "project_repository", lambda: "somebody/kafka-conformance")
    notes = tmp_path / "notes.md"
    refused = CliRunner().invoke(main, ["v0.0.1", "--notes", str(notes)])
    assert (refused.exit_code, notes.exists()) == (10, False)
    assert CliRunner().invoke(main, [f"v{VERSION}", "--notes", str(notes)]).exit_code == 0
    assert notes.read_text(encoding="utf-8").strip()


def test_address_that_names_nobody_ends_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "project_repository", lambda: f"{PLACEHOLDER}/kafka-conformance")
    refused = CliRunner().invoke(main, [f"v{VERSION}", "--notes", str(tmp_path / "notes.md")])
    assert refused.exit_code == 10
    assert refused.output.startswith("Error: [project.urls] in pyproject.toml has OWNER: write who owns the repository")


def test_readme_says_which_version_it_is() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"\n## Status\n\n{VERSION}, " in readme
