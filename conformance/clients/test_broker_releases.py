"""Tests of clients with brokers of other releases.

The tables are those recorded from real brokers.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *


def _assert_served_or_refused(client: ClientUnderTest, script: Script) -> None:
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)
        assert_no_connection_is_lost(play)
        assert_works_or_says_why(client, play)


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-97.new-client-old-broker")
@given(script=brokers_of_releases())
@example(script=broker_of("0.10.0.1"))
@example(script=broker_of("1.1.1"))
@example(script=broker_of("2.6.3"))
@example(script=broker_of("2.8.2"))
@example(script=broker_of("3.8.1"))
@example(script=broker_of("4.0.2"))
def test_older_broker_is_served_or_refused(client: ClientUnderTest, script: Script) -> None:
    """A client works with a broker of any release, or says what it lacks, and loses no connection."""
    _assert_served_or_refused(client, script)


@pytest.mark.needs("asks_versions", "asks_metadata", "option:sasl_plain")
@pytest.mark.clause("KIP-97.new-client-old-broker")
@given(script=brokers_of_releases(SASL_PLAINTEXT))
@settings(max_examples=2)
@example(script=broker_of("0.10.2.2", listener=SASL_PLAINTEXT))
@example(script=broker_of("3.8.1", listener=SASL_PLAINTEXT))
def test_older_broker_with_sasl_is_served_or_refused(client: ClientUnderTest, script: Script) -> None:
    """A client works with a broker with SASL of any release, or says what it lacks, and loses no connection."""
    _assert_served_or_refused(client, script)


@pytest.mark.needs("never_asks")
@pytest.mark.clause("KIP-35.client-uses-overlap")
@given(script=brokers_of_releases())
@example(script=broker_of("0.10.0.1"))
@example(script=broker_of("1.1.1"))
@example(script=broker_of("2.8.2"))
@example(script=broker_of("4.0.2"))
def test_client_that_never_asks_sends_what_every_release_has(client: ClientUnderTest, script: Script) -> None:
    """A client that never asks for versions sends only those that the broker's release supports."""
    with played(client, script) as play:
        assert_sends_what_is_listed(play)


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-97.unused-features-do-not-hurt")
@given(script=brokers_without_unused_features())
@example(script=broker_without(*UNUSED_KEYS))
@example(script=broker_without(0))
@example(script=broker_without(1, 2))
def test_unused_feature_is_not_missed(client: ClientUnderTest, script: Script) -> None:
    """A client that only fetches metadata works with a broker that lacks other APIs."""
    with played(client, script) as play:
        assert_works(play)


@pytest.mark.malformed
@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-97.no-doomed-request")
@given(script=brokers_without_overlap())
@example(script=broker_with(metadata_ranges(60, 70), timeout_ms=FAILURE_MS))
@example(script=broker_with(metadata_ranges(7, 2), timeout_ms=FAILURE_MS))
@example(script=broker_with(metadata_ranges(-3, -1), timeout_ms=FAILURE_MS))
@example(script=broker_with(Table(removed=(3,)), timeout_ms=FAILURE_MS))
def test_doomed_request_is_not_sent(client: ClientUnderTest, script: Script) -> None:
    """A client that shares no version of Metadata with the broker sends none."""
    with played(client, script) as play:
        assert_sends_none_of(play, {METADATA_KEY})


@pytest.mark.needs("asks_versions", "asks_metadata")
@pytest.mark.clause("KIP-97.mixed-cluster")
@given(script=clusters_of_two_releases())
@example(script=cluster_of("2.8.2", "3.9.2"))
@example(script=cluster_of("4.4.0", "4.3.1"))
@example(script=cluster_of("4.4.0", "0.10.0.1"))
@example(script=cluster_of("1.1.1", "2.8.2"))
def test_each_release_is_spoken_to_in_its_versions(client: ClientUnderTest, script: Script) -> None:
    """A client uses with each broker of a cluster the versions that this broker lists, and works with both."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-35.client-uses-overlap", "KIP-35.client-asks-per-connection")
        assert_keeps_working(play)
