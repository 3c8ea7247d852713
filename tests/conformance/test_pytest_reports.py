"""Tests of what pytest's own list says of a failed property.

They also cover a property with an unknown clause.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.engine.pytest_reports import MAX_LINE, explain
from fixtures.errors import HarnessError
from reports.plugin import clauses_of, pytest_report_teststatus
from reports.records import Verdict
from reports.run.judged_examples import JudgedExample
from tests.reports.recorders import CLAUSE, example_of, key_of, recorder_for


def explained(runs: Path, error: BaseException, *judged: JudgedExample, known: str = "", longrepr: Any = None) -> Any:
    """Return pytest's report of a property that raised an error after some examples were judged."""
    recorder = recorder_for(runs, {key_of(): "MUST"}, known_violation=known)
    for example in judged:
        recorder.judged(example)
    report: Any = SimpleNamespace(longrepr=longrepr, outcome="failed")
    call: Any = SimpleNamespace(when="call", excinfo=SimpleNamespace(value=error))
    explain(report, call, recorder, [key_of()], "test_x", strict=False)
    return report


def test_pytest_repeats_no_long_message(tmp_path: Path) -> None:
    """A failure takes two rows of the list; its complete message is kept with its records."""
    example = example_of(Verdict.VIOLATES, message="seen " + "x" * 10_000)
    report = explained(tmp_path, AssertionError(), example)
    assert report.longrepr.startswith(f"{CLAUSE}: seen xxx")
    assert report.longrepr.endswith("xx… (complete in failure.json)")
    assert len(report.longrepr) <= MAX_LINE


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (AssertionError(), ("with findings", "✕")),
        (HarnessError("slow"), ("inconclusive", "?")),
    ],
)
def test_pytest_repeats_no_finding(error: Exception, shown: tuple[str, str], tmp_path: Path) -> None:
    """A violation and an unmet prerequisite are counted by their verdicts, so pytest's own lists leave them out."""
    report = explained(tmp_path, error, example_of(Verdict.VIOLATES, message="seen"))
    status = pytest_report_teststatus(report)
    assert status is not None
    assert status[:2] == shown
    assert report.outcome == "failed"


def test_first_fault_of_the_suite_keeps_its_traceback(tmp_path: Path) -> None:
    report = explained(tmp_path, KeyError("x"), longrepr="Traceback")
    assert report.longrepr == "Traceback"
    assert pytest_report_teststatus(report) is None


def test_pytest_names_only_the_declarations_that_match(tmp_path: Path) -> None:
    """A target may have many declared violations of one clause, of which a property shows one."""
    example = example_of(Verdict.VIOLATES, message="seen 1")
    assert example.failure is not None
    declared = dataclasses.replace(example.failure, known_violation="issue 8")
    example = dataclasses.replace(example, failure=declared)
    report = explained(tmp_path, AssertionError(), example, known="issue 7; issue 8")
    assert (report.outcome, report.wasxfail) == ("skipped", "issue 8")


def test_mark_with_an_unknown_clause_is_wrong_usage() -> None:
    """A property with an unknown clause ends the run before its folder is created, and the error suggests the
    nearest ids."""
    mark = SimpleNamespace(args=["KIP-35.key-unique"])
    item: Any = SimpleNamespace(nodeid="test_something", iter_markers=lambda _: iter([mark]))
    with pytest.raises(pytest.UsageError, match=r"no clause 'KIP-35\.key-unique' in the catalogue") as refused:
        clauses_of(item)
    assert "the nearest are KIP-35.keys-unique" in str(refused.value)
