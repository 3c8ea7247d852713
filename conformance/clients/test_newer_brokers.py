"""Tests of clients with brokers that are newer than the clients.

The clients' old versions are gone, and versions have come that no client knows.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *


@pytest.mark.needs("asks_versions")
@pytest.mark.clause("KIP-35.client-uses-overlap")
@given(script=brokers_with_other_apis())
@example(script=broker_with_other_apis(changed=raised(*OTHER_BEGINNING_KEYS)))
@example(script=broker_with_other_apis(removed=OTHER_BEGINNING_KEYS))
@example(script=broker_with_other_apis(changed=raised(FIND_COORDINATOR_KEY)))
@example(script=broker_with_other_apis(removed=(FIND_COORDINATOR_KEY,)))
@example(script=broker_with_other_apis(changed=raised(DESCRIBE_CLUSTER_KEY)))
@example(script=broker_with_other_apis(removed=(DESCRIBE_CLUSTER_KEY,)))
@example(script=broker_with_other_apis(changed=((FIND_COORDINATOR_KEY, 4, 6),)))
def test_every_api_is_used_in_the_overlap(client: ClientUnderTest, script: Script) -> None:
    """In each API other than Metadata a client sends only versions that the broker lists.

    The client works if its usual versions are listed.
    """
    table = next(iter(script.answers)).table
    usual = newest_versions([client.healthy])
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)
        assert_sends_none_of(play, unknown_keys_of(script))
        assert_allowed(play, "KIP-35.client-uses-overlap")
        # What a client never uses is another clause.
        needed = usual.keys() & changed_keys(script)
        if needed and all(any(low <= usual[key] <= high for low, high in table.ranges_of(key)) for key in needed):
            assert_works(play)


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-97.unused-features-do-not-hurt")
@given(script=brokers_without_old_features())
@settings(max_examples=2)
@example(script=broker_with_raised(*UNUSED_KEYS))
@example(script=broker_with_raised(PRODUCE_KEY))
@example(script=broker_with_raised(FETCH_KEY, LIST_OFFSETS_KEY))
def test_raised_minimum_of_an_unused_feature_is_not_noticed(client: ClientUnderTest, script: Script) -> None:
    """A client that only fetches metadata works with a broker that dropped its versions of other APIs."""
    with played(client, script) as play:
        assert_works(play)


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-97.raised-minimums-do-not-hurt")
@given(script=brokers_with_minimums())
@settings(max_examples=3)
@example(script=broker_with_minimums_of("4.0.0"))
@example(script=broker_with_minimums_of("4.0.2"))
@example(script=broker_with_minimums({JOIN_GROUP_KEY: 1}))
@example(script=broker_with_minimums({FETCH_KEY: 4}))
def test_versions_that_are_not_sent_are_not_missed(client: ClientUnderTest, script: Script) -> None:
    """A client works with a broker that dropped old versions, if the versions that it sends are left.

    Among the tables are what 4.0.0 dropped, and what was left of that from 4.0.1 on.
    """
    with played(client, script) as play:
        if _lists_usual_versions(client, script):
            assert_works(play)


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-97.lowered-maximums-do-not-hurt")
@given(script=brokers_with_maximums())
@settings(max_examples=3)
@example(script=broker_a_version_behind())
@example(script=broker_with_maximums({FETCH_KEY: 16}))
@example(script=broker_with_maximums({PRODUCE_KEY: 12}))
def test_newest_versions_may_be_missing(client: ClientUnderTest, script: Script) -> None:
    """A client works with a broker without the newest versions, or says what it lacks.

    It works if the versions that it sends are left.
    """
    with played(client, script) as play:
        if _lists_usual_versions(client, script):
            assert_works(play)
        else:
            assert_works_or_says_why(client, play)


def _lists_usual_versions(client: ClientUnderTest, script: Script) -> bool:
    """Return whether a script's first table has each version that the client sends to a healthy broker."""
    table = next(iter(script.answers)).table
    usual = newest_versions([client.healthy])
    return all(any(low <= usual[key] <= high for low, high in table.ranges_of(key)) for key in usual)


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-35.client-uses-overlap")
@given(script=next_releases())
@settings(max_examples=2)
@example(script=next_release())
@example(script=next_release(more=1))
@example(script=next_release(9))
def test_later_api_versions_are_not_asked_for(client: ClientUnderTest, script: Script) -> None:
    """A client works with a broker that lists newer versions of ApiVersions, and uses none of these.

    The client does not know these versions.
    """
    with played(client, script) as play:
        _assert_works_with_a_later_release(client, play)


@pytest.mark.needs("asks_versions", "asks_metadata", "option:sasl_plain")
@pytest.mark.clause("KIP-35.client-uses-overlap")
@given(script=next_releases().map(secured))
@settings(max_examples=1)
@example(script=secured(next_release()))
@example(script=secured(next_release(9)))
def test_later_api_versions_are_not_asked_for_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client with SASL sends no version of ApiVersions that it does not know.

    That holds before and after authentication.
    """
    with played(client, script) as play:
        _assert_works_with_a_later_release(client, play)


def _assert_works_with_a_later_release(client: ClientUnderTest, play: Play) -> None:
    assert_bounded(play)
    assert_knows_what_it_asks(play, newest_api_versions(client.healthy))
    assert_allowed(play, "KIP-35.client-uses-overlap")
    assert_keeps_working(play)
