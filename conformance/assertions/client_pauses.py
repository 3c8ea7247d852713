"""What properties assert about a client's pauses, and about those of its broker."""

from __future__ import annotations

from conformance.assertions.client_moves import assert_works
from fixtures.scripted_broker.playing import Play
from reference_model.clients.rules.limits import reconnects_in
from reference_model.clients.rules.read_response import ResponseKind, read_response


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
