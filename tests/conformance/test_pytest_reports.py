"""What pytest's own list says of a failed property."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance.engine.pytest_reports import LONGEST_LINE, explain
from reports.records import Verdict
from tests.reports.recorders import CLAUSE, example_of, key_of, recorder_for


def test_pytest_repeats_no_long_message(tmp_path: Path) -> None:
    """A failure takes two rows of the list; its complete message is kept with its records."""
    recorder = recorder_for(tmp_path, {key_of(): "MUST"})
    recorder.judged(example_of(Verdict.VIOLATES, message="seen " + "x" * 10_000))
    report: Any = SimpleNamespace(longrepr=None, outcome="failed")
    call = SimpleNamespace(when="call", excinfo=SimpleNamespace(value=AssertionError()))
    explain(report, cast(pytest.CallInfo[None], call), recorder, [key_of()], "test_x", strict=False)
    assert report.longrepr.startswith(f"{CLAUSE}: seen xxx")
    assert report.longrepr.endswith("xx… (complete in failure.json)")
    assert len(report.longrepr) <= LONGEST_LINE
