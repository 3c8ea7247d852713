"""Conversations are short, reach every kind of action, and shrink to the one that matters."""

from __future__ import annotations

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
    Reconnect,
    Say,
    Token,
    conversations,
)
from wire.exchange import Request

NULL_MECHANISM = build_handshake_of_length(0, -1)
MOST_FOUND = 3
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
        pytest.param(lambda action: isinstance(action, Reconnect), (Reconnect(),), id="reconnect"),
        pytest.param(
            lambda action: isinstance(action, Say) and Handshake(version=2) in action.messages,
            (Say(messages=(Handshake(version=2),)),),
            id="handshake",
        ),
        pytest.param(
            lambda action: isinstance(action, Say) and METADATA in action.messages,
            (Say(messages=(METADATA,)),),
            id="another-api",
        ),
        pytest.param(
            lambda action: isinstance(action, Say) and Token(right=False) in action.messages,
            None,
            id="wrong-token",
        ),
        pytest.param(
            lambda action: isinstance(action, Say) and action.ends, None, id="end-of-stream"
        ),
        pytest.param(
            lambda action: (
                isinstance(action, Say)
                and any(getattr(each, "broken", "") for each in action.messages[:-1])
            ),
            None,
            id="malformed-among-others",
        ),
        pytest.param(
            lambda action: (
                isinstance(action, Say)
                and METADATA in action.messages
                and any(isinstance(each, Token) for each in action.messages)
            ),
            None,
            id="requests-and-steps-of-sasl",
        ),
        pytest.param(
            lambda action: isinstance(action, Say) and NULL_MECHANISM in action.messages,
            None,
            id="broken-step",
        ),
        pytest.param(lambda action: action.connection == 2, None, id="third-connection"),
        pytest.param(lambda action: None in client_ids_of(action), None, id="null-client-id"),
        pytest.param(
            lambda action: any(len(each or "") >= 128 for each in client_ids_of(action)),
            None,
            id="long-client-id",
        ),
    ],
)
def test_conversations_reach_and_shrink(wanted: object, minimal: tuple[Action, ...] | None) -> None:
    """Each kind of action is drawn, and shrinks to a conversation with few other actions or none."""
    assert callable(wanted)

    def is_found_small(seed: int) -> bool:
        found = find(
            conversations(),
            lambda drawn: any(map(wanted, drawn)),
            settings=SEARCH,
            random=Random(seed),
        )
        return found == minimal if minimal is not None else len(found) <= MOST_FOUND

    assert any(map(is_found_small, range(TRIES)))


def test_tokens_and_broken_requests_meet() -> None:
    """One conversation contains both a right token and a broken request."""
    found = find(
        conversations(),
        lambda drawn: (
            any(isinstance(each, Token) and each.right for each in messages_of(drawn))
            and any(getattr(each, "broken", "") for each in messages_of(drawn))
        ),
        settings=SEARCH,
    )
    assert found
