"""Tests of clients with SASL and TLS.

They are about the errors of ApiVersions before and after authentication, and about the client's name and ids.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *

NULL_TABLE = Answer(table=Table(null=True))


def assert_uses_the_named_range(play: Play) -> None:
    """Fail unless a client works after its version was refused, in a version of the range that was named."""
    assert_bounded(play)
    assert_allowed(play, "KIP-511.client-uses-named-range")
    # Whether a client can read a table in a flexible version is another clause.
    if not flexible_tables(play):
        assert_works(play)


@pytest.mark.needs("sends_v3", "option:sasl_plain")
@pytest.mark.clause("KIP-511.client-uses-named-range")
@given(script=sasl_brokers_that_name_their_range() | second_versions_refused())
@settings(max_examples=2)
@example(script=second_version_refused(2))
@example(script=secured(broker_up_to(0)))
@example(script=secured(broker_up_to(2)))
@example(script=secured(broker_up_to(4)))
def test_client_uses_the_named_range_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client works if its version is refused before or after authentication, and an older range named."""
    with played(client, script) as play:
        assert_uses_the_named_range(play)


@pytest.mark.needs("sends_v3", "option:sasl_plain")
@pytest.mark.clause("KIP-511.client-errors-on-42")
@given(script=sasl_brokers_that_refuse_names())
@settings(max_examples=1)
@example(script=sasl_broker_that_refuses_names())
@example(script=sasl_broker_that_refuses_names(from_version=0))
@example(script=second_answer(REFUSED_NAME))
def test_refused_name_is_an_error_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client whose name is refused, before or after authentication, closes the connection and reports an error."""
    with played(client, script) as play:
        assert_refused_name_is_an_error(play)


@pytest.mark.needs("sends_v3", "asks_again", "option:sasl_plain")
@pytest.mark.clause("KIP-511.client-errors-on-42")
@given(script=brokers_that_refuse_names_again_and_again().map(secured))
@settings(max_examples=1)
@example(script=secured(refused_again_and_again()))
@example(script=replace(second_answer(REFUSED_NAME), keeps_asking=True))
def test_refusals_leave_nothing_behind_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client with SASL whose name is always refused closes all connections and frees its memory.

    The name is refused each time that the client's application asks.
    """
    with played(client, script) as play:
        assert_forgets_refusals(client, play)


@pytest.mark.needs("sends_v3", "asks_again", "option:tls")
@pytest.mark.clause("KIP-511.client-errors-on-42")
@given(script=brokers_that_refuse_names_again_and_again().map(lambda script: secured(script, SSL)))
@settings(max_examples=1)
@example(script=secured(refused_again_and_again(), SSL))
def test_refusals_leave_nothing_behind_with_tls(client: ClientUnderTest, script: Script) -> None:
    """A client whose name is always refused over TLS closes all connections and frees its memory.

    The name is refused each time that the client's application asks.
    """
    with played(client, script) as play:
        assert_forgets_refusals(client, play)


@pytest.mark.needs("sends_v3", "option:tls")
@pytest.mark.clause("KIP-511.client-uses-named-range")
@given(script=tls_brokers_that_name_their_range())
@settings(max_examples=1)
@example(script=secured(broker_up_to(2), SSL))
def test_client_uses_the_named_range_with_tls(client: ClientUnderTest, script: Script) -> None:
    """A client works with a broker with TLS that refuses its version and names an older range."""
    with played(client, script) as play:
        assert_uses_the_named_range(play)


@pytest.mark.needs("sends_v3", "option:tls")
@pytest.mark.clause("KIP-511.client-errors-on-42")
@given(script=tls_brokers_that_refuse_names())
@settings(max_examples=1)
@example(script=secured(refused_for_name(), SSL))
@example(script=second_answer(REFUSED_NAME, SSL))
def test_refused_name_is_an_error_with_tls(client: ClientUnderTest, script: Script) -> None:
    """A client whose name is refused over TLS closes the connection and reports an error.

    The refusal comes at once, or after a refusal of the version.
    """
    with played(client, script) as play:
        assert_refused_name_is_an_error(play)


@pytest.mark.needs("newest_is_seen", "option:sasl_plain")
@pytest.mark.clause("KIP-511.client-begins-with-newest")
@given(script=brokers_that_close().map(secured))
@settings(max_examples=1)
@example(script=secured(closing_broker(1)))
def test_client_begins_with_its_newest_version_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client's first request on a connection, or the first one after authentication, has its newest version."""
    with played(client, script) as play:
        assert_begins_with_newest(play, newest_api_versions(client.healthy))


@pytest.mark.needs("sends_v3", "option:sasl_plain")
@pytest.mark.clause("KIP-511.client-named-under-sasl")
@given(script=brokers_that_close().map(secured))
@settings(max_examples=1)
@example(script=secured(closing_broker(1)))
def test_client_names_itself_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client names its software before it uses an authenticated connection."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-511.client-named-under-sasl")


@pytest.mark.needs("asks_versions", "option:sasl_plain")
@pytest.mark.clause("KIP-35.client-uses-overlap")
@given(script=brokers_with_sasl_ranges())
@settings(max_examples=3)
@example(script=broker_with_sasl_ranges((1, 1), (0, 2)))
@example(script=broker_with_sasl_ranges((0, 0), None))
@example(script=broker_with_sasl_ranges((0, 2), (0, 2)))
@example(script=broker_with_sasl_ranges((0, 1), (1, 2)))
@example(script=broker_with_sasl_ranges(None, None))
@example(script=broker_with_sasl_ranges((3, 9), (0, 2)))
def test_steps_of_sasl_lie_in_the_overlap(client: ClientUnderTest, script: Script) -> None:
    """A client authenticates in versions that the broker lists, and works if its usual ones are among them."""
    usual = client.play(secured(HEALTHY_SCRIPT))
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)
        assert_allowed(play, "KIP-35.client-uses-overlap")
        if outcome_of(usual) == OK and lists_steps(script, sasl_steps(usual)):
            assert_works(play)


@pytest.mark.needs("asks_versions", "option:sasl_plain")
@pytest.mark.clause("KIP-35.client-requests-decode")
@given(script=brokers_with_sasl_ranges())
@settings(max_examples=2)
@example(script=broker_with_sasl_ranges((0, 1), (0, 1)))
@example(script=broker_with_sasl_ranges((0, 2), (0, 2)))
def test_step_of_sasl_has_the_layout_of_its_version(client: ClientUnderTest, script: Script) -> None:
    """Header and body of each request decode with which a client authenticates."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-35.client-requests-decode")


@pytest.mark.needs("sends_v5", "cluster_check", "option:sasl_plain")
@pytest.mark.clause("KIP-1242.bootstrap-sends-nothing")
@given(script=healthy_clusters().map(secured))
@settings(max_examples=1)
@example(script=secured(healthy_cluster()))
def test_bootstrapping_client_sends_no_ids_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client with SASL that has no metadata yet sends a null cluster id and node id -1."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-1242.bootstrap-sends-nothing")
        assert_keeps_working(play)


@pytest.mark.needs("sends_v5", "cluster_check", "option:sasl_plain")
@pytest.mark.clause("KIP-1242.then-sends-both")
@given(script=healthy_clusters().map(secured))
@settings(max_examples=1)
@example(script=secured(healthy_cluster()))
def test_client_with_metadata_sends_both_ids_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client with SASL sends a broker that it knows from metadata the ids of the cluster and of that broker."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-1242.then-sends-both")
        assert_keeps_working(play)


@pytest.mark.needs("sends_v5", "cluster_check", "option:sasl_plain")
@pytest.mark.clause("KIP-1242.rebootstraps-on-129")
@given(script=secured_brokers_that_demand_rebootstrapping(SASL_PLAINTEXT))
@settings(max_examples=1)
@example(script=secured_rebootstrapping(SASL_PLAINTEXT))
def test_rebootstrapping_client_works_again_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client that gets REBOOTSTRAP_REQUIRED from a broker with SASL begins again until it works."""
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)
        assert_allowed(play, "KIP-1242.rebootstraps-on-129")
        assert_recovers_if_asked_again(client, play)


@pytest.mark.needs("sends_v5", "cluster_check", "option:tls")
@pytest.mark.clause("KIP-1242.rebootstraps-on-129")
@given(script=secured_brokers_that_demand_rebootstrapping(SSL))
@settings(max_examples=1)
@example(script=secured_rebootstrapping(SSL))
def test_rebootstrapping_client_works_again_with_tls(client: ClientUnderTest, script: Script) -> None:
    """A client that gets REBOOTSTRAP_REQUIRED from a broker with TLS begins again until it works."""
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)
        assert_allowed(play, "KIP-1242.rebootstraps-on-129")
        assert_recovers_if_asked_again(client, play)


@pytest.mark.malformed
@pytest.mark.needs("asks_versions", "option:sasl_plain")
@pytest.mark.clause("KIP-35.client-survives-nonsense")
@given(script=sasl_brokers_that_talk_nonsense())
@settings(max_examples=2)
@example(script=sasl_nonsense(NULL_TABLE))
@example(script=sasl_nonsense(Answer(error_code=35, cut_to=2)))
@example(script=sasl_nonsense(Answer(error_code=129, table=EMPTY)))
@example(script=sasl_nonsense(NULL_TABLE, after_authentication=True))
@example(script=sasl_nonsense(Answer(error_code=-1, table=HEALTHY), after_authentication=True))
def test_nonsense_is_survived_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client that gets nonsense before or after authentication is not aborted and sends no flood."""
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)


@pytest.mark.malformed
@pytest.mark.needs("asks_versions", "option:tls")
@pytest.mark.clause("KIP-35.client-survives-nonsense")
@given(script=tls_brokers_that_talk_nonsense())
@settings(max_examples=2)
@example(script=always_answering(NULL_TABLE, listener=SSL))
@example(script=always_answering(Answer(cut_to=20), listener=SSL))
@example(script=always_answering(Answer(claimed_size=ABSURD_SIZE, pieces=3), listener=SSL))
def test_nonsense_is_survived_with_tls(client: ClientUnderTest, script: Script) -> None:
    """A client that gets nonsense over TLS is not aborted, keeps its memory small, and sends no flood."""
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)
