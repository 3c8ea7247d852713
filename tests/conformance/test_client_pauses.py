"""What properties assert about pauses: of a client between its connections, and of a broker before its table."""

from __future__ import annotations

import pytest

from conformance.assertions.client_recovery import assert_pauses, assert_uses_late_table
from conformance.clients import test_fallback, test_robustness
from fixtures.client_processes.driver_process import DriverResult
from fixtures.scripted_broker.playing import Play
from reference_model.clients.scripts.recording import SeenRequest
from reference_model.clients.scripts.script import Answer, Script
from strategies.connection_scripts import changed_versions
from strategies.nonsense_scripts import slow_broker, without_answer
from tests.conformance.client_plays import FAILED, HEALTHY, STOPPED, WELL, FakeClient, ended_well
from tests.conformance.test_client_properties import judge, judge_client
from tests.reference_model.clients.recordings import asked, opened, recorded, sent

SLOW = Answer(delay_ms=2600)
LATE_TABLE = asked(4, SLOW)
CUT_LATE_TABLE = asked(4, SLOW, response=b"\0\0")
OK = WELL


def test_client_that_pauses_passes() -> None:
    """A healthy play has no connection without a pause."""
    assert_pauses(HEALTHY)


def test_client_without_a_pause_fails() -> None:
    """Each connection follows at once on the one before, which the broker closed."""
    ends = (opened(n, at_ms=50 * n, closed_ms=50 * n + 49, closed_by="broker") for n in range(22))
    play = ended_well(recorded(asked(4), connections=tuple(ends)))
    message = "the client connects again at once, 21 times in a row, each less than 10 ms after the broker closed"
    with pytest.raises(AssertionError, match=message):
        assert_pauses(play)
    assert (
        judge(test_robustness.test_broker_before_api_versions_is_survived, without_answer(), play)
        == message
    )


@pytest.mark.parametrize(
    "request_", [asked(4), CUT_LATE_TABLE, asked(4, SLOW, is_served=False)], ids=str
)
def test_client_that_did_not_wait_may_fail(request_: SeenRequest) -> None:
    """Without a late table that came completely, nothing shows that the client could have worked."""
    assert_uses_late_table(Play(recording=recorded(request_), result=FAILED))


@pytest.mark.parametrize(("result", "said"), [(OK, ""), (FAILED, "the client does not work")])
def test_client_that_waited_has_to_work(result: DriverResult, said: str) -> None:
    """Its connection was open until the table was there."""
    play = Play(recording=recorded(LATE_TABLE), result=result)
    found = judge(test_robustness.test_pause_of_seconds_is_survived, slow_broker(), play)
    assert found.startswith(said)
    assert bool(found) is bool(said)


@pytest.mark.parametrize(
    ("connection", "said"),
    [(1, ""), (0, "the client uses none of its later connections")],
    ids=["works-again", "stays-away"],
)
def test_changed_broker_has_to_be_used(connection: int, said: str) -> None:
    """A request has to be served on a later connection, whose broker supports other versions than the first one."""
    connections = (opened(), opened(1))
    recording = recorded(asked(4), sent(12, connection=connection), connections=connections)
    play = Play(recording=recording, result=STOPPED)
    assert judge(test_fallback.test_changed_range_is_followed, changed_versions(4, 2), play) == said


class ClientOfV5(FakeClient):
    """A client that knows ApiVersions v5 and may read older flexible tables or not."""

    def __init__(self, prepared: Play, *, reads_older: bool) -> None:
        super().__init__(prepared=prepared, healthy=ended_well(recorded(asked(5), sent(12))))
        self.reads_older = reads_older

    def play(self, script: Script) -> Play:
        """Return the prepared play for a script of two connections, else whether it can use an older broker."""
        if script == changed_versions(4, 2):
            return self.prepared
        return Play(recording=recorded(asked(4)), result=OK if self.reads_older else FAILED)


@pytest.mark.parametrize(
    ("reads_older", "said"), [(True, "the client uses none of its later connections"), (False, "")]
)
def test_newer_client_has_to_use_a_changed_broker_if_it_reads_older_tables(
    reads_older: bool, said: str
) -> None:
    """Its tables are of an older flexible version than its own; if it cannot read them, another clause is violated."""
    recording = recorded(asked(4), sent(12), connections=(opened(), opened(1)))
    play = Play(recording=recording, result=STOPPED)
    client = ClientOfV5(play, reads_older=reads_older)
    assert judge_client(
        test_fallback.test_changed_range_is_followed, changed_versions(4, 2), client
    ) == (said)
