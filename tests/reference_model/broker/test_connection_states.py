"""The table of a connection's transitions, compared with literals."""

from __future__ import annotations

from reference_model.broker.rules.connection_states import (
    SERVING,
    TAKING_REQUESTS,
    TRANSITIONS,
    ConnectionEvent,
    ConnectionState,
)

STAYS = "served"
MOVES = {
    ("before the handshake", "versions given"): "API versions served",
    ("before the handshake", "handshake v0"): "bare tokens",
    ("before the handshake", "handshake v1"): "wrapped tokens",
    ("API versions served", "handshake v0"): "bare tokens",
    ("API versions served", "handshake v1"): "wrapped tokens",
    ("bare tokens", "token taken"): "authenticated",
    ("wrapped tokens", "token taken"): "authenticated",
    ("authenticated", "handshake v0"): "bare tokens",
    ("authenticated", "handshake v1"): "wrapped tokens",
}
LIVING = (
    "open",
    "before the handshake",
    "API versions served",
    "bare tokens",
    "wrapped tokens",
    "authenticated",
)


def test_transitions_are_these() -> None:
    """Living states may serve, refuse or swallow; SASL steps advance; the end of stream closes."""
    expected = dict(MOVES)
    for state in LIVING:
        expected[state, STAYS] = state
        expected[state, "refused"] = "closed"
        expected[state, "swallowed"] = "dead"
    for state in (*LIVING, "dead", "closed"):
        expected[state, "end of stream"] = "closed"
    found = {(state.value, event.value): to.value for (state, event), to in TRANSITIONS.items()}
    assert found == expected


def test_states_are_sorted_by_who_handles_requests() -> None:
    """The broker serves open and authenticated connections, its authenticator the other living ones."""
    assert [state.value for state in SERVING] == ["open", "authenticated"]
    assert sorted(state.value for state in TAKING_REQUESTS) == sorted(LIVING)
    assert len(ConnectionState) == len(LIVING) + 2
    assert {event for _, event in TRANSITIONS} == set(ConnectionEvent)
