"""Why a client hangs: the request outside the broker's table to which it waits for a response."""

from __future__ import annotations

from reference_model.clients.moves import History
from reference_model.clients.oracle import forbidden_moves
from reference_model.clients.recording import Recording

OUTSIDE_THE_TABLE = ("KIP-35.client-uses-overlap", "KIP-35.client-asks-per-connection")
"""The clauses that forbid requests which a table does not list."""


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
