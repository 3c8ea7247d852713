"""A client that does transactions is known by them, and judged by their versions."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from clauses.marks import NEEDS
from conformance.assertions.errors import Unjudged
from conformance.assertions.evidence import ShownByTime
from conformance.assertions.transactions import (
    assert_commits,
    assert_uses_transaction_v2,
    does_transactions,
    heeds_levels,
    uses_transaction_v2,
)
from conformance.clients import test_features
from conformance.roles.client_needs import unmet_need
from fixtures.errors import ClientFails
from fixtures.scripted_broker.playing import Play
from fixtures.under_test.in_memory_client import in_memory_client
from reference_model.clients.scripts.script import TRANSACTIONS, Script
from reference_model.faults.clients.finalized_features import (
    BELIEVES,
    NEVER_GOES_BACK,
)
from strategies.hypothesis_adapter import body_of
from strategies.transaction_scripts import AT_LEVEL_1_ALONE, at_level, transactions_with
from tests.conformance.client_plays import FakeClient, entry, worked
from tests.reference_model.clients.recordings import asked, sent
from wire.api_keys import END_TXN_KEY, TXN_OFFSET_COMMIT_KEY

OF_V2 = (
    test_features.test_level_is_believed,
    test_features.test_unknown_feature_changes_nothing,
    test_features.test_features_without_an_epoch_do_not_count,
    test_features.test_older_epoch_changes_nothing,
    test_features.test_new_level_is_used,
)


def test_client_without_the_option_does_no_transactions() -> None:
    """Nothing is played for it."""
    assert not does_transactions(FakeClient())
    assert not uses_transaction_v2(FakeClient())
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


class OldClient(FakeClient):
    """A client that does transactions and knows no transaction V2.

    Attributes:
        stays_away: whether it ends none in a cluster at level 1.
    """

    def __init__(self, *, stays_away: bool = False) -> None:
        super().__init__(client=entry(options={TRANSACTIONS: ()}))
        self.stays_away = stays_away

    def play(self, script: Script) -> Play:
        """Return the play of a script."""
        return self.plays.of(script)

    def _submit(self, script: Script) -> Future[Play]:
        at_level_1 = script == AT_LEVEL_1_ALONE
        end = () if at_level_1 and self.stays_away else (sent(4, api_key=END_TXN_KEY),)
        done: Future[Play] = Future()
        done.set_result(worked(asked(4), sent(4, api_key=TXN_OFFSET_COMMIT_KEY), *end))
        return done


@pytest.mark.parametrize("judged", OF_V2, ids=lambda judged: judged.__name__)
def test_nothing_applies_to_a_client_without_transaction_v2(judged: Any) -> None:
    """It sends the same at every level, so nothing shows which features it believes."""
    (needs,) = (mark.args for mark in judged.pytestmark if mark.name == NEEDS)
    assert str(unmet_need(needs, OldClient())).startswith("the client uses no transaction V2")
    assert unmet_need(needs, in_memory_client()) is None


def test_levels_are_not_heeded_by_doing_nothing() -> None:
    """Without a transaction at level 1 nothing shows that a client heeds it."""
    with pytest.raises(ClientFails, match="fake ends no transaction at level 1 of"):
        heeds_levels(OldClient(stays_away=True))


def test_cap_is_not_kept_by_doing_nothing() -> None:
    """A client that ends no transaction below level 2 breaks nothing, and shows nothing."""
    judge = body_of(test_features.test_transaction_waits_for_level_2)
    judge(client=OldClient(), script=AT_LEVEL_1_ALONE)
    with pytest.raises(Unjudged, match="the client ends no transaction"):
        judge(client=OldClient(stays_away=True), script=AT_LEVEL_1_ALONE)


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
