"""Rewriter of pytest's report of a property that did not pass.

The report shows the violations, or why the property could not be judged.
"""

from __future__ import annotations

import pytest
from hypothesis.errors import Flaky

from conformance.assertions.errors import JudgedElsewhere
from fixtures.errors import ClientNotInstallable, HarnessError
from reports.plugin import show_by_verdict
from reports.records import FACTS_FILE, WORST_FIRST, Verdict, gates
from reports.run.allure_results import attach_failure
from reports.run.judged_examples import CellKey
from reports.run.recorder import Cell, RunRecorder
from reports.run.terminal_lines import shortened

MAX_LINE = 160
"""Columns of a failure in pytest's own report: two rows of most terminals. The list of findings has more details."""


def explain(
    report: pytest.TestReport,
    call: pytest.CallInfo[None],
    recorder: RunRecorder,
    keys: list[CellKey],
    property_name: str,
    *,
    strict: bool,
) -> None:
    """Keep the evidence of a property's failures, and rewrite pytest's report.

    Only gating violations count as failed in the report.
    """
    if call.when == "call":
        # Even if nothing failed: informational differences have evidence too.
        for key in keys:
            recorder.write_failures(key)
            for failure in recorder.cells[key].failures.values():
                attach_failure(failure)
    if call.excinfo is None:
        return
    if isinstance(call.excinfo.value, ClientNotInstallable):
        _report_not_run(report, recorder, keys, str(call.excinfo.value))
        show_by_verdict(report, Verdict.NOT_RUN)
        return
    violated = [recorder.cells[key] for key in keys if recorder.cells[key].violations]
    if violated and isinstance(call.excinfo.value, AssertionError | Flaky):
        _report_violations(report, violated, strict=strict)
    else:
        _report_problem(report, recorder, keys, property_name, call.excinfo.value)


def _report_violations(report: pytest.TestReport, cells: list[Cell], *, strict: bool) -> None:
    # The findings show the bytes; a traceback would show only our code.
    report.longrepr = "\n".join(
        shortened(f"{clause}: {line}", MAX_LINE, complete_in=FACTS_FILE)
        for clause, line in dict.fromkeys(
            (cell.planned.clause, failure.first_line) for cell in cells for failure in cell.violations
        )
    )
    show_by_verdict(report, min((cell.verdict for cell in cells), key=WORST_FIRST.index))
    excuse = _excuse(cells, strict=strict)
    if excuse:
        report.outcome = "skipped"
        report.wasxfail = excuse


def _report_not_run(report: pytest.TestReport, recorder: RunRecorder, keys: list[CellKey], reason: str) -> None:
    """Leave the cells of what this machine cannot run not run, with the reason."""
    for key in keys:
        recorder.not_run(key, reason)
    report.outcome = "skipped"
    report.longrepr = (report.location[0], 0, "not run; see the reason among the findings")


def _report_problem(
    report: pytest.TestReport,
    recorder: RunRecorder,
    keys: list[CellKey],
    property_name: str,
    error: BaseException,
) -> None:
    problem = _problem(error)
    first = all(problem not in cell.problems for cell in recorder.cells.values())
    if not isinstance(error, JudgedElsewhere):
        # The examples that met the fault are recorded already.
        for key in keys:
            recorder.inconclusive(key, property_name, problem)
    # Only a fault of this suite gets a traceback, and only its first occurrence.
    if isinstance(error, HarnessError) or not first:
        report.longrepr = "inconclusive; see the reason among the findings"
        show_by_verdict(report, Verdict.INCONCLUSIVE)
    if all(recorder.clause_set.why_note(key.clause, property_name) for key in keys):
        # Its cells say it; pytest must not count it.
        report.outcome = "skipped"
        report.wasxfail = "newer than the set of clauses"


def _problem(error: BaseException) -> str:
    if isinstance(error, HarnessError):
        return f"{type(error).__name__}: {error}"
    first_line = str(error).partition("\n")[0]
    return f"a bug in this suite; please report it: {type(error).__name__}: {first_line}"


def _excuse(cells: list[Cell], *, strict: bool) -> str:
    """Return why the violated cells do not fail the run; empty if one of them does."""
    excuses = [_declared_reasons(cell) or ("" if gates(cell.level, strict=strict) else cell.level) for cell in cells]
    return "; ".join(excuses) if all(excuses) else ""


def _declared_reasons(cell: Cell) -> str:
    """Return the reasons of the declarations that match a cell's failures; empty if one matches none."""
    if not cell.known_violation:
        return ""
    reasons = dict.fromkeys(failure.known_violation for failure in cell.failures.values())
    return "; ".join(filter(None, reasons))
