"""A client hangs if it does not come back to its application in its time, and the hang names the request that caused it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.assertions.client_moves import assert_ends_by_itself, assert_reports_error
from fixtures.client_processes.driver_process import DriverResult
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.script import Script
from tests.conformance.client_plays import WELL, FakeClient
from tests.reference_model.clients.recordings import asked, listing, opened, recorded, sent

SCRIPT = Script(timeout_ms=3000)
WATCHED = replace(WELL, outcome="error", detail="no result after 3 s", exit_status=1)
KILLED = replace(WELL, outcome=None, signal="SIGKILL", killed_for="time")
HUNG = Play(recording=recorded(asked(4), duration_ms=4500, script=SCRIPT), result=WATCHED)
LATE = Play(
    recording=recorded(
        asked(4, at_ms=2000),
        connections=(opened(at_ms=1600),),
        duration_ms=4500,
        script=SCRIPT,
    ),
    result=WATCHED,
)
UNANSWERED = recorded(
    *(asked(3, listing((3, 0, 1))), sent(12)),
    *(sent(13, at_ms=2, response=b""), sent(1, at_ms=3)),
    duration_ms=3300,
    script=SCRIPT,
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
