"""After its table, `matrix` lists findings of failing runs: cell, what was seen, and how to reproduce it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from conformance.commands import matrix
from conformance.commands.matrix import LONGEST_SEEN, finding_lines, verdicts_of
from conformance.runs.target_runs import TargetRun
from fixtures.choosing.listeners import AUTO
from reports.records import Verdict
from tests.reports.recorders import failure_of, key_of
from tests.run_folders import (
    DEFAULT_CLAUSE,
    DEFAULT_TARGET,
    example_row,
    planned_cell,
    run_header,
    write_run,
)
from tests.written_failures import write_failure

SIGNATURE = "0123456789abcdef"


@pytest.fixture
def failed_run(tmp_path: Path) -> Path:
    """The folder of a run with a violated cell, whose message is long."""
    header = run_header([planned_cell()])
    rows = [example_row(header, verdict="violates", failure_signature=SIGNATURE)]
    folder = write_run(tmp_path / "run", header, rows)
    key = key_of(DEFAULT_CLAUSE, DEFAULT_TARGET)
    write_failure(folder / "failures", failure_of(key, "m" * 10_000, SIGNATURE))
    return folder


def lines_of(folder: Path | None, launcher: str = AUTO) -> list[str]:
    """Return the lines about a run."""
    run = TargetRun(target=DEFAULT_TARGET, status=1, folder=folder)
    return list(finding_lines(run, verdicts_of(run), launcher))


def test_a_violated_cell_is_reported_with_what_was_seen_and_its_command(failed_run: Path) -> None:
    """A long message takes two rows, and the command replays the failure."""
    headline, seen, again = lines_of(failed_run)
    assert headline == f"✕ {DEFAULT_CLAUSE} (plaintext): violates"
    assert seen.startswith("  seen: mm")
    assert len(seen) <= LONGEST_SEEN
    assert seen.endswith("mm… (complete in failure.json)")
    command = shlex.split(again.removeprefix("  again: "))
    assert command == ["kafka-conformance", "replay", str(failed_run / "failures" / SIGNATURE)]
    assert lines_of(failed_run, "process")[-1] == f"{again} --launcher process"


def test_failure_that_proves_nothing_is_not_reported(failed_run: Path) -> None:
    """A violation next to it that recurs is what the cell rests on."""
    facts = failed_run / "failures" / SIGNATURE / "failure.json"
    repeats = {"class": "flaky", "rate": {"failed": 0, "repeats": 3}}
    facts.write_text(json.dumps(json.loads(facts.read_text()) | {"repeats": repeats}))
    run = TargetRun(target=DEFAULT_TARGET, status=1, folder=failed_run)
    found = dict.fromkeys(verdicts_of(run), Verdict.VIOLATES)
    assert list(finding_lines(run, found)) == [f"✕ {DEFAULT_CLAUSE} (plaintext): violates"]


def test_inconclusive_cell_is_reported_with_its_reason(tmp_path: Path) -> None:
    """A reader learns from the terminal why a matrix ended with 10."""
    header = run_header([planned_cell(reason="the target ended\nin between")])
    folder = write_run(tmp_path / "run", header, [example_row(header, verdict="inconclusive")])
    assert lines_of(folder) == [
        f"? {DEFAULT_CLAUSE} (plaintext): inconclusive",
        "  because: the target ended in between",
    ]


def test_many_lines_are_cut_off_and_counted(
    failed_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line says how many more lines there are, and where to find them."""
    every = lines_of(failed_run)
    monkeypatch.setattr(matrix, "MOST_LINES", 1)
    assert lines_of(failed_run) == [
        every[0],
        f"and {len(every) - 1} more lines: see {failed_run}",
    ]


def test_a_run_without_a_folder_has_no_findings() -> None:
    """The last lines of its output are shown instead."""
    assert lines_of(None) == []
