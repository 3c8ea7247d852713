"""Tests of clients in clusters with finalized features.

Produce from v12 and TxnOffsetCommit from v5 on belong to transaction V2, which a cluster has from level 2 of
transaction.version on (KIP-890). What the table lists does not depend on that.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *

SHOWS_WHAT_IT_BELIEVES = pytest.mark.needs("option:transactions", "uses_transaction_v2", "heeds_levels")
"""The versions of a client show which features it believes only if they depend on features at all."""


@pytest.mark.needs("option:transactions")
@pytest.mark.clause("FEATURES.client-caps-by-level")
@given(script=clusters_below_level_2())
@settings(max_examples=3)
@example(script=transactions_with(AT_LEVEL_1))
@example(script=transactions_with(only_supported((TRANSACTION_VERSION, 2))))
@example(script=transactions_with(WITHOUT_FEATURES))
@example(script=transactions_with(AT_LEVEL_2, newest=2))
def test_transaction_waits_for_level_2(client: ClientUnderTest, script: Script) -> None:
    """Below level 2 of transaction.version a transaction has no version that needs transaction V2."""
    with played(client, script) as play:
        assert_allowed(play, "FEATURES.client-caps-by-level")
        unjudged_without_commit(play)


@SHOWS_WHAT_IT_BELIEVES
@pytest.mark.clause("FEATURES.client-believes-levels")
@given(script=clusters_with_transaction_v2())
@settings(max_examples=2)
@example(script=transactions_with(AT_LEVEL_2))
@example(script=transactions_with(at_level(2, highest=3)))
@example(script=transactions_with(at_level(3)))
def test_level_is_believed(client: ClientUnderTest, script: Script) -> None:
    """A client uses transaction V2 at level 2 of transaction.version and at later ones, if it knows it at all."""
    with played(client, script) as play:
        assert_commits(play)
        assert_uses_transaction_v2(client, play, "FEATURES.client-believes-levels")


@SHOWS_WHAT_IT_BELIEVES
@pytest.mark.clause("FEATURES.client-ignores-unknown-features")
@given(script=clusters_with_unknown_features())
@settings(max_examples=2)
@example(script=transactions_with(finalized(*((name, 2) for name in LOOK_ALIKES), (TRANSACTION_VERSION, 1))))
@example(script=transactions_with(finalized((TRANSACTION_VERSION, 1), *((name, 2) for name in LOOK_ALIKES))))
@example(script=transactions_with(finalized(("x", 1), (TRANSACTION_VERSION, 2), ("y", 1))))
def test_unknown_feature_changes_nothing(client: ClientUnderTest, script: Script) -> None:
    """A client does the same transactions whatever features the cluster has that no client knows."""
    with played(client, script) as play:
        assert_commits(play)
        assert_allowed(play, "FEATURES.client-caps-by-level")
        assert_uses_transaction_v2(client, play, "FEATURES.client-believes-levels")


@SHOWS_WHAT_IT_BELIEVES
@pytest.mark.clause("FEATURES.client-ignores-unknown-epoch")
@given(script=clusters_without_an_epoch())
@settings(max_examples=2)
@example(script=transactions_with(at_level(2, epoch=-1)))
@example(script=transactions_with(at_level(1), at_level(2, epoch=-1)))
@example(script=transactions_along(at_level(2), at_level(1, epoch=-1)))
@example(script=transactions_along(AT_LEVEL_2, WITHOUT_FEATURES))
def test_features_without_an_epoch_do_not_count(client: ClientUnderTest, script: Script) -> None:
    """Features without an epoch enable nothing, and replace none that had one."""
    with played(client, script) as play:
        assert_allowed(play, "FEATURES.client-ignores-unknown-epoch")
        assert_uses_transaction_v2(client, play, "FEATURES.client-ignores-unknown-epoch")


@SHOWS_WHAT_IT_BELIEVES
@pytest.mark.clause("FEATURES.client-never-goes-back")
@given(script=clusters_with_an_older_epoch())
@settings(max_examples=2)
@example(script=transactions_with(at_level(1, epoch=9), at_level(2, epoch=8)))
@example(script=transactions_with(at_level(2, epoch=9), at_level(1, epoch=8)))
@example(script=transactions_along(at_level(1, epoch=9), at_level(2, epoch=8)))
@example(script=transactions_along(at_level(2, epoch=9), at_level(1, epoch=8)))
def test_older_epoch_changes_nothing(client: ClientUnderTest, script: Script) -> None:
    """Features of an older epoch, from a broker that is not up to date, replace none of a newer one."""
    with played(client, script) as play:
        assert_allowed(play, "FEATURES.client-never-goes-back")
        assert_uses_transaction_v2(client, play, "FEATURES.client-never-goes-back")


@SHOWS_WHAT_IT_BELIEVES
@pytest.mark.clause("FEATURES.client-sees-new-level")
@given(script=clusters_that_change_a_level())
@settings(max_examples=2)
@example(script=changed_level(1))
@example(script=changed_level(2))
@example(script=transactions_with(at_level(1, epoch=8), at_level(2, epoch=9)))
@example(script=transactions_with(at_level(2, epoch=8), at_level(1, epoch=9)))
@example(script=transactions_along(at_level(2, epoch=8), at_level_0(9)))
def test_new_level_is_used(client: ClientUnderTest, script: Script) -> None:
    """A transaction that begins after a connection brought a newer epoch follows the new level."""
    with played(client, script) as play:
        assert_allowed(play, "FEATURES.client-sees-new-level")
        assert_uses_transaction_v2(client, play, "FEATURES.client-sees-new-level")


@pytest.mark.malformed
@pytest.mark.needs("option:transactions")
@pytest.mark.clause("KIP-35.client-survives-nonsense")
@given(script=nonsensical_features())
@settings(max_examples=2)
@example(script=levels_twice(1, 2))
@example(script=level_outside(3, 1, 2))
@example(script=level_outside(-1, 0, 2))
@example(script=invalid_epoch(2, -2))
def test_nonsensical_features_are_survived(client: ClientUnderTest, script: Script) -> None:
    """A client survives features that are listed twice, at a level that no broker supports, or of an invalid epoch."""
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)
