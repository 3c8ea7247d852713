"""Conversations are short, and shrink to the action that matters."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from strategies.bare_requests import METADATA
from strategies.conversations import (
    MAX_CONNECTIONS,
    STEPS,
    Action,
    Conversation,
    Handshake,
    Message,
    Reconnect,
    Say,
    conversations,
)

TRIES = 8
"""About one seed in ten makes Hypothesis give up shrinking, so each try has its own seed."""
SEARCH = settings(
    max_examples=2000,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def is_reconnect(action: Action) -> bool:
    """Return whether an action opens a connection again."""
    return isinstance(action, Reconnect)


def has(message: Message) -> Callable[[Action], bool]:
    """Return a function that says whether an action sends a message."""
    return lambda action: isinstance(action, Say) and message in action.messages


@given(conversation=conversations())
@settings(max_examples=50)
def test_conversations_are_short(conversation: Conversation) -> None:
    """A conversation has few actions, on few connections."""
    assert len(conversation) <= 2 * STEPS
    assert {action.connection for action in conversation} <= set(range(MAX_CONNECTIONS))


@pytest.mark.parametrize(
    ("wanted", "minimal"),
    [
        pytest.param(is_reconnect, (Reconnect(),), id="reconnect"),
        pytest.param(
            has(Handshake(version=2)), (Say(messages=(Handshake(version=2),)),), id="handshake"
        ),
        pytest.param(has(METADATA), (Say(messages=(METADATA,)),), id="another-api"),
    ],
)
def test_conversations_shrink(
    wanted: Callable[[Action], bool], minimal: tuple[Action, ...]
) -> None:
    """A conversation shrinks to the one action that matters."""

    def is_found_small(seed: int) -> bool:
        found = find(
            conversations(),
            lambda conversation: any(map(wanted, conversation)),
            settings=SEARCH,
            random=Random(seed),
        )
        return found == minimal

    assert any(map(is_found_small, range(TRIES)))
