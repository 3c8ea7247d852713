"""Conversations are short."""

from __future__ import annotations

from hypothesis import given, settings

from strategies.conversations import (
    MAX_CONNECTIONS,
    STEPS,
    Conversation,
    conversations,
)


@given(conversation=conversations())
@settings(max_examples=50)
def test_conversations_are_short(conversation: Conversation) -> None:
    """A conversation has few actions, on few connections."""
    assert len(conversation) <= 2 * STEPS
    assert {action.connection for action in conversation} <= set(range(MAX_CONNECTIONS))
