"""The role of clients: what a property may require, and the judging.

A client is judged by what it does to scripted brokers.

With the option `--client-check`, the healthy script is played alone and what was seen is printed, before anything is
judged. A run with `--client-cmd` does the same first, and ends if the command does not even start.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import click
import pytest

from clauses.catalogue import Clause, Role
from clauses.tiers import Tier
from conformance.assertions.client_moves import newest_api_versions, newest_metadata
from conformance.assertions.play_summary import quoted_errors, software_in_words, summary
from conformance.engine.drawing import examples_go_to
from conformance.engine.failing_examples import FailingExamples, FurtherKinds
from conformance.engine.hypothesis_profiles import client_examples
from conformance.engine.planning import is_about, note_started
from conformance.engine.property_judge import JUDGE, PropertyJudge
from conformance.engine.repeating import FailingExample
from conformance.engine.repeating_plays import repeat_plays
from conformance.engine.second_plays import SecondPlays
from conformance.failures.stored_failures import StoredFailure
from conformance.roles.role import Need, RoleInRun, unmet_by_suite
from conformance.roles.stored_targets import Wanted, client_for
from conformance.runs.run_identity import SUITE
from fixtures.choosing.clients import CHECK, CLIENTS, ChosenClient, chosen_clients, tries_operations
from fixtures.cleanup.ending_signals import INTERRUPTS
from fixtures.errors import HarnessError
from fixtures.registry.clients import FOREIGN
from fixtures.scripted_broker.playing import Play, PlayPool
from fixtures.tiers import tier_in
from fixtures.under_test.client import COULD_NOT_START, LAUNCHER, ClientUnderTest, client_under_test
from fixtures.under_test.judged_target import Chosen
from proposals import provided
from reference_model.clients.rules.first_reaction import NEVER_ASKED, stops_short
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.software_rules import names_nothing
from reference_model.clients.scripts.recording import Recording
from reference_model.clients.scripts.script import HEALTHY_SCRIPT, Script
from reference_model.profiles.listeners import SASL_PLAINTEXT, SSL
from reports.plugin import clauses_of
from reports.repeats import Repeats
from reports.run.exit_status import ExitStatus
from reports.wording.escaping import printable
from strategies.cluster_scripts import healthy_cluster
from strategies.hypothesis_adapter import max_examples_changed, pinned_examples
from wire.api_versions import FIRST_FLEXIBLE_VERSION, FIRST_VERSION_WITH_CLUSTER_CHECK


def _sends(version: int, client: ClientUnderTest) -> bool:
    return newest_api_versions(client.healthy) >= version


def _gives_ids(client: ClientUnderTest) -> bool:
    """Whether a client gives the ids of KIP-1242 to a healthy broker, or promises to in the registry."""
    # The cluster is played only for a client that does not show it in the first play.
    return (
        client.client.cluster_check
        or _has_ids(client.healthy.recording)
        or _has_ids(client.play(healthy_cluster()).recording)
    )


def _has_ids(recording: Recording) -> bool:
    return any(any(move.gives_ids) for move in History(recording).moves)


def _sends_from(version: int) -> Need[ClientUnderTest]:
    return Need(
        partial(_sends, version),
        f"the client sends no ApiVersions request from v{version} on, even to a healthy broker",
    )


def _option(name: str, what: str, listener: str = "") -> tuple[str, Need[ClientUnderTest]]:
    """Return the need for an option of the client.

    If the option is about a listener, the client also has to work with a healthy broker on that listener.
    """
    return f"option:{name}", Need(
        lambda client: name in client.client.options and (not listener or bool(client.healthy_on(listener))),
        f"no option of the client is known {what}; one of a command is declared with --client-option {name}=ARGUMENTS",
        is_of_suite=True,
    )


NEEDS: Mapping[str, Need[ClientUnderTest]] = {
    "asks_versions": Need(partial(_sends, 0), "the client sends no ApiVersions request, even to a healthy broker"),
    "never_asks": Need(
        lambda client: stops_short(client.healthy.recording) == NEVER_ASKED,
        "the client asks for versions, or sends no request at all, even to a healthy broker",
    ),
    "asks_metadata": Need(
        lambda client: newest_metadata(client.healthy) is not None,
        "the client sends no Metadata request, even to a healthy broker",
    ),
    "asks_again": Need(
        lambda client: client.client.can_ask_again,
        "the client's command has no {again}, so it ends before the broker is healthy",
        is_of_suite=True,
    ),
    "gives_up": Need(
        lambda client: not client.client.runs_on,
        "the client runs on, so it may ask again after it gave up, which looks like a repeated version",
        is_of_suite=True,
    ),
    "newest_is_seen": Need(
        lambda client: (
            _sends(FIRST_FLEXIBLE_VERSION, client) or len({*client.healthy.recording.versions_of_api_versions}) > 1
        ),
        "the client sends nothing but one version of ApiVersions without a name, even to a healthy broker that supports newer ones: "
        "whether it knows a newer one is not seen",
    ),
    "sends_v1": _sends_from(1),
    "sends_v3": _sends_from(FIRST_FLEXIBLE_VERSION),
    "sends_v4": _sends_from(FIRST_FLEXIBLE_VERSION + 1),
    "sends_v5": _sends_from(FIRST_VERSION_WITH_CLUSTER_CHECK),
    "cluster_check": Need(
        _gives_ids,
        "the client gives no ids of KIP-1242 in its ApiVersions requests, even to a healthy broker",
    ),
    **dict(
        (
            _option("tls", "for TLS", SSL),
            _option("sasl_plain", "for SASL PLAIN", SASL_PLAINTEXT),
            _option("without_cluster_check", "that disables the check"),
            _option("without_rebootstrap", "that disables rebootstrapping"),
            _option(
                "rebootstraps_after_1_s",
                "that makes it bootstrap again after a second without metadata",
            ),
        )
    ),
    **{name: Need(*need) for of_one in provided("client_needs") for name, need in of_one.items()},
}
"""The needs, by the name that the mark `needs` uses."""


def unmet_need(needs: Iterable[str], client: ClientUnderTest) -> str | None:
    """Return why a client lacks what a property needs; None if it lacks nothing.

    Raises:
        KeyError: a name is not in `NEEDS`.
        HarnessError: the client fails against a healthy broker, so nothing can be judged.
    """
    return next((NEEDS[name].otherwise for name in needs if not NEEDS[name].is_met(client)), None)


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

    def judges(self, chosen: Chosen) -> bool:
        """Return whether it is a client."""
        return isinstance(chosen, ChosenClient)

    def refuse(self) -> None:
        """Refuse a command line that asks for properties of clients without a client."""
        here = self.config.invocation_params.dir
        asked = [(here / argument.partition("::")[0]).resolve() for argument in self.config.args]
        if not self.config.stash[CLIENTS] and any(
            path.is_relative_to(folder) for path in asked for folder in self.folders()
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
    def from_stored(failure: StoredFailure, wanted: Wanted) -> Iterator[ClientUnderTest]:
        """Install the client, and yield it if it works with a healthy broker."""
        wanted.refuse_brokers()
        client = client_for(failure, wanted)
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
    found: dict[Script, None] = {}

    def collect(body: Callable[..., None], values: Mapping[str, Any]) -> None:
        found.update((value, None) for value in values.values() if isinstance(value, Script))

    for item in items:
        test = item.obj  # type: ignore[attr-defined]
        count = partial(client_examples, tier=tier)
        with max_examples_changed(test, count), examples_go_to(collect, test):
            test(client=client)
    return tuple(found)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Check the chosen clients in place of a run, if the option is given; return the gravest exit status."""
    chosen = chosen_clients(config)
    if not config.getoption(CHECK):
        return _unable_to_start(config, chosen)
    if not chosen:
        raise pytest.UsageError(f"{CHECK} needs a client: choose one with --client or --client-cmd")
    with closing(PlayPool(1)) as pool:
        statuses = [_check(each, pool) for each in chosen]
    return min(statuses, key=[ExitStatus.HARNESS_ERROR, ExitStatus.INCOMPLETE, 0].index)


def _unable_to_start(config: pytest.Config, chosen: Sequence[ChosenClient]) -> int | None:
    """Return the exit status if the only client is a command that does not start; otherwise None."""
    is_command = config.getoption("--client-cmd") is not None and len(chosen) == 1
    if not is_command or config.option.collectonly or config.option.help:
        return None
    try:
        with closing(PlayPool(1)) as pool, client_under_test(chosen[0].client, pool) as client:
            play = client.plays.of(HEALTHY_SCRIPT)
    except HarnessError:
        # The run says so in its cells.
        return None
    if play.recording.all_connections or play.result.exit_status not in COULD_NOT_START:
        return None
    said = f"{chosen[0].id} does not start, so nothing was judged: {play.result.summary}"
    click.echo(printable(said))
    return ExitStatus.HARNESS_ERROR


def _check(chosen: ChosenClient, pool: PlayPool) -> int:
    try:
        with client_under_test(chosen.client, pool) as client:
            play = client.healthy
    except HarnessError as error:
        click.echo(printable(str(error)))
        return ExitStatus.HARNESS_ERROR
    for line in _seen_lines(chosen.id, play):
        click.echo(printable(line))
    return ExitStatus.INCOMPLETE if stops_short(play.recording) else 0


def _seen_lines(name: str, play: Play) -> Iterator[str]:
    """Yield what was seen of a client in the play of a healthy broker."""
    yield f"{name} works with a healthy broker: {summary(play)}"
    short = stops_short(play.recording)
    if short:
        yield f"But {short}."
    remark = names_nothing(play.recording)
    if remark:
        yield f"Note: {remark}."
    for move in History(play.recording).moves:
        ids = "; gives the ids of KIP-1242" if any(move.gives_ids) else ""
        yield f"  {move}{ids}"
    yield f"It {software_in_words(play.recording)}."
    yield from quoted_errors(play.result).splitlines()
