"""Tests of which logins a listener's table promises.

A login that does not work is named.
"""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest

from conformance.assertions import logins
from conformance.assertions.items import Item, Problem
from conformance.assertions.logins import check_login, lists_handshake, login_items
from conformance.mutation.subjects import broker_with
from fixtures.client.running_broker import RunningBroker
from fixtures.errors import NoCredentials
from fixtures.under_test.in_memory import InMemoryBroker
from reference_model.broker.model.scram import SCRAM
from wire.api_keys import METADATA_KEY, SASL_AUTHENTICATE_KEY, SASL_HANDSHAKE_KEY
from wire.api_versions import ApiVersion, ApiVersionsResponse
from wire.error_codes import ErrorCode
from wire.exchange import Outcome
from wire.sasl import PLAIN

V0, V1 = (Item("SaslHandshake", SASL_HANDSHAKE_KEY, version) for version in (0, 1))
AUTHENTICATE = tuple(Item("SaslAuthenticate", SASL_AUTHENTICATE_KEY, each) for each in range(3))


def sasl_listener(defect: str = "") -> InMemoryBroker:
    """Return the SASL listener of a reference broker."""
    found = broker_with(defect).sibling("sasl_plaintext")
    assert isinstance(found, InMemoryBroker)
    return found


def having(broker: InMemoryBroker, **changes: object) -> InMemoryBroker:
    """Return a listener whose credentials differ."""
    assert broker.running.sasl is not None
    sasl = replace(broker.running.sasl, **changes)  # type: ignore[arg-type]
    return with_running(broker, replace(broker.running, sasl=sasl))


def with_running(broker: InMemoryBroker, running: RunningBroker) -> InMemoryBroker:
    """Return a listener of a target of which something else is known."""
    return InMemoryBroker(running, broker.listener)


def lists(monkeypatch: pytest.MonkeyPatch, *entries: tuple[int, int, int]) -> None:
    """Let every table have these entries: key, lowest and highest version."""
    api_keys = tuple(
        ApiVersion(api_key=key, min_version=lowest, max_version=highest) for key, lowest, highest in entries
    )
    table = ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=api_keys)
    monkeypatch.setattr(logins, "early_table", Mock(return_value=table))


def test_every_listed_version_is_an_item() -> None:
    """The newest release lists two versions of the handshake and three of SaslAuthenticate, and a client is let in
    with each."""
    broker = sasl_listener()
    items = list(login_items(broker))
    assert items == [V0, V1, *AUTHENTICATE]
    for item in items:
        exchange = check_login(broker, item)
        assert exchange.outcome is Outcome.ANSWER
        assert exchange.request.api_key == METADATA_KEY


HANDSHAKE, WRAPPED = SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY


@pytest.mark.parametrize(
    ("entries", "items"),
    [
        pytest.param([(HANDSHAKE, 0, 0)], [V0], id="as-before-1.0"),
        pytest.param([(HANDSHAKE, 0, 1)], [V0, V1], id="nothing-wraps-tokens"),
        pytest.param([(HANDSHAKE, 0, 0), (WRAPPED, 0, 2)], [V0], id="nothing-that-wrapped-tokens-follow"),
        pytest.param([(HANDSHAKE, 1, 9), (WRAPPED, 1, 9)], [V1, *AUTHENTICATE[1:]], id="newer-ones-unwritten"),
        pytest.param([(WRAPPED, 0, 2)], [], id="no-handshake"),
        pytest.param([(HANDSHAKE, 1, 0)], [], id="reversed-range"),
    ],
)
def test_only_what_the_table_promises_is_tried(
    monkeypatch: pytest.MonkeyPatch, entries: list[tuple[int, int, int]], items: list[Item]
) -> None:
    """A version that is not listed, that the suite cannot write, or that no listed version precedes, is no item."""
    lists(monkeypatch, *entries)
    broker = sasl_listener()
    assert list(login_items(broker)) == items
    assert lists_handshake(broker) == bool(items)


def test_tokens_are_wrapped_in_v0_if_the_table_lists_no_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SaslHandshake v1 has to lead to a login also if SaslAuthenticate is missing from the table."""
    lists(monkeypatch, (METADATA_KEY, 0, 1), (HANDSHAKE, 0, 1))
    assert check_login(sasl_listener(), V1).outcome is Outcome.ANSWER


@pytest.mark.parametrize(
    ("defect", "item", "words"),
    [
        (
            "bare-tokens-are-read-as-requests",
            V0,
            f"no login with {PLAIN}: bare token 1 gets no response (closed)",
        ),
        (
            "bare-tokens-are-ignored",
            V0,
            f"no login with {PLAIN}: bare token 1 gets no response (silent)",
        ),
        (
            "only-one-bare-token-is-read",
            V0,
            f"no login with {SCRAM}: bare token 2 gets no response (closed)",
        ),
        (
            "flexible-tokens-are-refused",
            AUTHENTICATE[2],
            f"no login with {PLAIN}: SaslAuthenticate with token 1 is refused with SASL_AUTHENTICATION_FAILED",
        ),
        (
            "logins-with-v1-never-complete",
            AUTHENTICATE[1],
            f"no login with {PLAIN}: no request is served after it; DescribeCluster v2: refused with ILLEGAL_SASL_STATE",
        ),
    ],
)
def test_the_step_that_fails_is_named(defect: str, item: Item, words: str) -> None:
    broker = sasl_listener(defect)
    with pytest.raises(Problem) as caught:
        check_login(broker, item)
    assert caught.value.what == words
    for other in login_items(broker):
        if other != item:
            assert check_login(broker, other).outcome is Outcome.ANSWER


def test_only_the_mechanism_of_the_credentials_is_tried() -> None:
    """A password that a user gave for SCRAM is never sent as it is."""
    broker = having(sasl_listener("only-one-bare-token-is-read"), only=PLAIN)
    assert check_login(broker, V0).outcome is Outcome.ANSWER


def test_nobody_logs_in_without_credentials() -> None:
    broker = sasl_listener()
    bare = with_running(broker, replace(broker.running, sasl=None, lack_of_credentials="none is given"))
    with pytest.raises(NoCredentials, match="none is given"):
        list(login_items(bare))
