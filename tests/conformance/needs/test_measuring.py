"""What an operation needs is found by taking versions away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Event

import pytest

from conformance.needs.measuring import USUAL_RUNS, NoSuchOperation, needs_of
from fixtures.errors import HarnessError
from fixtures.scripted_broker.playing import Play
from reference_model.profiles.removals import Removal
from reference_model.profiles.version_tables import Ranges
from reports.client_needs.needs import ApiNeeds, OperationNeeds, ProbeOutcome
from tests.conformance.client_plays import FAILED, WELL
from tests.conformance.needs.wishful_client import SERVED, WishfulBench
from tests.reference_model.clients.recordings import recorded, sent
from wire.api_keys import DESCRIBE_CLUSTER_KEY, FIND_COORDINATOR_KEY, JOIN_GROUP_KEY, METADATA_KEY

HANGS = Play(recording=recorded(), result=replace(WELL, outcome=None, killed_for="time"))


def measured(bench: WishfulBench) -> OperationNeeds:
    """Return what the operation of a client needs."""
    return needs_of(bench, "metadata", at_a_time=2)


def about(needs: OperationNeeds, api_key: int) -> ApiNeeds:
    """Return what it needs of one API."""
    return next(each for each in needs.apis if each.api_key == api_key)


def test_operation_that_a_command_does_not_have_is_not_measured() -> None:
    lacks = Play(recording=recorded(), result=replace(WELL, outcome=None, exit_status=89))
    with pytest.raises(NoSuchOperation, match="no such operation"):
        measured(WishfulBench(lambda _: lacks))


def test_client_that_needs_what_it_sends_has_no_hidden_need() -> None:
    needs = measured(WishfulBench())
    assert [each.api_key for each in needs.apis] == [METADATA_KEY, FIND_COORDINATOR_KEY]
    metadata = about(needs, METADATA_KEY)
    assert (metadata.used, metadata.works_with, metadata.is_needed) == ((7,), "v3 to v7", True)
    assert metadata.removed.outcome is ProbeOutcome.SAYS
    assert not [*needs.hidden]
    assert (needs.unclear, needs.inconclusive) == ((), "")


def test_old_version_that_is_needed_though_a_newer_one_is_sent_is_hidden() -> None:
    def decide(left: Ranges) -> Play | None:
        return HANGS if left[FIND_COORDINATOR_KEY].lowest > 0 else None

    (hidden,) = measured(WishfulBench(decide)).hidden
    assert (hidden.what, hidden.used) == ("FindCoordinator v0", (2,))
    assert (hidden.probe.removed, hidden.probe.outcome) == ("FindCoordinator 1+", ProbeOutcome.BREAKS)
    assert hidden.probe.detail == "it hangs"


def test_version_of_an_api_that_is_never_sent_can_be_needed() -> None:
    """As by a library that derives from a table what else it may do."""

    def decide(left: Ranges) -> Play | None:
        return None if left.get(JOIN_GROUP_KEY, (9, 9))[0] <= 1 else Play(recording=recorded(), result=FAILED)

    needs = measured(WishfulBench(decide))
    (hidden,) = needs.hidden
    assert (hidden.what, hidden.used, hidden.probe.removed) == ("JoinGroup v1", (), "JoinGroup 2+")
    assert about(needs, JOIN_GROUP_KEY).is_needed


def test_api_that_is_never_sent_can_be_needed() -> None:
    def decide(left: Ranges) -> Play | None:
        return None if DESCRIBE_CLUSTER_KEY in left else Play(recording=recorded(), result=FAILED)

    (hidden,) = measured(WishfulBench(decide)).hidden
    assert (hidden.what, hidden.probe.removed) == ("DescribeCluster", "no DescribeCluster")


def test_what_works_without_a_request_that_is_always_sent_gives_something_up() -> None:
    def decide(left: Ranges) -> Play | None:
        gone = left[METADATA_KEY].lowest > 0
        return Play(recording=recorded(sent(7)), result=WELL) if gone else None

    (hidden,) = measured(WishfulBench(decide)).hidden
    assert hidden.what == "Metadata v0"
    assert hidden.probe.outcome is ProbeOutcome.GIVES_UP
    assert hidden.probe.detail == "it sends no FindCoordinator any more"


def test_operation_that_does_not_always_work_is_inconclusive_with_its_rate() -> None:
    needs = measured(WishfulBench(failing=[False, True]))
    assert needs.inconclusive.startswith("it works in 2 of 3 runs with nothing taken away: ")
    assert not needs.apis


def test_probe_that_fails_once_is_no_need() -> None:
    needs = measured(WishfulBench(failing=[False, False, False, True]))
    assert not [*needs.hidden]
    (unclear,) = needs.unclear
    assert unclear.outcome is ProbeOutcome.UNSTABLE
    assert unclear.detail == "it works in 2 of 3 runs; otherwise: TimeoutException"


def test_operation_that_breaks_with_nothing_taken_away_as_well_shows_no_need() -> None:
    """As on a machine that became too slow."""
    usual: list[Ranges] = []

    def decide(left: Ranges) -> Play | None:
        if left == SERVED:
            usual.append(left)
        return HANGS if len(usual) > USUAL_RUNS or left[FIND_COORDINATOR_KEY].lowest > 0 else None

    needs = measured(WishfulBench(decide))
    assert not [*needs.hidden]
    assert {each.outcome for each in needs.unclear} == {ProbeOutcome.UNSTABLE}
    assert needs.unclear[0].detail == "it hangs; with nothing taken away it did not work then, either"


def test_hidden_need_is_found_although_it_once_worked_without_all_old_versions() -> None:
    """A probe of several removals that is not stable says nothing about one of them."""
    without_old: list[Ranges] = []

    def decide(left: Ranges) -> Play | None:
        if left[METADATA_KEY].lowest > 0 and left[FIND_COORDINATOR_KEY].lowest > 0:
            without_old.append(left)
            return HANGS if len(without_old) > 1 else None
        return HANGS if left[FIND_COORDINATOR_KEY].lowest > 0 else None

    bench = WishfulBench(decide, failing=[False, False, False, True])
    assert [each.what for each in measured(bench).hidden] == ["FindCoordinator v0"]


def test_apis_that_are_only_needed_together_are_unclear() -> None:
    def decide(left: Ranges) -> Play | None:
        is_without_both = JOIN_GROUP_KEY not in left and DESCRIBE_CLUSTER_KEY not in left
        return HANGS if is_without_both else None

    needs = measured(WishfulBench(decide))
    assert not [*needs.hidden]
    assert [each.removed for each in needs.unclear] == ["no JoinGroup, no DescribeCluster"]


def test_client_that_cannot_be_run_is_inconclusive() -> None:
    killed = Play(recording=recorded(), result=replace(WELL, outcome=None, exit_status=None, signal="SIGKILL"))
    needs = measured(WishfulBench(lambda _: killed))
    assert needs.inconclusive == "the client's process was ended from outside by SIGKILL"


def test_play_that_fails_in_the_suite_is_inconclusive() -> None:
    def decide(left: Ranges) -> Play | None:
        raise HarnessError("no port is free")

    assert measured(WishfulBench(decide)).inconclusive == "no port is free"


class InterruptedBench(WishfulBench):
    """Raises an interrupt in the first play of a probe that runs in a thread; later plays wait for an event."""

    FIRST_IN_THREAD = 5
    may_go_on = Event()

    def play(self, operation: str, removals: Sequence[Removal], time_s: float) -> Play:
        """Return what becomes of the operation."""
        if len(self.tried) == self.FIRST_IN_THREAD - 1:
            self.tried.append(removals)
            raise KeyboardInterrupt
        if len(self.tried) >= self.FIRST_IN_THREAD:
            self.may_go_on.wait(5)
        return super().play(operation, removals, time_s)


def test_no_further_probe_begins_after_an_interrupt() -> None:
    bench = InterruptedBench()
    with pytest.raises(KeyboardInterrupt):
        needs_of(bench, "metadata", at_a_time=1)
    begun = len(bench.tried)
    bench.may_go_on.set()
    assert begun == bench.FIRST_IN_THREAD
