"""Whether a client hangs, and why: the request outside the broker's table to which it waits for a response."""

from __future__ import annotations

from conformance.assertions.play_summary import Play
from reference_model.clients.moves import History
from reference_model.clients.oracle import forbidden_moves
from reference_model.clients.recording import Recording

OUTSIDE_THE_TABLE = ("KIP-35.client-uses-overlap", "KIP-35.client-asks-per-connection")
"""The clauses that forbid requests which a table does not list."""

LEAST_IDLE_MS = 2500
"""A client whose driver's own watchdog ended it, and that was at work until then, may only be slow, like a JVM on a busy machine."""


def never_returned(play: Play) -> bool:
    """Return whether the driver's own watchdog ended a client that had sent nothing for a long time."""
    result, recording = play.result, play.recording
    last_ms = max(
        (
            *(each.at_ms for each in recording.requests),
            *(each.opened_ms for each in recording.connections),
        ),
        default=0,
    )
    return (
        result.has_hung
        and not result.killed_for
        and recording.duration_ms - last_ms >= LEAST_IDLE_MS
    )


def cause_of_hang(recording: Recording) -> str:
    """Return the last request outside a table that got no response, in words that follow "hangs"; empty if there is none."""
    unanswered = {
        (move.request.connection, move.number)
        for move in History(recording).moves
        if not move.request.response
    }
    causes = [
        move.sentence
        for move in forbidden_moves(recording)
        if move.clause in OUTSIDE_THE_TABLE and (move.connection, move.request) in unanswered
    ]
    return f", after {causes[-1]}" if causes else ""
