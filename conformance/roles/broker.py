"""The roles of brokers and proxies: what a property may require, and the judging.

Proxies are judged as brokers are, and by clauses about what they pass on to their upstream broker.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import pytest
from hypothesis.errors import Flaky

from clauses import marks
from clauses.catalogue import Clause, Role
from conformance.assertions.clause_ids import V0_ALWAYS_SERVED
from conformance.assertions.features import (
    lists_features,
    lists_supported_features,
    names_epoch_of,
)
from conformance.assertions.finalizing import can_finalize
from conformance.assertions.logins import lists_handshake
from conformance.assertions.other_apis import lists_other_apis, survives_unknown_apis
from conformance.assertions.read_only_apis import flexible_items, produce_items, read_only_items
from conformance.assertions.served_transactions import begins_transactions, is_sole_node_of_suite
from conformance.assertions.unlisted_apis import unlisted_items
from conformance.engine.drawing import examples_go_to
from conformance.engine.examples_ahead import RejudgeSequentially, examples_ahead, examples_at_once
from conformance.engine.hypothesis_profiles import UNSHRUNK, examples_on, profile_name
from conformance.engine.planning import newer_examples, note_started
from conformance.engine.property_judge import JUDGE, PropertyJudge
from conformance.engine.repeating import FailingExample, Repeater
from conformance.failures.stored_failures import StoredFailure
from conformance.roles.role import FAILED_ELSEWHERE, Need, RoleInRun, unmet_by_suite, with_proposed_needs
from conformance.roles.stored_targets import ReplayOptions, target_for
from conformance.runs.run_identity import SUITE
from fixtures.choosing.listeners import TARGETS, ListenerOfTarget
from fixtures.cleanup.ending_signals import INTERRUPTS
from fixtures.errors import BrokerGone, HarnessError
from fixtures.launchers import launch
from fixtures.registry.targets import Target
from fixtures.run_size import tier_in
from fixtures.under_test.broker import Broker, SpareTarget, outcome_of_api_versions
from fixtures.under_test.judged_target import ChosenTarget
from reference_model.broker.model.scram import SCRAM
from reference_model.profiles.listeners import (
    PLAINTEXT,
    SASL_LISTENERS,
    UPSTREAM,
    first_but_for_tls,
)
from reports.plugin import clauses_of
from reports.repeats import Repeats
from strategies.hypothesis_adapter import max_examples_changed, pinned_examples

MORE_THAN_READING = "more_than_reading"
"""The need of every property whose examples send, or have the suite do, more than what `wire.read_only` lists. It is
named first, because other needs ask the target."""


NEEDS_OF_SUITE: Mapping[str, Need[Broker]] = {
    MORE_THAN_READING: Need(
        lambda broker: not broker.target.is_read_only,
        "the run is read-only, and this takes requests that do more than read: see --malformed",
        is_of_suite=True,
    ),
    "features": Need(
        lists_features,
        "the target lists no feature on this listener, neither a supported nor a finalized one",
    ),
    "plaintext_features": Need(
        lambda broker: lists_supported_features(broker.sibling(PLAINTEXT)),
        "the target lists no supported feature on its plaintext listener",
    ),
    "one_epoch": Need(
        lambda broker: names_epoch_of(broker, PLAINTEXT),
        "the listener names no epoch of the finalized features, or another one than the plaintext listener: this proves nothing",
    ),
    "upstream_features": Need(
        lambda broker: lists_supported_features(broker.sibling(UPSTREAM)),
        "the upstream lists no supported feature",
    ),
    "finalizing": Need(
        can_finalize,
        "the suite did not start the target as a release with KRaft, or does not know to which levels it may be raised",
        is_of_suite=True,
    ),
    "other_nodes": Need(
        lambda broker: bool(broker.running.other_nodes),
        "the suite knows no other node of the target's cluster",
        is_of_suite=True,
    ),
    "sole_node": Need(
        is_sole_node_of_suite,
        "the suite did not start the target, or it is one of several nodes",
        is_of_suite=True,
    ),
    "transactions": Need(begins_transactions, "the target begins no transaction"),
    "metrics": Need(
        lambda broker: broker.running.metrics_url is not None,
        "the suite cannot read the target's metrics, because of the way the target was started",
        is_of_suite=True,
    ),
    "deprecated_requests": Need(
        lambda broker: broker.profile.traits.deprecated_requests_counted,
        "the release has no metric of requests in deprecated versions",
    ),
    "request_log": Need(
        lambda broker: None not in (broker.running.request_log, broker.running.administration),
        "the suite cannot read the target's request log, because of the way the target was started",
        is_of_suite=True,
    ),
    "quota": Need(
        lambda broker: broker.running.administration is not None,
        "the suite cannot set a request quota on the target, because of the way the target was started",
        is_of_suite=True,
    ),
    "quota_on_listener": Need(
        lambda broker: broker.profile.traits.requests_throttled,
        "the controllers of this release apply no request quota",
    ),
    "cluster_id": Need(
        lambda broker: None not in (broker.identity.cluster_id, broker.identity.node_id),
        "the cluster id and node id of the target are not known: neither Metadata v2 nor DescribeCluster v0 names "
        "the cluster and node at this address",
        is_of_suite=True,
    ),
    "handshake_v1": Need(
        lambda broker: broker.profile.traits.sasl_handshake_max > 0,
        "the release has no SaslHandshake v1",
    ),
    "unlisted_apis": Need(
        lambda broker: any(True for _ in unlisted_items(broker)),
        "the table leaves out no API that this run may request",
    ),
    "handshake_listed": Need(lists_handshake, "the target lists no version of SaslHandshake that the suite can send"),
    "scram": Need(
        lambda broker: broker.running.sasl is not None and SCRAM in broker.running.sasl.usable,
        f"there is no account for {SCRAM}: the target does not offer it, the suite cannot add a user, or none was given "
        "for it",
        is_of_suite=True,
    ),
    "upstream": Need(
        lambda broker: broker.has_listener(UPSTREAM),
        "the target is not a proxy, or its upstream is not known: see --upstream",
        is_of_suite=True,
    ),
    "upstream_link": Need(
        lambda broker: broker.running.upstream_link is not None,
        "the suite does not stand between the proxy and its upstream, because it started neither",
        is_of_suite=True,
    ),
    "upstream_answers": Need(
        lambda broker: not broker.target.has_scripted_upstream,
        "the upstream is a scripted broker, which answers no request that a proxy only passes on",
        is_of_suite=True,
    ),
    "other_apis": Need(lists_other_apis, "the target lists no other API than ApiVersions on this listener"),
    "unknown_apis_survived": Need(
        survives_unknown_apis,
        "a request of any unknown API ends the target (judged by PROTOCOL.malformed-hurts-nobody)",
    ),
    "flexible_apis": Need(
        lambda broker: bool(flexible_items(broker)),
        "the target lists no flexible version of Metadata, ListGroups or DescribeCluster",
    ),
    "read_only_apis": Need(
        lambda broker: bool(read_only_items(broker)),
        "the target serves none of Metadata, ListGroups, DescribeQuorum and DescribeCluster",
    ),
    "produce": Need(lambda broker: bool(produce_items(broker)), "the target does not serve Produce"),
    "plaintext": Need(
        lambda broker: broker.has_listener(PLAINTEXT),
        "the target has no plaintext listener to compare with",
        is_of_suite=True,
    ),
}
"""What the suite's own properties may need, by name."""
NEEDS: Mapping[str, Need[Broker]] = with_proposed_needs("brokers", NEEDS_OF_SUITE)
"""The needs, by the name that the mark `needs` uses."""


_asked_once = functools.cache(outcome_of_api_versions)


_OF_PROXIES = "PROXY."
"""How the ids of the clauses begin that bind only proxies."""
_SCRIPTED_UPSTREAM = "its upstream is a scripted broker, in front of which only the clauses of proxies are judged"


class BrokerRole(RoleInRun[Broker]):
    """Brokers, each while it runs."""

    name = parameter = Role.BROKER.value
    folder = SUITE / "brokers"
    reasons_of_suite = unmet_by_suite(NEEDS)

    def __init__(self, config: pytest.Config) -> None:
        super().__init__(config)
        self._repeater: Repeater | None = None

    def choose(self) -> Sequence[ListenerOfTarget]:
        """Return the chosen listeners of the chosen targets."""
        return [*self.config.stash[TARGETS]]

    def judges(self, chosen: ChosenTarget) -> bool:
        """Return whether it is a listener."""
        return isinstance(chosen, ListenerOfTarget)

    def begin(self, item: pytest.Item, judged: Broker) -> None:
        """Record how the target was started, and let the property wait for it."""
        running = judged.running
        note_started(self.recorder, judged.target, running.launcher, running.artefacts, running.start)
        judged.begin_property(*(clause.id for clause in clauses_of(item)))

    @staticmethod
    def why_not_applicable(clause: Clause, needs: Iterable[str], judged: Broker) -> str | None:
        """Return why a clause does not apply to a target; None if it does.

        Raises:
            KeyError: a name is not in `NEEDS`.
            HarnessError: the target's table cannot be read, so only `V0_ALWAYS_SERVED` can be judged.
        """
        if not judged.target.handshake:
            return f"the release is older than ApiVersions: {_asked_once(judged)}"
        if judged.unreadable is not None:
            # What stopped or ended a target is the fault then, and it is judged already.
            is_gone = isinstance(judged.unreadable, BrokerGone)
            if clause.id == V0_ALWAYS_SERVED and not is_gone:
                return None
            raise judged.unreadable
        if not clause.applies_at(judged.max_version):
            return (
                f"applies from ApiVersions v{clause.applies_to.first} on; "
                f"the target serves at most v{judged.max_version}"
            )
        return next((NEEDS[name].otherwise for name in needs if not NEEDS[name].is_met(judged)), None)

    def judge(self, item: pytest.Item, judged: Broker) -> Generator[None, Any, Any]:
        """Judge a property; on listeners after the target's first, draw only a share of its examples."""
        test = item.obj  # type: ignore[attr-defined]
        is_first = judged.listener == judged.target.listeners[0]
        is_secondary = not is_first and item.get_closest_marker(marks.EXHAUSTIVE) is None
        judge = PropertyJudge(
            self.recorder,
            judged,
            clauses_of(item),
            test.__name__,
            is_secondary_listener=is_secondary,
            is_thorough=self.has_whole_lists(judged),
            distance_s=judged.distance_s,
            pinned=len(pinned_examples(test)),
            newer=newer_examples(test, self.recorder.clause_set),
        )
        JUDGE.set(judge)
        share = partial(examples_on, judged.listener, judged.target.listeners)
        is_clean = False
        try:
            with max_examples_changed(test, share) if is_secondary else nullcontext():
                result = yield from _run_examples(item, judge, judged)
            is_clean = True
            return result
        except (AssertionError, Flaky):
            if profile_name() != UNSHRUNK:
                judge.repeat_failures(partial(self.repeat, judged))
            raise
        finally:
            if not INTERRUPTS.came:
                judge.crashes.end(is_clean=is_clean)
            item.stash[FAILED_ELSEWHERE] = judge.failed_elsewhere

    def has_whole_lists(self, judged: Broker) -> bool:
        """Return whether the run judges no listener of a target before this one that differs in TLS alone."""
        of_run = [each.listener for each in self.choose() if each.target.id == judged.target.id]
        return judged.listener == first_but_for_tls(judged.listener, of_run)

    def repeat(self, judged: Broker, examples: Sequence[FailingExample]) -> Sequence[Repeats | None]:
        """Repeat each example on the broker that was judged and on a fresh one."""
        if self._repeater is None:
            spare = SpareTarget(judged.target, judged.running.launcher)
            self._repeater = Repeater(spare, tier=tier_in(self.config))
        return [self._repeater.repeat(judged, each) for each in examples]

    def leave(self, item: pytest.Item) -> None:
        """Stop the broker that failures were repeated on, so that it disturbs no other target."""
        self.close()

    def close(self) -> None:
        """Stop the broker that failures were repeated on."""
        repeater, self._repeater = self._repeater, None
        if repeater is None:
            return
        try:
            repeater.close()
        except (OSError, HarnessError) as error:
            # The verdicts remain valid, and the run must still get its footer.
            warnings.warn(f"the broker for repeats was not stopped cleanly: {error}", stacklevel=1)

    @staticmethod
    @contextmanager
    def from_stored(failure: StoredFailure, options: ReplayOptions) -> Iterator[Broker]:
        """Start the target, and yield the listener of the failure."""
        options.refuse_clients()
        target = target_for(failure, options)
        with launch(target, options.launcher) as running:
            if failure.listener not in running.addresses:
                raise HarnessError(f"{target.id} has no listener {failure.listener}")
            is_secured = failure.listener in SASL_LISTENERS and "credentials" in failure.origin
            if is_secured and running.sasl is None:
                raise HarnessError(
                    f"it was found with credentials for the listener {failure.listener}: give them with --command-config"
                )
            broker = Broker(running, failure.listener)
            broker.calibrate()
            yield broker


def _run_examples(item: pytest.Item, judge: PropertyJudge, broker: Broker) -> Generator[None, Any, Any]:
    """Run a property's examples, several at the same time if the target is far away.

    Examples of a property that compares them run one after the other.
    """
    test = item.obj  # type: ignore[attr-defined]
    at_once = 1 if item.get_closest_marker(marks.IN_ORDER) else examples_at_once(broker)
    with examples_ahead(judge, broker, pinned_examples(test), at_once=at_once) as ahead:
        with examples_go_to(judge.judge if ahead is None else ahead.judge, test):
            try:
                result = yield
                if ahead is not None:
                    ahead.end()
                INTERRUPTS.check()
            except RejudgeSequentially as found:
                assert ahead is not None
                judge.begin_again(found.__cause__)
                ahead.begin_again()
                result = item.runtest()
        judge.raise_first()
        return result


class ProxyRole(BrokerRole):
    """Proxies. In the records they have the role of a broker, because its clauses bind them too."""

    reasons_of_suite = BrokerRole.reasons_of_suite | {_SCRIPTED_UPSTREAM}

    def choose(self) -> Sequence[ListenerOfTarget]:
        """Return the chosen listeners of proxies."""
        return [each for each in super().choose() if self.judges(each)]

    def judges(self, chosen: ChosenTarget) -> bool:
        """Return whether it is a listener of a proxy."""
        return super().judges(chosen) and self.is_role_of(chosen.target)

    @classmethod
    def is_role_of(cls, target: Target) -> bool:
        """Return whether a target passes requests on to an upstream."""
        return bool(target.upstream)

    @staticmethod
    def why_not_applicable(clause: Clause, needs: Iterable[str], judged: Broker) -> str | None:
        """Return why a clause does not apply, or None if it applies.

        With a scripted upstream only the clauses of proxies apply, because such an upstream responds to few requests.
        """
        is_of_proxies = clause.id.startswith(_OF_PROXIES) or clause.id == V0_ALWAYS_SERVED
        if judged.target.has_scripted_upstream and not is_of_proxies:
            return _SCRIPTED_UPSTREAM
        return BrokerRole.why_not_applicable(clause, needs, judged)
