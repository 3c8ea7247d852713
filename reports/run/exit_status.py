"""Exit statuses of a run; 0 to 5 keep pytest's meaning."""

from __future__ import annotations

import enum

import pytest

from clauses.exit_statuses import NOT_JUDGED
from reports.records import VIOLATED_VERDICTS, Verdict, gates
from reports.run.recorder import RunRecorder, vacuous_clients


class ExitStatus(enum.IntEnum):
    """Exit statuses beyond pytest's."""

    HARNESS_ERROR = NOT_JUDGED
    INCOMPLETE = 11
    STALE_EXPECTATION = 12


ENDED_EARLY = (
    pytest.ExitCode.INTERRUPTED,
    pytest.ExitCode.INTERNAL_ERROR,
    ExitStatus.HARNESS_ERROR,
)
"""pytest's statuses of a run that did not judge everything that it planned; a fixture that can start nothing ends it with the last."""


def exit_status_of(recorder: RunRecorder, *, pytest_status: int, strict: bool) -> int:
    """Return the exit status of the gravest result among the cells."""
    if recorder.writer.fault and pytest_status != pytest.ExitCode.INTERNAL_ERROR:
        # A violation counts even if records are lost; any other verdict needs them.
        violated = _is_violated(recorder, strict=strict)
        return pytest.ExitCode.TESTS_FAILED if violated else ExitStatus.HARNESS_ERROR
    if pytest_status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return pytest_status
    if not recorder.cells:
        return pytest.ExitCode.NO_TESTS_COLLECTED
    verdicts = {cell.verdict for cell in recorder.cells.values()}
    if _is_violated(recorder, strict=strict) or Verdict.UNEXPECTED_PASS in verdicts:
        return pytest.ExitCode.TESTS_FAILED
    if Verdict.INCONCLUSIVE in verdicts:
        return ExitStatus.HARNESS_ERROR
    if Verdict.NOT_RUN in verdicts or vacuous_clients(recorder):
        return ExitStatus.INCOMPLETE
    if recorder.stale_expectations:
        return ExitStatus.STALE_EXPECTATION
    # A failure that no cell explains, such as one at the end of a fixture, is no violation.
    return ExitStatus.HARNESS_ERROR if pytest_status else pytest.ExitCode.OK


def _is_violated(recorder: RunRecorder, *, strict: bool) -> bool:
    return any(
        cell.verdict in VIOLATED_VERDICTS and gates(cell.level, strict=strict)
        for cell in recorder.cells.values()
    )
