"""What counts as a client's success, and when it hangs.

It succeeds by an answer to its own request, and by no table that came with an error or for another request. It hangs if it does
not come back to its application in its time, and the hang names the request that caused it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.assertions.client_moves import assert_ends_by_itself, assert_reports_error
from conformance.assertions.client_success import assert_success_is_earned, assert_table_is_not_used
from fixtures.client_processes.driver_process import DriverResult
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.recording import Recording, SeenRequest
from reference_model.clients.scripts.script import Script
from strategies.nonsense_scripts import table_with_error
from tests.conformance.client_plays import FAILED, HEALTHY, WELL, FakeClient, ended_well, worked
from tests.reference_model.clients.recordings import asked, listing, opened, recorded, sent

DESCRIBE_CLUSTER_KEY, LIST_GROUPS_KEY = 60, 16
LOST = recorded(asked(4), sent(12, response=b""))
SCRIPT = table_with_error(-1)
NEWEST, USUAL = 3, 12


def of_table(*requests: SeenRequest) -> Play:
    """Return a play with a broker whose table comes with an error."""
    return worked(asked(4), *requests, script=SCRIPT)


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(HEALTHY, id="metadata"),
        pytest.param(
            worked(asked(4), sent(0, api_key=DESCRIBE_CLUSTER_KEY)),
            id="description-of-the-cluster",
        ),
        pytest.param(Play(recording=LOST, result=FAILED), id="error"),
        pytest.param(ended_well(replace(LOST, all_requests=4000)), id="more-than-was-recorded"),
    ],
)
def test_success_with_an_answer_is_earned(play: Play) -> None:
    """A broker answered, or the client reports no success, or it cannot be known."""
    assert_success_is_earned(FakeClient(), play)


@pytest.mark.parametrize(
    "recording",
    [
        pytest.param(LOST, id="no-answer"),
        pytest.param(recorded(), id="no-request"),
        pytest.param(recorded(asked(4), sent(0, api_key=LIST_GROUPS_KEY)), id="another-answer"),
    ],
)
def test_success_without_metadata_is_found(recording: Recording) -> None:
    """A client that needs metadata reports success without it; one that needs none with a healthy broker may."""
    play = ended_well(recording)
    with pytest.raises(AssertionError, match="although no broker sent it metadata"):
        assert_success_is_earned(FakeClient(), play)
    assert_success_is_earned(FakeClient(healthy=ended_well(LOST)), play)


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(of_table(), id="nothing"),
        pytest.param(of_table(sent(USUAL)), id="usual-version"),
        pytest.param(of_table(sent(0), sent(1)), id="guesses"),
    ],
)
def test_version_from_elsewhere_is_no_use_of_the_table(play: Play) -> None:
    """A client may send what it sends without a table."""
    assert_table_is_not_used(FakeClient(), play, "with an error")


def test_use_of_the_table_is_found() -> None:
    """The newest version of the table shows that it was used, unless the client knows no newer one itself."""
    play = of_table(sent(NEWEST))
    with pytest.raises(AssertionError, match="sends Metadata v3, as the table of a response with"):
        assert_table_is_not_used(FakeClient(), play, "with an error")
    for usual in (recorded(asked(4), sent(NEWEST)), recorded(asked(4))):
        assert_table_is_not_used(FakeClient(healthy=ended_well(usual)), play, "x")


THREE_SECONDS = Script(timeout_ms=3000)
WATCHED = replace(WELL, outcome="error", detail="no result after 3 s", exit_status=1)
KILLED = replace(WELL, outcome=None, signal="SIGKILL", killed_for="time")
HUNG = Play(recording=recorded(asked(4), duration_ms=4500, script=THREE_SECONDS), result=WATCHED)
LATE = Play(
    recording=recorded(
        asked(4, at_ms=2000),
        connections=(opened(at_ms=1600),),
        duration_ms=4500,
        script=THREE_SECONDS,
    ),
    result=WATCHED,
)
UNANSWERED = recorded(
    *(asked(3, listing((3, 0, 1))), sent(12)),
    *(sent(13, at_ms=2, response=b""), sent(1, at_ms=3)),
    duration_ms=3300,
    script=THREE_SECONDS,
)


def test_client_that_only_its_driver_ended_hangs() -> None:
    """Its application got no error, because the client had all its time since its first connection."""
    with pytest.raises(AssertionError, match="the client hangs: it does not return"):
        assert_ends_by_itself(FakeClient(), HUNG)
    with pytest.raises(AssertionError, match="no error: its operation never ends"):
        assert_reports_error(HUNG)


def test_client_that_began_late_may_be_late() -> None:
    """What its driver reported counts as its error."""
    assert_ends_by_itself(FakeClient(), LATE)
    assert_reports_error(LATE)


@pytest.mark.parametrize(
    ("result", "how"),
    [
        (WATCHED, "the client hangs: it does not return to its application"),
        (KILLED, "the client's process hangs: it has to be killed"),
    ],
)
def test_hang_names_the_request_outside_the_table(result: DriverResult, how: str) -> None:
    """It is the last one that got no response."""
    said = (
        f"{how}, after Metadata v13 on connection 0 was sent "
        "although the table of that connection lists v0 to v1"
    )
    with pytest.raises(AssertionError) as caught:
        assert_ends_by_itself(FakeClient(), Play(recording=UNANSWERED, result=result))
    assert str(caught.value).splitlines()[0] == said
