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
    """Never a second one, also for two listeners; a closed one is opened again if the clause held before the newest run."""
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


def test_a_refusal_by_github_is_said(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error from GitHub ends the step, with GitHub's message."""
    result = run(site, FakeGh(tmp_path / "bin", {}), monkeypatch)
    assert result.exit_code == 10
    assert "gh issue failed: HTTP 403" in result.output
