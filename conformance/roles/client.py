"""The role of clients, which are judged by what they do to scripted brokers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import pytest

from clauses.catalogue import Clause, Role
from clauses.tiers import Tier
from conformance.assertions.play_summary import software_in_words
from conformance.engine.drawing import examples_go_to
from conformance.engine.failing_examples import FailingExamples, FurtherKinds
from conformance.engine.hypothesis_profiles import client_examples
from conformance.engine.planning import is_about, newer_examples, note_started
from conformance.engine.property_judge import JUDGE, PropertyJudge
from conformance.engine.repeating import FailingExample
from conformance.engine.repeating_plays import repeat_plays
from conformance.engine.second_plays import SecondPlays
from conformance.failures.stored_failures import StoredFailure
from conformance.roles.client_check import check_clients, unable_to_start
from conformance.roles.client_needs import NEEDS, unmet_need
from conformance.roles.role import RoleInRun, unmet_by_suite
from conformance.roles.stored_targets import ReplayOptions, client_for
from conformance.runs.run_identity import SUITE
from fixtures.choosing.client_options import CHECK
from fixtures.choosing.clients import CLIENTS, ChosenClient, chosen_clients, tries_operations
from fixtures.cleanup.ending_signals import INTERRUPTS
from fixtures.registry.clients import FOREIGN
from fixtures.run_size import tier_in
from fixtures.scripted_broker.playing import PlayPool
from fixtures.under_test.client import LAUNCHER, ClientUnderTest, client_under_test
from fixtures.under_test.judged_target import ChosenTarget
from reference_model.clients.rules.first_reaction import stops_short
from reference_model.clients.rules.software_rules import names_nothing
from reference_model.clients.scripts.script import Script
from reports.plugin import clauses_of
from reports.repeats import Repeats
from strategies.hypothesis_adapter import max_examples_changed, pinned_examples


class ClientRole(RoleInRun[ClientUnderTest]):
    """Clients; nothing of one runs between its plays."""

    name = parameter = Role.CLIENT.value
    folder = SUITE / "clients"
    reasons_of_suite = unmet_by_suite(NEEDS)
    shares_examples = True

    def __init__(self, config: pytest.Config) -> None:
        super().__init__(config)
        self._client: ClientUnderTest | None = None
        self._failing: FailingExamples | None = None
        self._second_plays: SecondPlays | None = None

    def choose(self) -> Sequence[ChosenClient]:
        """Return the chosen clients, unless they are to work with real brokers."""
        chosen = self.config.stash[CLIENTS]
        return () if tries_operations(self.config) else chosen

    def judges(self, chosen: ChosenTarget) -> bool:
        """Return whether it is a client."""
        return isinstance(chosen, ChosenClient)

    def refuse(self) -> None:
        """Refuse a command line that asks for properties of clients without a client."""
        here = self.config.invocation_params.dir
        paths = [(here / argument.partition("::")[0]).resolve() for argument in self.config.args]
        if not self.config.stash[CLIENTS] and any(
            path.is_relative_to(folder) for path in paths for folder in self.folders()
        ):
            raise pytest.UsageError("these properties judge clients: choose one with --client or --client-cmd")

    def begin(self, item: pytest.Item, judged: ClientUnderTest) -> None:
        """Before the first property of a client: begin the plays of all of them, if it can be judged.

        Raises:
            HarnessError: the client fails with a healthy broker.
        """
        self._client, recorder = judged, self.recorder
        if note_started(recorder, judged.target, LAUNCHER, judged.artefacts):
            recorder.client_commands[judged.target.id] = judged.client.given
            self._failing, self._second_plays = FailingExamples(recorder), SecondPlays()
            if judged.works:
                recording = judged.healthy.recording
                recorder.stopped_short[judged.target.id] = stops_short(recording)
                remark = names_nothing(recording)
                # The registry declares no name of a command, so its user has to see it.
                if not remark and judged.client.install.kind == FOREIGN:
                    remark = f"it {software_in_words(recording)}"
                if remark:
                    recorder.remarks[judged.target.id] = remark
                same = [each for each in item.session.items if is_about(each, judged.target)]
                judged.plays.begin(scripts_of(same, judged, tier=tier_in(self.config)))
        # A client that fails with a healthy broker is not judged; this raises.
        judged.healthy  # noqa: B018

    @staticmethod
    def why_not_applicable(clause: Clause, needs: Iterable[str], judged: ClientUnderTest) -> str | None:
        """Return what a client lacks, whatever the clause is; None if it lacks nothing."""
        return unmet_need(needs, judged)

    def judge(self, item: pytest.Item, judged: ClientUnderTest) -> Generator[None, Any, Any]:
        """Judge a property; after a failure of one kind, draw the rest of its examples to find further kinds."""
        test = item.obj  # type: ignore[attr-defined]
        pinned = len(pinned_examples(test))
        judge = PropertyJudge(
            self.recorder,
            judged,
            clauses_of(item),
            test.__name__,
            pinned=pinned,
            further_kinds=FurtherKinds(pinned=pinned),
            failing=self._failing,
            second_plays=self._second_plays,
            newer=newer_examples(test, self.recorder.clause_set),
        )
        JUDGE.set(judge)
        count = partial(client_examples, tier=tier_in(self.config))
        with max_examples_changed(test, count), examples_go_to(judge.judge, test):
            try:
                yield
            except AssertionError as error:
                _draw_on(item, judge, error)
        INTERRUPTS.check()
        judge.raise_first()

    def repeat(self, judged: ClientUnderTest, examples: Sequence[FailingExample]) -> Sequence[Repeats | None]:
        """Play the scripts of the examples again, a few at a time."""
        return repeat_plays(judged, examples)

    def leave(self, item: pytest.Item) -> None:
        """Repeat the failures of all properties of a client, and write what that showed into their folders."""
        client, failing, self._client = self._client, self._failing, None
        # A client that could not be installed has no failures.
        if client is None or failing is None:
            return
        # They may take longer than one property may; each play has a limit of its own.
        item.ihook.pytest_timeout_cancel_timer(item=item)
        failing.repeat(partial(self.repeat, client))
        for key in self.recorder.cells:
            if key.target == client.target.id:
                self.recorder.write_failures(key)

    @staticmethod
    @contextmanager
    def from_stored(failure: StoredFailure, options: ReplayOptions) -> Iterator[ClientUnderTest]:
        """Install the client, and yield it if it works with a healthy broker."""
        options.refuse_brokers()
        client = client_for(failure, options)
        with closing(PlayPool(1)) as pool, client_under_test(client, pool) as judged:
            # Raises if the client fails even with a healthy broker.
            judged.healthy  # noqa: B018
            yield judged


def _draw_on(item: pytest.Item, judge: PropertyJudge, error: AssertionError) -> None:
    """Draw the rest of a property's examples after one failed.

    Each further kind of failure starts another round.
    """
    latest: AssertionError | None = error
    while latest is not None and judge.draws_on(latest):
        latest = None
        try:
            item.runtest()
        except AssertionError as further:
            latest = further


def scripts_of(items: Iterable[pytest.Item], client: ClientUnderTest, *, tier: Tier) -> tuple[Script, ...]:
    """Return the scripts that properties draw, in the order in which they will be judged, each once.

    Every property is run once with a judge that only collects. Its seed is the same when it is judged, so Hypothesis
    draws the same examples again, until one of them fails; what is drawn after that is played when it is drawn.
    """
    scripts: dict[Script, None] = {}

    def collect(body: Callable[..., None], values: Mapping[str, Any]) -> None:
        scripts.update((value, None) for value in values.values() if isinstance(value, Script))

    for item in items:
        test = item.obj  # type: ignore[attr-defined]
        count = partial(client_examples, tier=tier)
        with max_examples_changed(test, count), examples_go_to(collect, test):
            test(client=client)
    return tuple(scripts)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Check the chosen clients in place of a run, if the option is given; return the gravest exit status."""
    chosen = chosen_clients(config)
    if not config.getoption(CHECK):
        return unable_to_start(config, chosen)
    if not chosen:
        raise pytest.UsageError(f"{CHECK} needs a client: choose one with --client or --client-cmd")
    return check_clients(chosen)
