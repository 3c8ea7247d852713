"""After its table, `matrix` lists findings of failing runs: cell, what was seen, and how to reproduce it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.commands import run_findings
from conformance.commands.replay import replay
from conformance.commands.run_findings import LONGEST_SEEN, finding_lines, verdicts_of
from conformance.runs.target_runs import TargetRun
from reports.run.failures import write_failure
from tests.conformance.suite_runs import SuiteRun, run_suite
from tests.reports.recorders import failure_of, key_of
from tests.run_folders import (
    DEFAULT_CLAUSE,
    DEFAULT_TARGET,
    example_row,
    planned_cell,
    run_header,
    write_run,
)

DEFECT = "reference+tags-descend"
CLAUSE = "KIP-482.tags-ascending-in-answers"


@pytest.fixture(scope="module")
def defect_run(tmp_path_factory: pytest.TempPathFactory) -> SuiteRun:
    """A run against a planted defect; other planned properties were not run."""
    options = ("--broker", DEFECT, "--tier", "smoke", "-k", "test_tags_in_answers_ascend")
    return run_suite(*options, runs=tmp_path_factory.mktemp("defect") / "runs")


def lines_of(folder: Path | None) -> list[str]:
    """Return the lines about a run."""
    run = TargetRun(target=DEFECT, status=1, folder=folder)
    return list(finding_lines(run, verdicts_of(run)))


def test_a_violated_cell_is_told_with_what_was_seen_and_its_command(defect_run: SuiteRun) -> None:
    """The listed command reproduces the failure."""
    told, seen, again, *_ = lines_of(defect_run.folder)
    assert told == f"✕ {CLAUSE} (plaintext): violates"
    assert seen.startswith("  seen: ")
    assert len(seen) > len("  seen: ")
    command = shlex.split(again.removeprefix("  again: "))
    assert command[:2] == ["kafka-conformance", "replay"]
    assert CliRunner().invoke(replay, command[2:]).exit_code == 1


def test_many_lines_are_cut_off_and_counted(
    defect_run: SuiteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line says how many more lines there are, and where to find them."""
    every = lines_of(defect_run.folder)
    monkeypatch.setattr(run_findings, "MOST_TOLD", 1)
    assert lines_of(defect_run.folder) == [
        every[0],
        f"and {len(every) - 1} more lines: see {defect_run.folder}",
    ]


def test_long_message_takes_two_rows(tmp_path: Path) -> None:
    """Its file has it complete."""
    header = run_header([planned_cell()])
    signature = "0123456789abcdef"
    rows = [example_row(header, verdict="violates", failure_signature=signature)]
    folder = write_run(tmp_path / "run", header, rows)
    key = key_of(DEFAULT_CLAUSE, DEFAULT_TARGET)
    write_failure(folder / "failures", failure_of(key, "m" * 10_000, signature))
    _, seen, _ = lines_of(folder)
    assert len(seen) <= LONGEST_SEEN
    assert seen.endswith("mm… (complete in failure.json)")


def test_a_run_without_a_folder_has_no_findings() -> None:
    """The last lines of its output are shown instead."""
    assert lines_of(None) == []
