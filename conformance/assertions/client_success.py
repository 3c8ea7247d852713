"""What properties assert about a client's success: that it was earned, and that no response was taken for one."""

from __future__ import annotations

from conformance.assertions.client_moves import newest_metadata, outcome_of
from conformance.assertions.play_summary import metadata_requests
from fixtures.client_processes.driver_output import OK
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from strategies.broker_scripts import range_of_metadata
from wire.startup_messages import CLUSTER_APIS


def assert_success_is_earned(client: ClientUnderTest, play: Play) -> None:
    """Fail if a client reports success although no broker answered the request that it needs for that.

    Args:
        client: the client; it needs the request if it sent one to the healthy broker.
        play: the play.
    """
    recording = play.recording
    is_seen = recording.all_requests == len(recording.requests)
    if outcome_of(play) != OK or not is_seen or not _was_answered(client.healthy):
        return
    assert _was_answered(play), "the client reports success, although no broker sent it metadata"


def _was_answered(play: Play) -> bool:
    return any(each.api_key in CLUSTER_APIS and each.response for each in play.recording.requests)


def assert_table_is_not_used(client: ClientUnderTest, play: Play, what: str) -> None:
    """Fail if a client sends the newest version of Metadata of a table that it must not use.

    A client may send its usual version, or one that it guesses, without looking at any table; other clauses judge that.
    """
    _, listed = range_of_metadata(play.recording.script)
    usual = newest_metadata(client.healthy)
    if usual is None or usual <= listed:
        return
    used = [each for each in metadata_requests(play.recording) if each.api_version == listed]
    assert not used, f"the client sends Metadata v{listed}, as the table of a response {what} lists"
