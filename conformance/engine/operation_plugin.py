"""The pytest plugin that tries operations of clients with releases: the third kind of run, after those of brokers and clients."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

import pytest

from conformance.engine.failing_examples import one_by_one
from conformance.engine.interrupts import INTERRUPTS
from conformance.engine.planning import is_judged, tries_operation
from conformance.engine.plugin import PARTLY
from conformance.engine.property_judge import JUDGE, PropertyJudge
from conformance.engine.repeating_plays import repeat_trial
from conformance.runs.run_identity import target_facts
from fixtures.client_plugin import CLIENTS
from fixtures.errors import HarnessError
from fixtures.operation_plugin import chosen_trials, targets_of, tries_operations
from fixtures.registry.clients import all_clients
from fixtures.registry.targets import Target
from fixtures.under_test.trial import ChosenTrial, Trial
from reference_model.profiles.listeners import BROKER_LISTENERS
from reports.plugin import RECORDER, clauses_of
from reports.run.allure_results import label_result
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from reports.run.target_facts import NOT_STARTED


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse clients that have no operations, and mark a run as partial if it lacks a client that has some."""
    if not tries_operations(config):
        return
    chosen = {each.client.id for each in config.stash[CLIENTS]}
    with_operations = {client.id for client in all_clients() if client.operations}
    if not chosen & with_operations:
        raise pytest.UsageError(
            f"no chosen client has operations; those that have are {', '.join(sorted(with_operations))}"
        )
    for target in targets_of(config):
        _refuse_unreachable(target)
    if not with_operations <= chosen:
        config.stash[PARTLY] = True


def _refuse_unreachable(target: Target) -> None:
    """Refuse a target without a listener that clients can use, and one that is only read.

    Raises:
        pytest.UsageError: it has none, or needs credentials that were not given, or the run is read-only.
    """
    if target.is_read_only:
        raise pytest.UsageError(
            f"operations of clients create topics, records and groups on {target.id}, which a read-only run must not; "
            "give --malformed if the cluster is yours to write to"
        )
    listener = next((each for each in BROKER_LISTENERS if each in target.listeners), None)
    if listener is None:
        raise pytest.UsageError(
            f"operations need a listener of a broker, and {target.id} has none: give its address with --bootstrap-server"
        )
    given = target.launchers.get("address", {}).get("security", {}).get(listener)
    if given is not None and given.lack:
        raise pytest.UsageError(
            f"operations need credentials for {target.id}: {given.lack}; give them in the file of --command-config"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Judge one operation."""
    recorder = item.config.stash.get(RECORDER, None)
    if recorder is None or not is_judged(item) or not tries_operation(item):
        return (yield)
    trial: Trial = item.funcargs["trial"]  # type: ignore[attr-defined]
    _begin(item.config, trial, recorder)
    (row,) = clauses_of(item)
    reason = trial.chosen.why_not_applicable
    if reason is not None:
        recorder.not_applicable(CellKey(row.id, trial.target.id, trial.listener), reason)
        pytest.skip(f"not applicable: {reason}")
    label_result(row, trial.target.id)
    judge = PropertyJudge(recorder, trial, (row,), item.function.__name__)  # type: ignore[attr-defined]
    JUDGE.set(judge)
    try:
        result = yield
        INTERRUPTS.check()
        return result
    except AssertionError:
        judge.repeat_failures(one_by_one(partial(repeat_trial, trial)))
        raise


def _begin(config: pytest.Config, trial: Trial, recorder: RunRecorder) -> None:
    """Before the first operation on a release: record the release, and begin the trials of all of them."""
    if recorder.targets[trial.target.id].launcher != NOT_STARTED:
        return
    launcher = trial.trials.broker.launcher
    recorder.target_started(
        target_facts(trial.target, launcher=launcher, artefacts=trial.artefacts)
    )
    for chosen in chosen_trials(config):
        if chosen.target.id == trial.target.id and chosen.why_not_applicable is None:
            _begin_one(trial, chosen)


def _begin_one(trial: Trial, chosen: ChosenTrial) -> None:
    try:
        trial.trials.begin([chosen])
    except HarnessError:
        # The error is reported when this trial is judged.
        return
