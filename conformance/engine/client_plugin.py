"""The pytest plugin that judges clients: the counterpart of `conformance.engine.plugin`, which judges brokers."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from clauses import marks
from conformance.engine.budgets import client_examples
from conformance.engine.client_prerequisites import why_not_applicable
from conformance.engine.failing_examples import FailingExamples
from conformance.engine.further_kinds import FurtherKinds
from conformance.engine.interrupts import INTERRUPTS
from conformance.engine.overlapping import JUDGE_EXAMPLE
from conformance.engine.planning import is_judged, judges_client, listener_of
from conformance.engine.plays_ahead import scripts_of
from conformance.engine.property_judge import JUDGE, PropertyJudge
from conformance.engine.repeating_plays import repeat_plays
from conformance.runs.run_identity import SUITE, target_facts
from fixtures.client_plugin import CLIENTS
from fixtures.operation_plugin import tries_operations
from fixtures.tiers import tier_in
from fixtures.under_test.client import LAUNCHER, ClientUnderTest
from reference_model.clients.rules.first_reaction import stops_short
from reports.plugin import RECORDER, clauses_of
from reports.run.allure_results import label_result
from reports.run.judged_examples import CellKey
from reports.run.recorder import RunRecorder
from reports.run.target_facts import NOT_STARTED
from strategies.hypothesis_adapter import max_examples_changed, pinned_examples

CLIENT_PROPERTIES = SUITE / "clients"
BROKER_PROPERTIES = SUITE / "brokers"
OPERATIONS = SUITE / "operations"

FAILING = pytest.StashKey[FailingExamples]()
"""The failures of the client that is judged, which are repeated together after its last property."""


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse a command line that asks for properties of clients without a client."""
    here = config.invocation_params.dir
    asked = [(here / argument.partition("::")[0]).resolve() for argument in config.args]
    if not config.stash[CLIENTS] and any(path.is_relative_to(CLIENT_PROPERTIES) for path in asked):
        raise pytest.UsageError(
            "these properties judge clients: choose one with --client or --client-cmd"
        )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect the properties of brokers, those of clients, or the operations of clients with brokers."""
    if tries_operations(config):
        collected = OPERATIONS
    else:
        collected = CLIENT_PROPERTIES if config.stash[CLIENTS] else BROKER_PROPERTIES
    others = {BROKER_PROPERTIES, CLIENT_PROPERTIES, OPERATIONS} - {collected}
    return True if collection_path in others else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Skip a property that does not apply to the client; judge every other one."""
    recorder = item.config.stash.get(RECORDER, None)
    if recorder is None or not is_judged(item) or not judges_client(item):
        return (yield)
    client: ClientUnderTest = item.funcargs["client"]  # type: ignore[attr-defined]
    _begin(item, client, recorder)
    clauses = clauses_of(item)
    needs = [need for mark in item.iter_markers(marks.NEEDS) for need in mark.args]
    reason = why_not_applicable(needs, client)
    for clause in clauses:
        if reason is not None:
            recorder.not_applicable(CellKey(clause.id, client.target.id, client.listener), reason)
        label_result(clause, client.target.id)
    if reason is not None:
        pytest.skip(f"not applicable: {reason}")
    test = item.obj  # type: ignore[attr-defined]
    name = str(item.function.__name__)  # type: ignore[attr-defined]
    pinned = len(pinned_examples(test))
    further_kinds = FurtherKinds(pinned=pinned)
    judge = PropertyJudge(
        recorder,
        client,
        clauses,
        name,
        pinned=pinned,
        further_kinds=further_kinds,
        failing=item.config.stash[FAILING],
    )
    JUDGE.set(judge)
    JUDGE_EXAMPLE.set(judge.judge)
    with max_examples_changed(test, partial(client_examples, tier=tier_in(item.config))):
        try:
            yield
        except AssertionError as error:
            _draw_on(item, judge, error)
    INTERRUPTS.check()
    judge.raise_first()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """Repeat the failures of a client after its last property, while the client is still there."""
    client: ClientUnderTest | None = getattr(item, "funcargs", {}).get("client")
    # A client that could not be installed is not there, and has no failures.
    if client is None or FAILING not in item.config.stash:
        return (yield)
    if nextitem is None or not _is_about(nextitem, client):
        # They may take longer than one property may; each play has a limit of its own.
        item.ihook.pytest_timeout_cancel_timer(item=item)
        _repeat_failures(item.config, client)
    return (yield)


def _repeat_failures(config: pytest.Config, client: ClientUnderTest) -> None:
    """Repeat the failures of a client, and write what that showed into their folders."""
    config.stash[FAILING].repeat(partial(repeat_plays, client))
    recorder = config.stash[RECORDER]
    for key in recorder.cells:
        if key.target == client.target.id:
            recorder.write_failures(key)


def _draw_on(item: pytest.Item, judge: PropertyJudge, error: AssertionError) -> None:
    """Draw the rest of a property's examples after one failed, in as many rounds as there are further kinds of failures."""
    latest: AssertionError | None = error
    while latest is not None and judge.draws_on(latest):
        latest = None
        try:
            item.runtest()
        except AssertionError as further:
            latest = further


def _begin(item: pytest.Item, client: ClientUnderTest, recorder: RunRecorder) -> None:
    """Before the first property of a client: check that it can be judged, and begin the plays of all of them.

    Raises:
        HarnessError: the client cannot be judged.
    """
    if recorder.targets[client.target.id].launcher == NOT_STARTED:
        facts = target_facts(client.target, launcher=LAUNCHER, artefacts=client.artefacts)
        recorder.target_started(facts)
        recorder.client_commands[client.target.id] = client.client.given
        item.config.stash[FAILING] = FailingExamples(recorder)
        if client.works:
            recorder.stopped_short[client.target.id] = stops_short(client.healthy.recording)
            same = [each for each in item.session.items if _is_about(each, client)]
            client.plays.begin(scripts_of(same, client, tier=tier_in(item.config)))
    # A client that fails with a healthy broker is not judged; this raises.
    client.healthy  # noqa: B018


def _is_about(item: pytest.Item, client: ClientUnderTest) -> bool:
    return (
        is_judged(item) and judges_client(item) and listener_of(item).target.id == client.target.id
    )
