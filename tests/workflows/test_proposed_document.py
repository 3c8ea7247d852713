"""A night proposes its document once, and only if something changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.reports.roll_up_tables import cell_row, clause_row, failure_row, target_row, write_tables
from tests.workflows.fake_gh import FakeGh
from workflows.compatibility.__main__ import write_documents
from workflows.proposed_document import BRANCH, TITLE, propose

CLAUSE = "KIP-35.keys-unique"
URL = "https://example.org/pull/1"


def site(folder: Path, verdict: str) -> Path:
    """Write the site of a night."""
    failures = ["aa"] if verdict == "violates" else []
    return write_tables(
        folder,
        cells=[cell_row(CLAUSE, "broker-1.0", verdict, failures=failures)],
        targets=[target_row("broker-1.0")],
        clauses=[clause_row(CLAUSE)],
        failures=[failure_row("aa", CLAUSE, "broker-1.0")],
    )


def git(folder: Path, *arguments: str) -> str:
    """Run git and return what it printed."""
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *author, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository whose document was made when nothing was wrong, and the bare one that it came from."""
    folder = tmp_path / "checkout"
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", "checkout")
    git(folder, "remote", "add", "origin", str(tmp_path / "origin"))
    write_documents(site(tmp_path / "before", "conforms"), folder / "docs")
    git(folder, "add", "docs")
    git(folder, "commit", "--quiet", "--message", "Add the documents")
    return folder


def proposed(checkout: Path, verdict: str, gh: FakeGh, monkeypatch: pytest.MonkeyPatch) -> str:
    """Propose the document of a night with this verdict."""
    gh.put_on_path(monkeypatch)
    night = site(checkout.parent / "night", verdict)
    return propose(night, "some/one", "main", "origin", checkout)


def test_change_is_proposed_once(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch has the new document, and the pull request is for the base branch."""
    gh = FakeGh(tmp_path / "bin", {"pr list": [], "pr create": URL})
    assert proposed(checkout, "violates", gh, monkeypatch) == f"Proposed {URL}"
    assert git(tmp_path / "origin", "log", "-1", "--format=%s", BRANCH).strip() == TITLE
    document = git(tmp_path / "origin", "show", f"{BRANCH}:docs/COMPATIBILITY.md")
    assert "[broker](#broker)" in document
    assert "main" in gh.calls[1]


def test_open_proposal_is_updated(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is never a second one."""
    gh = FakeGh(tmp_path / "bin", {"pr list": [{"url": URL}]})
    assert proposed(checkout, "violates", gh, monkeypatch) == f"Updated the proposal {URL}"


def test_nothing_is_proposed_if_nothing_changes(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even GitHub is asked."""
    gh = FakeGh(tmp_path / "bin", {})
    said = proposed(checkout, "conforms", gh, monkeypatch)
    assert said == "Nothing changes in COMPATIBILITY.md."
    assert gh.calls == []
