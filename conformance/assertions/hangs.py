"""Whether a client hangs, and why: the request outside the broker's table to which it waits for a response."""

from __future__ import annotations

from fixtures.scripted_broker.playing import Play
from reference_model.clients.rules.moves import History
from reference_model.clients.rules.oracle import forbidden_moves
from reference_model.clients.scripts.recording import Recording

OUTSIDE_THE_TABLE = ("KIP-35.client-uses-overlap", "KIP-35.client-asks-per-connection")
"""The clauses that forbid requests which a table does not list."""


def never_returned(play: Play) -> bool:
    """Return whether the driver's own watchdog ended a client that had all its time since its first connection.

    A client that connected later may only be slow, like a JVM on a busy machine.
    """
    result, recording = play.result, play.recording
    opened_ms = min(
        (each.opened_ms for each in recording.connections), default=recording.duration_ms
    )
    had_its_time = recording.duration_ms - opened_ms >= recording.script.timeout_ms
    return result.has_hung and not result.killed_for and had_its_time


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
