"""What properties assert about a client's recovery, and about its pauses and those of its broker."""

from __future__ import annotations

from conformance.assertions.client_moves import assert_works
from conformance.assertions.play_summary import metadata_requests, recovered_after_ms
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.client import ClientUnderTest
from reference_model.clients.rules.limits import reconnects_in
from reference_model.clients.rules.read_response import ResponseKind, read_response
from wire.api_keys import SASL_KEYS


def assert_keeps_working(play: Play, *, after_ms: int = -1) -> None:
    """Fail unless the client gets metadata, after a time if one is given, and its latest ask succeeded.

    Args:
        play: a play in which the client keeps asking until it got enough responses.
        after_ms: the time, from the start of the play.
    """
    assert any(
        each.response and each.at_ms > after_ms for each in metadata_requests(play.recording)
    ), "the client does not get metadata" + (" any more" if after_ms >= 0 else "")
    asks = play.result.asks
    failed = [ask for ask in asks if not ask.ok]
    closed = sum(each.closed_by == "broker" for each in play.recording.connections)
    # The last ask of a client that was not stopped may have had no time left, and a client may report
    # each connection that the broker closes.
    stopped_in_failure = play.recording.cut_short and failed and asks[-1] is failed[-1]
    assert not stopped_in_failure or len(failed) <= closed, (
        f"the client got metadata but does not work\n{failed[-1].detail}"
    )


def assert_uses_later_connections(play: Play) -> None:
    """Fail unless the client gets a response on a connection after its first one, other than about versions and to SASL."""
    assert any(
        each.response and each.connection > 0
        for each in play.recording.requests
        if not each.is_about_versions and each.api_key not in SASL_KEYS
    ), "the client uses none of its later connections"


def assert_recovers(play: Play) -> None:
    """Fail unless the client gets metadata once the broker has healed."""
    assert recovered_after_ms(play.recording) is not None, (
        "the client does not work again after the broker healed"
    )


def assert_recovers_if_asked_again(client: ClientUnderTest, play: Play) -> None:
    """Fail unless the client recovers; one that ends after its first operation may report an error instead."""
    if client.client.can_ask_again:
        assert_recovers(play)


def assert_pauses(play: Play) -> None:
    """Fail if a client connects again and again without a pause."""
    reconnects = reconnects_in(play.recording)
    assert not reconnects, reconnects


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
