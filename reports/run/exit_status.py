"""Exit statuses of a run; 0 to 5 keep pytest's meaning."""

from __future__ import annotations

import enum
from collections import Counter

import pytest

from clauses.exit_statuses import NOT_JUDGED
from reports.records import VIOLATED_VERDICTS, Verdict, gates
from reports.run.recorder import Cell, RunRecorder, vacuous_clients
from reports.wording.verdict_labels import counted, some_of

MAX_NAMED = 3
"""Most clauses that a reason names."""


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
"""pytest's statuses of a run that did not judge everything that it planned; a fixture that can start nothing ends it
with the last."""


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


def reason_of(recorder: RunRecorder, status: int, *, strict: bool) -> str:
    """Return in a few words why a run ends with a status other than 0.

    The text is empty for a status that is not about the cells.
    """
    verdicts = Counter(cell.verdict for cell in recorder.cells.values())
    if status == pytest.ExitCode.TESTS_FAILED:
        if _is_violated(recorder, strict=strict):
            return _violated_in_words(recorder, strict=strict)
        return f"{counted(verdicts[Verdict.UNEXPECTED_PASS], 'declared violation')} not found any more"
    if status == ExitStatus.HARNESS_ERROR:
        doubts = verdicts[Verdict.INCONCLUSIVE]
        return f"{counted(doubts, 'cell')} could not be judged" if doubts else "a fault that no cell explains"
    if status == ExitStatus.INCOMPLETE and verdicts[Verdict.NOT_RUN]:
        return f"{counted(verdicts[Verdict.NOT_RUN], 'cell')} not run"
    if status == ExitStatus.STALE_EXPECTATION:
        return f"{counted(len(recorder.stale_expectations), 'declaration')} out of date"
    return ""


def _violated_in_words(recorder: RunRecorder, *, strict: bool) -> str:
    """Name the clauses whose violation fails a run, by level."""
    by_level: dict[str, dict[str, None]] = {}
    for key, cell in recorder.cells.items():
        if _fails(cell, strict=strict):
            by_level.setdefault(cell.level, {}).setdefault(key.clause)
    return "; ".join(
        f"{len(clauses)} {level} violated, {some_of([*clauses], MAX_NAMED)}"
        for level, clauses in sorted(by_level.items())
    )


def _is_violated(recorder: RunRecorder, *, strict: bool) -> bool:
    return any(_fails(cell, strict=strict) for cell in recorder.cells.values())


def _fails(cell: Cell, *, strict: bool) -> bool:
    """Return whether a cell is violated and fails the run."""
    return cell.verdict in VIOLATED_VERDICTS and gates(cell.level, strict=strict)
