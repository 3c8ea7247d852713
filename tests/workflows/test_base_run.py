"""The job's page says what changed since the base branch's run, and fails no job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reports.command_line.suite_command import CannotWork
from tests.run_folders import example_row, planned_cell, run_header, write_run
from tests.workflows.fake_gh import FakeGh
from workflows.base_run import compared, main

REPOSITORY = "someone/broker"
LISTED = f"api repos/{REPOSITORY}/actions/artifacts?name=kafka-conformance&per_page=100"
OWN = {"id": 7, "head_branch": "main", "head_repository_id": 1, "repository_id": 1}
KEPT = {"artifacts": [{"expired": False, "created_at": "2026-11-30", "workflow_run": OWN}]}


def run_folder(folder: Path, verdict: str) -> Path:
    """Write a run of one cell, and return its folder."""
    header = run_header([planned_cell()])
    signature = "0123456789abcdef" if verdict == "violates" else None
    return write_run(folder, header, [example_row(header, 1, verdict=verdict, failure_signature=signature)])


def page_of(run: Path, page: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what the step writes on the job's page; the step succeeds."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    options = ["--repository", REPOSITORY, "--base", "main", "--artefact", "kafka-conformance"]
    finished = CliRunner().invoke(main, [str(run), *options])
    assert finished.exit_code == 0, finished.output
    return page.read_text("utf-8")


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({LISTED: {"artifacts": []}}, "No run of main is kept yet, so there is nothing to compare with.\n"),
        (
            {LISTED: {"artifacts": [{**KEPT["artifacts"][0], "workflow_run": {**OWN, "head_repository_id": 2}}]}},
            "No run of main is kept yet, so there is nothing to compare with.\n",
        ),
        ({}, "The run could not be compared with one of main: gh api failed: HTTP 403"),
        ({LISTED: KEPT, "run download": ""}, "The run could not be compared with one of main: the artefact"),
    ],
    ids=["none", "of-a-fork", "forbidden", "no-run-folder"],
)
def test_without_a_run_of_the_base_branch_the_page_says_so(
    answers: Mapping[str, Any], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeGh(tmp_path / "bin", answers).put_on_path(monkeypatch)
    assert page_of(run_folder(tmp_path / "run", "conforms"), tmp_path / "page.md", monkeypatch).startswith(sentence)


def test_three_lists_are_written_of_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, mine = run_folder(tmp_path / "base", "conforms"), run_folder(tmp_path / "mine", "violates")
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    # The artefact has the files of the run folder, without the folder itself.
    program.write_text(
        f"#!/bin/sh\nif [ $1 = api ]; then echo '{json.dumps(KEPT)}'; else eval last=\\${{$#}}; cp -r {base} $last; fi\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    page = page_of(mine, tmp_path / "page.md", monkeypatch)
    assert "Cells: 1 new red, 0 gone, 0 changed." in page


def test_a_damaged_run_is_said_in_one_sentence(tmp_path: Path) -> None:
    mine = run_folder(tmp_path / "mine", "conforms")
    (mine / "run.json").write_text("{")
    with pytest.raises(CannotWork, match=r"run\.json") as fault:
        compared(mine, mine)
    assert "\n" not in str(fault.value)
