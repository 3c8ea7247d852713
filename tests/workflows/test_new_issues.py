"""Each violated clause of a target gets one issue, and never a second one."""

from __future__ import annotations

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
from workflows.new_issues import main

CLAUSE = "KIP-511.illegal-name-refused"
OTHER = "KIP-35.table-is-whole"
TARGET = "broker-1.0"
PAGE = "https://example.org/grid"
MARKER = f"<!-- kafka-conformance: {CLAUSE} on {TARGET} -->"


def transition(from_verdict: str | None, *, clause: str = CLAUSE) -> dict[str, Any]:
    """Return the transition to `violates` in the run that the grid shows."""
    return {
        "clause": clause,
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


def test_a_new_violation_gets_one_issue(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize("state", ["OPEN", "CLOSED"])
def test_what_has_an_issue_gets_no_second_one(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """This holds if the issue is open, and if it was closed although the violation remains."""
    gh = github(tmp_path, {"number": 3, "state": state, "body": f"{MARKER}\nedited"})
    result = run(site, gh, monkeypatch)
    assert result.exit_code == 0, result.output
    assert [call[:2] for call in gh.calls] == [["issue", "list"]]


def test_a_violation_that_came_back_opens_its_issue_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed issue is opened again if the newest run violates a clause that held before, once for two listeners."""
    site = write_site(tmp_path / "site", transition("conforms"))
    gh = github(tmp_path, {"number": 3, "state": "CLOSED", "body": MARKER})
    result = run(site, gh, monkeypatch)
    assert result.exit_code == 0, result.output
    (reopened,) = [call for call in gh.calls if call[:2] == ["issue", "reopen"]]
    assert reopened[2] == "3"
    assert not any(call[:2] == ["issue", "create"] for call in gh.calls)


def test_a_violation_that_came_back_without_an_issue_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is none to open again, for example because the bound of an earlier night left it out."""
    gh = github(tmp_path)
    result = run(write_site(tmp_path / "site", transition("conforms")), gh, monkeypatch)
    assert result.exit_code == 0, result.output
    assert [call[:2] for call in gh.calls] == [
        ["issue", "list"],
        ["label", "create"],
        ["issue", "create"],
    ]


@pytest.mark.parametrize("newest_first", [True, False])
def test_an_open_issue_counts_for_more_than_a_closed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest_first: bool
) -> None:
    """A newer issue of the same violation that was closed, as a duplicate for example, is not opened again."""
    site = write_site(tmp_path / "site", transition("conforms"))
    issues = [
        {"number": 9, "state": "CLOSED", "body": MARKER},
        {"number": 3, "state": "OPEN", "body": MARKER},
    ]
    gh = github(tmp_path, *(issues if newest_first else reversed(issues)))
    result = run(site, gh, monkeypatch)
    assert result.exit_code == 0, result.output
    assert [call[:2] for call in gh.calls] == [["issue", "list"]]


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


def test_a_refusal_by_github_is_said(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error from GitHub ends the step, with GitHub's message."""
    result = run(site, FakeGh(tmp_path / "bin", {}), monkeypatch)
    assert result.exit_code == 10
    assert "gh issue failed: HTTP 403" in result.output
