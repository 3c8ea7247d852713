"""Conversations are short, reach every kind of action, and shrink to the one that matters."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from strategies.bare_requests import METADATA
from strategies.broken_sasl_steps import build_handshake_of_length
from strategies.conversations import (
    MAX_CONNECTIONS,
    STEPS,
    Action,
    Conversation,
    Handshake,
    Message,
    PlainToken,
    Reconnect,
    Say,
    conversations,
)
from tests.strategies.search import unmet
from wire.exchange import Request

NULL_MECHANISM = build_handshake_of_length(0, -1)
TRIES = 8
"""About one seed in ten makes Hypothesis give up shrinking, so each try has its own seed."""
SEARCH = settings(
    max_examples=2000,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def messages_of(conversation: Conversation) -> list[Message]:
    """Return all messages that are sent."""
    return [m for action in conversation if isinstance(action, Say) for m in action.messages]


def is_reconnect(action: Action) -> bool:
    """Return whether an action opens a connection again."""
    return isinstance(action, Reconnect)


def has(message: Message) -> Callable[[Action], bool]:
    """Return a function that says whether an action sends a message."""
    return lambda action: isinstance(action, Say) and message in action.messages


def client_ids_of(action: Action) -> list[str | None]:
    """Return the client ids of the requests that an action says."""
    said = action.messages if isinstance(action, Say) else ()
    return [each.header.client_id for each in said if isinstance(each, Request)]


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


def some(wanted: Callable[[Action], object]) -> Callable[[Conversation], bool]:
    """Return a function that says whether a conversation has such an action."""
    return lambda conversation: any(map(wanted, conversation))


def has_a_broken_message(action: Action) -> bool:
    """Return whether an action says something malformed before its last message."""
    said = action.messages[:-1] if isinstance(action, Say) else ()
    return any(getattr(each, "broken", "") for each in said)


def has_a_step_of_sasl(action: Action) -> bool:
    """Return whether an action sends a request of another API and a token."""
    tokens = isinstance(action, Say) and any(isinstance(m, PlainToken) for m in action.messages)
    return has(METADATA)(action) and tokens


def right_token_meets_a_broken_request(conversation: Conversation) -> bool:
    """Return whether a conversation contains both."""
    messages = messages_of(conversation)
    return any(isinstance(each, PlainToken) and each.right for each in messages) and any(
        getattr(each, "broken", "") for each in messages
    )


def test_conversations_reach() -> None:
    """Each kind of action is drawn."""
    assert not unmet(
        conversations(),
        {
            "wrong token": some(has(PlainToken(right=False))),
            "end of stream": some(lambda action: isinstance(action, Say) and action.ends),
            "malformed among others": some(has_a_broken_message),
            "requests and steps of SASL": some(has_a_step_of_sasl),
            "broken step": some(has(NULL_MECHANISM)),
            "third connection": some(lambda action: action.connection == 2),
            "null client id": some(lambda action: None in client_ids_of(action)),
            "long client id": some(
                lambda action: any(len(each or "") >= 128 for each in client_ids_of(action))
            ),
            "right token and broken request": right_token_meets_a_broken_request,
        },
    )
