"""The role of operations: each client operation is tried once with a real broker.

It is judged by the recording of the traffic between client and broker.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any

import click
import pytest

from clauses.catalogue import Clause
from conformance.engine.planning import note_started
from conformance.engine.property_judge import JUDGE, PropertyJudge
from conformance.engine.repeating import FailingExample
from conformance.engine.repeating_plays import repeat_trial
from conformance.failures.stored_failures import StoredFailure
from conformance.roles.role import PARTLY, RoleInRun
from conformance.roles.stored_targets import ReplayOptions, able_client, target_for
from conformance.runs.run_identity import SUITE
from fixtures.choosing.clients import CLIENTS, chosen_trials, targets_of, tries_operations
from fixtures.cleanup.ending_signals import INTERRUPTS
from fixtures.errors import HarnessError
from fixtures.launchers import launch
from fixtures.registry.clients import all_clients
from fixtures.registry.command_placeholders import BOOTSTRAP, TIMEOUT
from fixtures.registry.command_placeholders import OPERATION as OPERATION_PLACEHOLDER
from fixtures.registry.targets import Target
from fixtures.scripted_broker.playing import PlayPool
from fixtures.under_test.judged_target import ChosenTarget
from fixtures.under_test.trial import ChosenTrial, Trial, Trials
from reference_model.profiles.listeners import BROKER_LISTENERS
from reports.plugin import clauses_of
from reports.records import OPERATION
from reports.repeats import Repeats


class OperationRole(RoleInRun[Trial]):
    """Operations, each of one client with one release."""

    name = OPERATION
    parameter = "trial"
    folder = SUITE / "operations"

    def choose(self) -> Sequence[ChosenTrial]:
        """Return what a run tries, release by release; nothing unless the command line names clients and releases."""
        return chosen_trials(self.config)

    def judges(self, chosen: ChosenTarget) -> bool:
        """Return whether it is an operation."""
        return isinstance(chosen, ChosenTrial)

    def refuse(self) -> None:
        """Refuse clients that have no operations, and mark a run as partial if it lacks a client that has some."""
        if not tries_operations(self.config):
            return
        chosen = {each.client.id for each in self.config.stash[CLIENTS] if each.client.operations}
        with_operations = {client.id for client in all_clients() if client.operations}
        if not chosen and any(each.client.is_command for each in self.config.stash[CLIENTS]):
            raise pytest.UsageError(
                f"the command of --client-cmd has no {OPERATION_PLACEHOLDER}, so it has no operations: write it where the "
                f"name of the operation goes, for example 'prog {OPERATION_PLACEHOLDER} {BOOTSTRAP} {TIMEOUT}'"
            )
        if not chosen:
            raise pytest.UsageError(
                f"no chosen client has operations; those that have are {', '.join(sorted(with_operations))}"
            )
        for target in targets_of(self.config):
            _refuse_unreachable(target)
        if not with_operations <= chosen:
            self.config.stash[PARTLY] = True

    def begin(self, item: pytest.Item, judged: Trial) -> None:
        """Before the first operation on a release: begin the trials of all of them."""
        launcher = judged.trials.broker.launcher
        client = judged.chosen.client
        if client.is_command:
            self.recorder.client_commands[client.name] = client.given
        if note_started(self.recorder, judged.target, launcher, judged.artefacts):
            for chosen in self.choose():
                if chosen.target.id == judged.target.id and chosen.why_not_applicable is None:
                    # The error is reported when this trial is judged.
                    with suppress(HarnessError):
                        judged.trials.begin([chosen])

    @staticmethod
    def why_not_applicable(clause: Clause, needs: Iterable[str], judged: Trial) -> str | None:
        """Return why an operation cannot be tried with the target; None if it can."""
        return judged.why_not_applicable

    def judge(self, item: pytest.Item, judged: Trial) -> Generator[None, Any, Any]:
        """Judge one operation."""
        test = item.obj  # type: ignore[attr-defined]
        judge = PropertyJudge(self.recorder, judged, clauses_of(item), test.__name__)
        JUDGE.set(judge)
        try:
            result = yield
            INTERRUPTS.check()
            return result
        except AssertionError:
            judge.repeat_failures(partial(self.repeat, judged))
            raise

    def repeat(self, judged: Trial, examples: Sequence[FailingExample]) -> Sequence[Repeats | None]:
        """Try the operation again."""
        return [repeat_trial(judged, each) for each in examples]

    @staticmethod
    @contextmanager
    def from_stored(failure: StoredFailure, options: ReplayOptions) -> Iterator[Trial]:
        """Start the release, and yield the client's operation to judge again.

        The client is the one in the stored failure, unless the user names another.
        """
        target = target_for(failure, options)
        tried = ChosenTrial(target, *able_client(failure, options))
        if tried.why_not_applicable:
            raise click.UsageError(f"{tried.operation} cannot be tried: {tried.why_not_applicable}")
        with closing(PlayPool(1)) as pool, launch(target, options.launcher) as running:
            yield Trial(tried, Trials(running, pool))


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
    security = target.launchers.get("address", {}).get("security", {}).get(listener)
    if security is not None and security.lack:
        raise pytest.UsageError(
            f"operations need credentials for {target.id}: {security.lack}; give them in the file of --command-config"
        )
