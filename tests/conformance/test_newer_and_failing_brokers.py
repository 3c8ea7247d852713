"""Tests of client properties with newer brokers and failing brokers.

The plays are prepared. The brokers fail while a client keeps asking.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.assertions.client_success import assert_every_success_is_earned
from conformance.clients import test_newer_brokers
from fixtures.client_processes.driver_output import Ask
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.in_memory_client import in_memory_client
from reference_model.clients.scripts.script import Script
from reference_model.clients.scripts.steps import steps_of
from strategies.newer_broker_scripts import broker_with_other_apis, next_release, raised
from strategies.slow_broker_scripts import failing_for_long
from tests.conformance.client_plays import FAILED, STOPPED, FakeClient, ended_well, worked
from tests.conformance.test_client_properties import (
    DESCRIBE_CLUSTER_KEY,
    LIST_GROUPS_KEY,
    LOST,
    USUAL,
    judge,
    judge_client,
)
from tests.reference_model.clients.recordings import asked, opened, recorded, sent


def asking(*answered_ms: int, asks: tuple[Ask, ...], opened_ms: int = 0) -> Play:
    """Return a play of a client that keeps asking, which got metadata at these times."""
    requests = (sent(USUAL, at_ms=each) for each in answered_ms)
    recording = recorded(asked(4), *requests, connections=(opened(at_ms=opened_ms),))
    return Play(recording=recording, result=replace(STOPPED, asks=asks))


def ask(at_ms: int, *, ok: bool = True) -> Ask:
    """Return an ask that ended at a time."""
    return Ask(ok=ok, at_ms=at_ms, detail="1 brokers")


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(asking(10, 110, asks=(ask(20), ask(120))), id="each-was-answered"),
        pytest.param(asking(10, asks=(ask(20), ask(120, ok=False))), id="failure-without-an-answer"),
        pytest.param(asking(150, asks=(ask(20),), opened_ms=130), id="driver-started-later"),
        pytest.param(asking(asks=()), id="no-ask-was-printed"),
    ],
)
def test_every_success_with_an_answer_is_earned(play: Play) -> None:
    """A broker sent metadata during each ask that succeeded, as far as two clocks show."""
    assert_every_success_is_earned(FakeClient(prepared=play), play)


class OfTwoPlays(FakeClient):
    """A client that answers every second ask of a healthy broker from what it knows, or none."""

    def __init__(self, *, knows: bool) -> None:
        healthy = asking(10, asks=(ask(20), ask(120))) if knows else asking(10, asks=(ask(20),))
        super().__init__(prepared=healthy)


@pytest.mark.parametrize("knows", [True, False])
def test_success_before_the_first_answer_is_found(*, knows: bool) -> None:
    """Not even a client that remembers metadata can have it then."""
    play = asking(150, asks=(ask(20), ask(160)))
    with pytest.raises(AssertionError, match="reports success after 20 ms, although no broker"):
        assert_every_success_is_earned(OfTwoPlays(knows=knows), play)
    with pytest.raises(AssertionError, match="1 of 1 successes"):
        assert_every_success_is_earned(OfTwoPlays(knows=knows), asking(asks=(ask(20),)))


def test_later_success_without_an_answer_is_found() -> None:
    """Only a client that asks the broker each time has to be answered each time."""
    play = asking(10, asks=(ask(20), ask(120, ok=False), ask(220)))
    with pytest.raises(AssertionError, match="reports success after 220 ms, although no broker"):
        assert_every_success_is_earned(OfTwoPlays(knows=False), play)
    assert_every_success_is_earned(OfTwoPlays(knows=True), play)


def test_unearned_success_is_recorded_with_its_own_play() -> None:
    """The play of a healthy cluster only shows whether the client asks each time."""
    client = in_memory_client("second-failure-in-a-row-is-a-success")
    script = failing_for_long(first_works=True)
    play = client.play(script)
    with pytest.raises(AssertionError, match="reports success after"):
        assert_every_success_is_earned(client, play)
    assert client.script == script
    assert client.journal == steps_of(play.recording)


def test_success_is_not_looked_at_if_not_all_was_seen() -> None:
    """More requests than were recorded, or a client that needs no metadata, show nothing."""
    play = asking(asks=(ask(20),))
    more = replace(play, recording=replace(play.recording, all_requests=4000))
    assert_every_success_is_earned(OfTwoPlays(knows=False), more)
    without = FakeClient(healthy=ended_well(LOST), prepared=play)
    assert_every_success_is_earned(without, play)


RAISED = broker_with_other_apis(changed=raised(DESCRIBE_CLUSTER_KEY, LIST_GROUPS_KEY))
DESCRIBES = worked(asked(4), sent(2, api_key=DESCRIBE_CLUSTER_KEY))


@pytest.mark.parametrize(
    ("script", "play", "sentence"),
    [
        pytest.param(RAISED, Play(recording=recorded(asked(4)), result=FAILED), "", id="error"),
        pytest.param(
            RAISED,
            worked(asked(4), sent(2, api_key=DESCRIBE_CLUSTER_KEY), script=RAISED),
            "the client sends DescribeCluster v2, although the broker lists v60 to v70",
            id="own-version",
        ),
        pytest.param(
            broker_with_other_apis(changed=((DESCRIBE_CLUSTER_KEY, 2, 2),)),
            Play(recording=recorded(asked(4)), result=FAILED),
            "the client does not work: its operation fails",
            id="usual-version-is-listed",
        ),
        pytest.param(
            broker_with_other_apis(removed=(LIST_GROUPS_KEY,)),
            Play(recording=recorded(asked(4)), result=FAILED),
            "",
            id="api-is-not-used",
        ),
    ],
)
def test_other_apis_are_judged_by_what_a_client_uses(script: Script, play: Play, sentence: str) -> None:
    """Without a shared version nothing is sent; with the usual one the client works."""
    client = FakeClient(prepared=play, healthy=DESCRIBES)
    found = judge_client(test_newer_brokers.test_every_api_is_used_in_the_overlap, script, client)
    assert found == sentence


def test_version_of_a_later_release_is_found() -> None:
    """The client has copied the broker's newest version of ApiVersions."""
    play = worked(asked(4), sent(12), asked(9, connection=1))
    found = judge(test_newer_brokers.test_later_api_versions_are_not_asked_for, next_release(9), play)
    assert found.startswith("the client sends ApiVersions v9, which it does not know")
