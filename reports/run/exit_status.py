"""Exit statuses of a run; 0 to 5 keep pytest's meaning."""

from __future__ import annotations

import enum

import pytest

from reports.records import Verdict
from reports.run.recorder import Cell, RunRecorder


class ExitStatus(enum.IntEnum):
    """Exit statuses beyond pytest's."""

    HARNESS_ERROR = 10
    INCOMPLETE = 11
    STALE_EXPECTATION = 12


def gates(cell: Cell, *, strict: bool) -> bool:
    """Return whether a violated cell fails the run.

    A MUST does, and a SHOULD with `--strict-should`. A PIN does too: only targets that it binds get
    `violates`.
    """
    return cell.level in ("MUST", "PIN") or (cell.level == "SHOULD" and strict)


def exit_status_of(recorder: RunRecorder, *, pytest_status: int, strict: bool) -> int:
    """Return the exit status of the gravest result among the cells.

    Args:
        recorder: the run.
        pytest_status: what pytest would exit with.
        strict: whether a SHOULD gates.
    """
    if recorder.writer.fault and pytest_status != pytest.ExitCode.INTERNAL_ERROR:
        # What was violated is so without records too; nothing else can be said of a run that is not kept.
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
    if Verdict.NOT_RUN in verdicts:
        return ExitStatus.INCOMPLETE
    if recorder.stale_expectations:
        return ExitStatus.STALE_EXPECTATION
    return pytest_status


def _is_violated(recorder: RunRecorder, *, strict: bool) -> bool:
    # What comes and goes is not excused: whether it gates depends on the clause alone.
    return any(
        cell.verdict in (Verdict.VIOLATES, Verdict.FLAKY) and gates(cell, strict=strict)
        for cell in recorder.cells.values()
    )
