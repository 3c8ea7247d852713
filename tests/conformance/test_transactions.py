"""A client that does transactions is known by them, and judged by their versions."""

from __future__ import annotations

import pytest

from conformance.assertions.evidence import ShownByTime
from conformance.assertions.transactions import (
    assert_commits,
    assert_uses_transaction_v2,
    does_transactions,
    heeds_levels,
)
from fixtures.errors import ClientFails
from fixtures.under_test.in_memory_client import in_memory_client
from reference_model.clients.scripts.script import TRANSACTIONS
from reference_model.faults.clients.finalized_features import (
    BELIEVES,
    NEVER_GOES_BACK,
)
from strategies.transaction_scripts import at_level, transactions_with
from tests.conformance.client_plays import FakeClient, entry, worked
from tests.reference_model.clients.recordings import asked, sent
from wire.api_keys import END_TXN_KEY


def test_client_without_the_option_does_no_transactions() -> None:
    """Nothing is played for it."""
    assert not does_transactions(FakeClient())
    assert not heeds_levels(FakeClient())


def test_client_that_ends_none_cannot_be_judged() -> None:
    """Not even a healthy broker gets the end of a transaction from it."""
    client = FakeClient(client=entry(options={TRANSACTIONS: ()}))
    with pytest.raises(ClientFails, match="fake ends no transaction, even with a healthy scripted broker"):
        does_transactions(client)


def test_levels_are_heeded_or_not() -> None:
    """One clause judges a client that looks at no level."""
    assert heeds_levels(in_memory_client())
    assert not heeds_levels(in_memory_client("transactions-use-what-the-table-lists"))


def test_end_of_a_transaction_is_waited_for() -> None:
    assert_commits(worked(asked(4), sent(5, api_key=END_TXN_KEY)))
    with pytest.raises(ShownByTime, match="the client ends no transaction"):
        assert_commits(worked(asked(4), sent(12)))


def test_only_the_clause_that_is_broken_is_named() -> None:
    """A client that does not use transaction V2 where it could breaks one clause, and is no matter of others."""
    client = in_memory_client("level-is-believed-if-no-later-one-is-supported")
    play = client.play(transactions_with(at_level(2, highest=3)))
    assert_uses_transaction_v2(client, play, NEVER_GOES_BACK)
    with pytest.raises(AssertionError, match="where the client otherwise sends v13, because"):
        assert_uses_transaction_v2(client, play, BELIEVES)
