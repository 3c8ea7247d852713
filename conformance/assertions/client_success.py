"""What properties assert about a client's success and recovery: that they were earned, and that its pauses are long enough."""

from __future__ import annotations

from conformance.assertions.client_moves import assert_works, newest_metadata, outcome_of
from conformance.assertions.evidence import assert_in_time
from conformance.assertions.play_summary import metadata_requests, recovered_after_ms
from fixtures.client_processes.driver_output import OK
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from reference_model.clients.rules.limits import reconnects_in
from reference_model.clients.rules.read_response import ResponseKind, read_response
from strategies.broker_scripts import range_of_metadata
from wire.api_keys import SASL_KEYS
from wire.described_messages import CLUSTER_APIS


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


def assert_keeps_working(play: Play, *, after_ms: int = -1) -> None:
    """Fail unless the client gets metadata, after a time if one is given, and its latest ask succeeded.

    Args:
        play: a play in which the client keeps asking until it got enough responses.
        after_ms: the time, from the start of the play.
    """
    assert_in_time(
        any(each.response and each.at_ms > after_ms for each in metadata_requests(play.recording)),
        "the client does not get metadata" + (" any more" if after_ms >= 0 else ""),
    )
    asks = play.result.asks
    failed = [ask for ask in asks if not ask.ok]
    closed = sum(each.closed_by == "broker" for each in play.recording.connections)
    # The last ask of a client that was not stopped may have had no time left, and a client may report
    # each connection that the broker closes.
    stopped_in_failure = play.recording.cut_short and failed and asks[-1] is failed[-1]
    works = not stopped_in_failure or len(failed) <= closed
    assert_in_time(
        works, f"the client got metadata but does not work\n{'' if works else failed[-1].detail}"
    )


def assert_uses_later_connections(play: Play) -> None:
    """Fail unless the client gets a response on a connection after its first one, other than about versions and to SASL."""
    assert_in_time(
        any(
            each.response and each.connection > 0
            for each in play.recording.requests
            if not each.is_about_versions and each.api_key not in SASL_KEYS
        ),
        "the client uses none of its later connections",
    )


def assert_recovers(play: Play) -> None:
    """Fail unless the client gets metadata once the broker has healed."""
    assert_in_time(
        recovered_after_ms(play.recording) is not None,
        "the client does not work again after the broker healed",
    )


def assert_recovers_if_asked_again(client: ClientUnderTest, play: Play) -> None:
    """Fail unless the client recovers; one that ends after its first operation may report an error instead."""
    if client.client.can_ask_again:
        assert_recovers(play)


def assert_pauses(play: Play) -> None:
    """Fail if a client connects again and again without a pause."""
    reconnects = reconnects_in(play.recording)
    assert_in_time(not reconnects, reconnects)


def assert_uses_late_table(play: Play) -> None:
    """Fail unless a client works that kept its connection open until a slow broker had written its table.

    A client may give up before that; then it has closed the connection.
    """
    slow = (
        each
        for each in play.recording.requests
        if each.answer is not None and each.answer.delay_ms and each.is_served
    )
    if any(read_response(each).kind is ResponseKind.TABLE for each in slow):
        assert_works(play)
