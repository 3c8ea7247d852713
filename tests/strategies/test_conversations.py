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
from tests.strategies.search import find_any
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


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(has(PlainToken(right=False)), id="wrong-token"),
        pytest.param(lambda action: isinstance(action, Say) and action.ends, id="end-of-stream"),
        pytest.param(
            lambda action: (
                isinstance(action, Say)
                and any(getattr(each, "broken", "") for each in action.messages[:-1])
            ),
            id="malformed-among-others",
        ),
        pytest.param(
            lambda action: (
                has(METADATA)(action)
                and any(isinstance(each, PlainToken) for each in action.messages)
            ),
            id="requests-and-steps-of-sasl",
        ),
        pytest.param(has(NULL_MECHANISM), id="broken-step"),
        pytest.param(lambda action: action.connection == 2, id="third-connection"),
        pytest.param(lambda action: None in client_ids_of(action), id="null-client-id"),
        pytest.param(
            lambda action: any(len(each or "") >= 128 for each in client_ids_of(action)),
            id="long-client-id",
        ),
    ],
)
def test_conversations_reach(wanted: Callable[[Action], bool]) -> None:
    """Each kind of action is drawn."""
    assert find_any(conversations(), lambda conversation: any(map(wanted, conversation)))


def test_tokens_and_broken_requests_meet() -> None:
    """One conversation contains both a right token and a broken request."""
    assert find_any(
        conversations(),
        lambda conversation: (
            any(isinstance(each, PlainToken) and each.right for each in messages_of(conversation))
            and any(getattr(each, "broken", "") for each in messages_of(conversation))
        ),
    )
