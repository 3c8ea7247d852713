"""What properties assert about pauses: of a client between its connections, and of a broker before its table."""

from __future__ import annotations

import pytest

from conformance.assertions.client_pauses import assert_pauses, assert_uses_late_table
from conformance.clients import test_robustness
from reference_model.clients.recording import SeenRequest
from reference_model.clients.script import Answer
from strategies.nonsense_scripts import slow_broker, without_answer
from tests.conformance.client_plays import FAILED, HEALTHY, FakePlay, FakeResult
from tests.conformance.test_client_properties import judge
from tests.reference_model.clients.recordings import asked, opened, recorded

SLOW = Answer(delay_ms=2600)
LATE_TABLE = asked(4, SLOW)
CUT_LATE_TABLE = asked(4, SLOW, response=b"\0\0")
OK = FakeResult()


def test_client_that_pauses_passes() -> None:
    """A healthy play has no connection without a pause."""
    assert_pauses(HEALTHY)


def test_client_without_a_pause_fails() -> None:
    """Each connection follows at once on the one before, which the broker closed."""
    ends = (opened(n, at_ms=50 * n, closed_ms=50 * n + 49, closed_by="broker") for n in range(22))
    play = FakePlay(recording=recorded(asked(4), connections=tuple(ends)))
    told = "the client connects again at once, 21 times in a row, each less than 10 ms after the broker closed"
    with pytest.raises(AssertionError, match=told):
        assert_pauses(play)
    assert (
        judge(test_robustness.test_broker_before_api_versions_is_survived, without_answer(), play)
        == told
    )


@pytest.mark.parametrize(
    "request_", [asked(4), CUT_LATE_TABLE, asked(4, SLOW, is_served=False)], ids=str
)
def test_client_that_did_not_wait_may_fail(request_: SeenRequest) -> None:
    """Without a late table that came completely, nothing shows that the client could have worked."""
    assert_uses_late_table(FakePlay(recording=recorded(request_), result=FAILED))


@pytest.mark.parametrize(("result", "said"), [(OK, ""), (FAILED, "the client does not work")])
def test_client_that_waited_has_to_work(result: FakeResult, said: str) -> None:
    """Its connection was open until the table was there."""
    play = FakePlay(recording=recorded(LATE_TABLE), result=result)
    found = judge(test_robustness.test_pause_of_seconds_is_survived, slow_broker(), play)
    assert found.startswith(said)
    assert bool(found) is bool(said)
