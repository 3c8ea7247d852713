"""Brings targets, properties and records together: plans the cells, judges the examples, names the failures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.errors import Flaky

from clauses.catalogue import Clause, Role, catalogue
from conformance.examples import PropertyJudge
from conformance.hypothesis_profiles import load_profile
from fixtures.broker import Broker
from fixtures.errors import HarnessError
from fixtures.plugin import ListenerOfTarget, tier_of
from fixtures.targets import KnownViolation, Target
from reports.allure_results import attach_failure, label_result
from reports.exit_status import gates
from reports.plugin import RECORDER, clauses_of
from reports.recorder import NOT_STARTED, Cell, CellKey, RunRecorder, TargetFacts
from reports.records import PlannedCell
from reports.run_writer import RunWriter, clause_facts
from reports.terminal import printable

JUDGE: ContextVar[PropertyJudge] = ContextVar("judge")
"""The judge of the property that runs."""


def pytest_configure(config: pytest.Config) -> None:
    """Load Hypothesis' settings before a test module is imported."""
    load_profile(tier_of(config))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Check the clauses that are named, leave out what the tier leaves out, and plan the cells."""
    judged = [item for item in items if list(item.iter_markers("clause"))]
    if not judged:
        return
    tier = tier_of(config)
    if tier == "gentle":
        left_out = [item for item in judged if item.get_closest_marker("malformed")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
        judged = [item for item in judged if item not in left_out]
    cells = {}
    for item in judged:
        listener = _listener_of(item)
        for clause in clauses_of(item):
            planned = _plan(clause, listener)
            cells[CellKey(planned.clause, planned.target, planned.listener)] = (
                planned,
                clause.level.value,
            )
        _judge_examples(item)
    if config.option.collectonly:
        return
    writer = RunWriter(
        Path(config.getoption("--runs")),
        catalogue=catalogue(),
        tier=tier,
        seed=_seed(config),
    )
    recorder = RunRecorder(writer, tier=tier)
    named = {key.clause for key in cells}
    order = {clause.id: place for place, clause in enumerate(catalogue())}
    in_order = sorted(cells, key=lambda key: order[key.clause])
    recorder.plan(
        (cells[key] for key in in_order),
        [
            clause_facts(clause, role=Role.BROKER.value)
            for clause in catalogue()
            if clause.id in named
        ],
        [_facts(target, launcher=NOT_STARTED, artefacts={}) for target in _targets(judged)],
    )
    recorder.stale_expectations = stale_expectations(_targets(judged))
    config.stash[RECORDER] = recorder


def _seed(config: pytest.Config) -> int | None:
    """Return the seed that the examples are drawn with; a derandomized profile has none."""
    seed = config.getoption("--hypothesis-seed", None)
    if settings().derandomize or seed is None or not str(seed).isdecimal():
        return None
    return int(seed)


def _targets(items: Iterable[pytest.Item]) -> list[Target]:
    """Return the targets that items are about, each once."""
    return list({(target := _listener_of(item).target).id: target for item in items}.values())


def _facts(target: Target, *, launcher: str, artefacts: Mapping[str, str]) -> TargetFacts:
    return TargetFacts(
        id=target.id,
        implementation=target.implementation,
        release=target.release,
        launcher=launcher,
        artefacts=dict(artefacts),
    )


def stale_expectations(targets: Iterable[Target]) -> list[str]:
    """Name the declared violations that have expired or whose clause does not exist."""
    today = datetime.now(UTC).date()
    stale = []
    for target in targets:
        for known in target.known_violations:
            if known.clause not in catalogue():
                stale.append(f"{target.id} declares {known.clause}, which no catalogue has")
            elif known.expires <= today:
                stale.append(f"{target.id} declares {known.clause} until {known.expires}")
    return stale


def _listener_of(item: pytest.Item) -> ListenerOfTarget:
    chosen = item.callspec.params["broker"]  # type: ignore[attr-defined]
    assert isinstance(chosen, ListenerOfTarget)
    return chosen


def known_violation_of(target: Target, clause: str) -> KnownViolation | None:
    """Return the registry's entry for a clause that a target is known to violate."""
    return next((known for known in target.known_violations if known.clause == clause), None)


def _plan(clause: Clause, listener: ListenerOfTarget) -> PlannedCell:
    known = known_violation_of(listener.target, clause.id)
    return PlannedCell(
        clause=clause.id,
        target=listener.target.id,
        listener=listener.listener,
        known_violation="" if known is None else f"{known.reason} ({known.link})",
    )


def _judge_examples(item: pytest.Item) -> None:
    """Put the judge between Hypothesis and the test's body; done once per test function."""
    handle = getattr(item.obj, "hypothesis", None)  # type: ignore[attr-defined]
    if handle is None:
        raise pytest.UsageError(f"{item.nodeid}: a property is a @given test")
    body = handle.inner_test
    if not hasattr(body, "judged"):
        handle.inner_test = _judged(body)


def _judged(body: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(body)
    def run(**values: Any) -> None:
        JUDGE.get().judge(body, values)

    run.judged = True  # type: ignore[attr-defined]
    return run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Skip what does not apply to the target, and judge the rest."""
    recorder = item.config.stash.get(RECORDER, None)
    clauses = clauses_of(item)
    if recorder is None or not clauses:
        return (yield)
    broker: Broker = item.funcargs["broker"]  # type: ignore[attr-defined]
    _note_target(recorder, broker)
    for clause in clauses:
        if not clause.applies_at(broker.max_version):
            reason = (
                f"applies from ApiVersions v{clause.applies_to.first}, "
                f"the target serves up to v{broker.max_version}"
            )
            recorder.not_applicable(CellKey(clause.id, broker.target.id, broker.listener), reason)
            pytest.skip(f"not applicable: {reason}")
        label_result(clause, broker.target.id)
    judge = PropertyJudge(recorder, broker, clauses, _name_of(item))
    JUDGE.set(judge)
    return (yield)


def _name_of(item: pytest.Item) -> str:
    return str(item.function.__name__)  # type: ignore[attr-defined]


def _note_target(recorder: RunRecorder, broker: Broker) -> None:
    running = broker.running
    if recorder.targets[broker.target.id].launcher == NOT_STARTED:
        facts = _facts(broker.target, launcher=running.launcher, artefacts=running.artefacts)
        recorder.target_started(facts)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep a failure's evidence, and let only what gates show as failed."""
    report = yield
    recorder = item.config.stash.get(RECORDER, None)
    clauses = clauses_of(item)
    if recorder is None or not clauses or report.skipped:
        return report
    listener = _listener_of(item)
    keys = [CellKey(clause.id, listener.target.id, listener.listener) for clause in clauses]
    different = [key for key in keys if recorder.cells[key].failures]
    if call.when == "call":
        # Also where nothing failed: a difference that is only information has evidence too.
        _keep_evidence(recorder, different)
    if call.excinfo is None:
        return report
    if different and isinstance(call.excinfo.value, AssertionError | Flaky):
        _report_violations(report, [recorder.cells[key] for key in different], item.config)
    else:
        _report_problem(report, recorder, keys, _name_of(item), call.excinfo.value)
    return report


def _keep_evidence(recorder: RunRecorder, keys: list[CellKey]) -> None:
    for key in keys:
        recorder.write_failures(key)
        for failure in recorder.cells[key].failures.values():
            attach_failure(failure)


def _report_violations(report: pytest.TestReport, cells: list[Cell], config: pytest.Config) -> None:
    # The verdicts below show the bytes; a traceback would show our code.
    report.longrepr = "\n".join(
        printable(f"{cell.planned.clause}: {failure.first_line}")
        for cell in cells
        for failure in cell.failures.values()
    )
    excuse = _excuse(cells, config)
    if excuse:
        report.outcome = "skipped"
        report.wasxfail = excuse


def _report_problem(
    report: pytest.TestReport,
    recorder: RunRecorder,
    keys: list[CellKey],
    property_name: str,
    error: BaseException,
) -> None:
    problem = _problem(error)
    first = all(problem not in cell.problems for cell in recorder.cells.values())
    for key in keys:
        recorder.inconclusive(key, property_name, problem)
    # Only a fault of this suite is explained by a traceback, and by one.
    if isinstance(error, HarnessError) or not first:
        report.longrepr = "inconclusive; the reason stands below the verdicts"


def _problem(error: BaseException) -> str:
    if isinstance(error, HarnessError):
        return f"{type(error).__name__}: {error}"
    first_line = str(error).partition("\n")[0]
    return f"a fault of this suite, please report it: {type(error).__name__}: {first_line}"


def _excuse(cells: list[Cell], config: pytest.Config) -> str:
    """Return why violated cells do not fail the run; empty where one does."""
    strict = config.getoption("--strict-should")
    excuses = [
        cell.planned.known_violation or ("" if gates(cell, strict=strict) else cell.level)
        for cell in cells
    ]
    return "; ".join(excuses) if all(excuses) else ""
