"""Tests of what a step reports to GitHub.

It reports outputs and summaries, one issue for each violated clause of a target, and one proposal of a document.
"""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.reports.roll_up_tables import (
    RUN_ID,
    cell_row,
    clause_row,
    failure_row,
    target_row,
    write_tables,
)
from tests.workflows.fake_gh import FakeGh
from workflows.compatibility.__main__ import write_documents
from workflows.github import write_outputs, write_summary
from workflows.new_issues import main
from workflows.proposed_document import BRANCH, TITLE, propose


def test_a_value_cannot_set_another_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value with line breaks stays one value, because its delimiter is random."""
    path = tmp_path / "outputs"
    monkeypatch.setenv("GITHUB_OUTPUT", str(path))
    write_outputs({"name": "one\nother<<end\nstolen\nend"})
    match = re.fullmatch(r"name<<(end-[0-9a-f]{32})\n(.*)\n\1\n", path.read_text(), re.DOTALL)
    assert match is not None
    assert match[2] == "one\nother<<end\nstolen\nend"


def test_texts_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that an earlier step wrote is kept."""
    path = tmp_path / "summary"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    write_summary("one")
    write_summary("two\n\n")
    assert path.read_text() == "one\ntwo\n"


def test_outside_a_workflow_they_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every step can be run by hand."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    write_summary("one")
    assert capsys.readouterr().out == "one\n"


CLAUSE = "KIP-511.illegal-name-refused"
OTHER = "KIP-35.table-is-whole"
TARGET = "broker-1.0"
PAGE = "https://example.org/grid"
MARKER = f"<!-- kafka-conformance: {CLAUSE} on {TARGET} -->"


def transition(from_verdict: str | None) -> dict[str, Any]:
    """Return the transition to `violates` in the run that the grid shows."""
    return {
        "clause": CLAUSE,
        "target": TARGET,
        "listener": "plaintext",
        "at": datetime(2026, 11, 21, 14, 30, tzinfo=UTC),
        "run_id": RUN_ID,
        "from_verdict": from_verdict,
        "to_verdict": "violates",
        "kind": "appeared" if from_verdict is None else "regressed",
    }


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site: one clause is violated on two listeners, one has a known violation, and one holds."""
    return write_site(tmp_path / "site", transition(None))


def write_site(folder: Path, *transitions: dict[str, Any]) -> Path:
    """Write such a site with these transitions."""
    return write_tables(
        folder,
        cells=[
            cell_row(CLAUSE, TARGET, "violates", failures=["aa11"]),
            cell_row(CLAUSE, TARGET, "violates", failures=["aa11", "bb22"], listener="ssl"),
            cell_row(OTHER, TARGET, "known_violation", known_violation="as documented"),
            cell_row(OTHER, "fine-1.0"),
        ],
        targets=[
            target_row(TARGET),
            target_row(TARGET, listener="ssl"),
            target_row("fine-1.0"),
        ],
        clauses=[clause_row(OTHER), clause_row(CLAUSE, 1)],
        failures=[failure_row("aa11", CLAUSE, TARGET)],
        transitions=list(transitions),
    )


def run(site: Path, gh: FakeGh, monkeypatch: pytest.MonkeyPatch, *options: str) -> Result:
    """Run the command against a fake GitHub."""
    gh.put_on_path(monkeypatch)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    arguments = [str(site), "--repository", "some/one", "--page", PAGE, *options]
    return CliRunner().invoke(main, arguments)


def github(tmp_path: Path, *issues: dict[str, Any]) -> FakeGh:
    """Return a fake GitHub with these issues."""
    answers = {
        "issue list": list(issues),
        "label create": "",
        "issue create": "https://example.org/issues/7",
        "issue reopen": "",
    }
    return FakeGh(tmp_path / "bin", answers)


def test_a_new_violation_gets_one_issue(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two listeners of a target share one issue, with the sentence, the listeners and links to the evidence."""
    gh = github(tmp_path)
    result = run(site, gh, monkeypatch)
    assert result.exit_code == 0, result.output
    (created,) = [call for call in gh.calls if call[:2] == ["issue", "create"]]
    assert created[created.index("--title") + 1].endswith(f"violates {CLAUSE}")
    body = created[created.index("--body") + 1]
    assert MARKER in body
    assert "plaintext, ssl" in body
    assert f"{PAGE}/failures/aa11.html" in body
    assert f"opened [{CLAUSE} on {TARGET}](https://example.org/issues/7)" in result.output


def issue(number: int, state: str) -> dict[str, Any]:
    """Return an issue of the violation, which somebody has edited."""
    return {"number": number, "state": state, "body": f"{MARKER}\nedited"}


CREATED = [["label", "create"], ["issue", "create"]]


@pytest.mark.parametrize(
    ("before", "issues", "calls"),
    [
        pytest.param(None, [issue(3, "OPEN")], [], id="has-one"),
        pytest.param(None, [issue(3, "CLOSED")], [], id="closed-although-it-remains"),
        pytest.param("conforms", [issue(3, "CLOSED")], [["issue", "reopen", "3"]], id="came-back"),
        # The bound of an earlier night may have left it out.
        pytest.param("conforms", [], CREATED, id="came-back-without-one"),
        # The closed one was a duplicate, for example.
        pytest.param("conforms", [issue(9, "CLOSED"), issue(3, "OPEN")], [], id="newer-closed"),
        pytest.param("conforms", [issue(3, "OPEN"), issue(9, "CLOSED")], [], id="other-order"),
    ],
)
def test_a_violation_has_one_issue(
    before: str | None,
    issues: list[dict[str, Any]],
    calls: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Never a second one, also for two listeners; a closed one is opened again if the clause held before the newest
    run."""
    gh = github(tmp_path, *issues)
    result = run(write_site(tmp_path / "site", transition(before)), gh, monkeypatch)
    assert result.exit_code == 0, result.output
    listed, *others = gh.calls
    assert listed[:2] == ["issue", "list"]
    assert [call[: len(expected)] for call, expected in zip(others, calls, strict=True)] == calls


def test_issues_of_a_night_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only some of many new violations get an issue; the rest are named for the next night."""
    clauses = [f"KIP-511.clause-{number}" for number in range(5)]
    site = write_tables(
        tmp_path / "site",
        cells=[cell_row(clause, TARGET, "violates") for clause in clauses],
        targets=[target_row(TARGET)],
        clauses=[clause_row(clause, number) for number, clause in enumerate(clauses)],
    )
    gh = github(tmp_path)
    result = run(site, gh, monkeypatch, "--most", "2")
    assert result.exit_code == 0, result.output
    assert sum(call[:2] == ["issue", "create"] for call in gh.calls) == 2
    assert result.output.count("not opened yet") == 3


def test_a_refusal_by_github_is_said(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error from GitHub ends the step, with GitHub's message."""
    result = run(site, FakeGh(tmp_path / "bin", {}), monkeypatch)
    assert result.exit_code == 10
    assert "gh issue failed: HTTP 403" in result.output


BROKEN = "KIP-35.keys-unique"
URL = "https://example.org/pull/1"


def site_with(folder: Path, verdict: str) -> Path:
    """Write the site of a night."""
    failures = ["aa"] if verdict == "violates" else []
    return write_tables(
        folder,
        cells=[cell_row(BROKEN, "broker-1.0", verdict, failures=failures)],
        targets=[target_row("broker-1.0")],
        clauses=[clause_row(BROKEN)],
        failures=[failure_row("aa", BROKEN, "broker-1.0", reproducer="STEPS = []\n")],
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
    write_documents(site_with(tmp_path / "before", "conforms"), folder / "docs")
    git(folder, "add", "docs")
    git(folder, "commit", "--quiet", "--message", "Add the documents")
    return folder


def proposed(checkout: Path, verdict: str, gh: FakeGh, monkeypatch: pytest.MonkeyPatch) -> str:
    """Propose the document of a night with this verdict."""
    gh.put_on_path(monkeypatch)
    night = site_with(checkout.parent / "night", verdict)
    return propose(night, "some/one", "main", "origin", checkout)


def test_change_is_proposed_once(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch has the new document, and the pull request is for the base branch."""
    gh = FakeGh(tmp_path / "bin", {"pr list": [], "pr create": URL})
    assert proposed(checkout, "violates", gh, monkeypatch) == f"Proposed {URL}"
    assert git(tmp_path / "origin", "log", "-1", "--format=%s", BRANCH).strip() == TITLE
    document = git(tmp_path / "origin", "show", f"{BRANCH}:docs/COMPATIBILITY.md")
    assert "[broker](findings/broker/README.md)" in document
    (created,) = (call for call in gh.calls if call[:2] == ["pr", "create"])
    assert "main" in created
    assert f"### New findings: 1\n\n- `broker/{BROKEN}-1`: " in created[-1]


def test_open_proposal_is_updated(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text says what this night changes, not what the first one did."""
    gh = FakeGh(tmp_path / "bin", {"pr list": [{"url": URL}], "pr edit": ""})
    assert proposed(checkout, "violates", gh, monkeypatch) == f"Updated the proposal {URL}"
    assert gh.calls[-1][:4] == ["pr", "edit", URL, "--body"]
    assert "### New findings: 1" in gh.calls[-1][4]


def test_nothing_is_proposed_if_nothing_changes(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even GitHub is asked."""
    gh = FakeGh(tmp_path / "bin", {})
    output = proposed(checkout, "conforms", gh, monkeypatch)
    assert output == "Nothing changes in COMPATIBILITY.md."
    assert gh.calls == []
