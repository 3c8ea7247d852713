"""Tests of the cluster check of KIP-1242, from the client's side.

They check which ids a client sends, and what it does when it is misrouted.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.clients.vocabulary import *

MAX_MISROUTED = 5
"""How often a client may be told in a play that it is misrouted, with three nodes; then it has learnt nothing from
it."""


@pytest.mark.needs("sends_v5", "cluster_check")
@pytest.mark.clause("KIP-1242.bootstrap-sends-nothing")
@given(script=healthy_clusters())
@example(script=healthy_cluster())
@example(script=healthy_cluster(nodes=2))
def test_bootstrapping_client_sends_no_ids(client: ClientUnderTest, script: Script) -> None:
    """A client that has no metadata yet sends a null cluster id and node id -1."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-1242.bootstrap-sends-nothing")
        assert_keeps_working(play)


@pytest.mark.needs("sends_v5", "cluster_check")
@pytest.mark.clause("KIP-1242.then-sends-both")
@given(script=healthy_clusters())
@example(script=healthy_cluster())
@example(script=healthy_cluster(nodes=2))
@example(script=healthy_cluster(cluster_id="0"))
def test_client_with_metadata_sends_both_ids(client: ClientUnderTest, script: Script) -> None:
    """A client sends a broker that it knows from metadata the ids of the cluster and of that broker."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-1242.then-sends-both")
        assert_keeps_working(play)


@pytest.mark.needs("sends_v5", "cluster_check", "asks_again")
@pytest.mark.clause("KIP-1242.then-sends-both")
@given(script=misrouted_clusters())
@settings(max_examples=2)
@example(script=replaced_cluster())
@example(script=swapped_nodes())
def test_ids_are_those_of_the_newest_metadata(client: ClientUnderTest, script: Script) -> None:
    """A client that got new metadata sends the ids in it, and no older ones."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-1242.then-sends-both")


@pytest.mark.needs("sends_v5", "cluster_check")
@pytest.mark.clause("KIP-1242.rebootstraps-on-129")
@given(script=brokers_that_demand_rebootstrapping())
@example(script=rebootstrapping())
def test_rebootstrapping_client_works_again(client: ClientUnderTest, script: Script) -> None:
    """A client that gets REBOOTSTRAP_REQUIRED sends nothing more on that connection.

    It begins again until it works.
    """
    with played(client, script) as play:
        assert_ends_by_itself(client, play)
        assert_bounded(play)
        assert_allowed(play, "KIP-1242.rebootstraps-on-129")
        assert_recovers_if_asked_again(client, play)


@pytest.mark.needs("sends_v5", "cluster_check")
@pytest.mark.clause("KIP-1242.rebootstraps-on-129")
@given(script=misrouted_clusters())
@example(script=replaced_cluster())
@example(script=swapped_nodes())
def test_misrouted_client_forgets_what_it_knew(client: ClientUnderTest, script: Script) -> None:
    """A misrouted client sends no old ids, uses no old connection, and begins with its bootstrap server."""
    with played(client, script) as play:
        assert_bounded(play)
        assert_allowed(play, "KIP-1242.rebootstraps-on-129")


@pytest.mark.needs("sends_v5", "cluster_check", "asks_again")
@pytest.mark.clause("KIP-1242.rebootstrap-forgets-ids")
@given(script=load_balanced_clusters(reasons_to_rebootstrap()))
@example(script=load_balanced_cluster(UNUSABLE))
@example(script=load_balanced_cluster(UNUSABLE, nodes=2))
@example(script=load_balanced_cluster(METADATA_DEMANDS_REBOOTSTRAP))
def test_client_that_bootstraps_again_sends_no_ids(client: ClientUnderTest, script: Script) -> None:
    """A client that can use no broker that it knows, or whose Metadata demands it, bootstraps again without ids."""
    with played(client, script) as play:
        assert_bounded(play)
        assert_allowed(play, "KIP-1242.rebootstrap-forgets-ids")


@pytest.mark.needs("sends_v5", "cluster_check", "asks_again", "option:rebootstraps_after_1_s")
@pytest.mark.clause("KIP-1242.rebootstrap-forgets-ids")
@given(script=load_balanced_clusters(st.just(SILENT), "rebootstraps_after_1_s"))
@settings(max_examples=1)
@example(script=load_balanced_cluster(SILENT, options=("rebootstraps_after_1_s",)))
def test_client_that_waited_in_vain_sends_no_ids(client: ClientUnderTest, script: Script) -> None:
    """A client that bootstraps again because its broker gave it no metadata in time sends no ids."""
    with played(client, script) as play:
        assert_bounded(play)
        assert_allowed(play, "KIP-1242.rebootstrap-forgets-ids")


@pytest.mark.needs("sends_v5", "cluster_check", "asks_again")
@pytest.mark.clause("KIP-1242.misrouted-cluster-recovers")
@given(script=misrouted_clusters())
@example(script=replaced_cluster())
@example(script=replaced_cluster(2))
@example(script=swapped_nodes())
@example(script=swapped_nodes(3))
def test_misrouted_client_recovers(client: ClientUnderTest, script: Script) -> None:
    """A client works again after the cluster was replaced or its nodes changed places."""
    with played(client, script) as play:
        misrouted = misrouted_at_ms(play)
        assert len(misrouted) <= MAX_MISROUTED, f"the client is misrouted again and again: {len(misrouted)} times"
        assert_keeps_working(play, after_ms=max(misrouted, default=-1))


@pytest.mark.needs("sends_v5", "cluster_check", "option:without_cluster_check")
@pytest.mark.clause("KIP-1242.check-can-be-disabled")
@given(script=healthy_clusters("without_cluster_check"))
@example(script=healthy_cluster(options=("without_cluster_check",)))
@example(script=healthy_cluster(nodes=2, options=("without_cluster_check",)))
@example(script=healthy_cluster(newest=0, options=("without_cluster_check",)))
@example(script=healthy_cluster(newest=4, options=("without_cluster_check",)))
@example(script=healthy_cluster(nodes=2, newest=3, options=("without_cluster_check",)))
def test_client_that_may_not_compare_ids_sends_none(client: ClientUnderTest, script: Script) -> None:
    """A client that is configured not to compare ids never gives a cluster id or node id, and works."""
    works_otherwise = _works_without_options(client, script)
    with played(client, script) as play:
        assert_gives_no_ids(play)
        if works_otherwise:
            assert_keeps_working(play)


def _works_without_options(client: ClientUnderTest, script: Script) -> bool:
    """Return whether a client works with a cluster if it has no options; whether it should is another clause."""
    if script.nodes[0].connection(0).newest_version == NEWEST_VERSION:
        return True
    try:
        assert_keeps_working(client.play(replace(script, options=())))
    except AssertionError:
        return False
    return True


@pytest.mark.needs("sends_v5", "cluster_check", "option:without_rebootstrap")
@pytest.mark.clause("KIP-1242.check-can-be-disabled")
@given(script=healthy_clusters("without_rebootstrap"))
@example(script=healthy_cluster(options=("without_rebootstrap",)))
@example(script=healthy_cluster(newest=0, options=("without_rebootstrap",)))
@example(script=healthy_cluster(nodes=2, newest=3, options=("without_rebootstrap",)))
@example(script=healthy_cluster(newest=4, options=("without_rebootstrap",)))
def test_client_that_cannot_rebootstrap_sends_no_ids(client: ClientUnderTest, script: Script) -> None:
    """A client that may not rebootstrap never gives a cluster id or node id, and works."""
    works_otherwise = _works_without_options(client, script)
    with played(client, script) as play:
        assert_gives_no_ids(play)
        if works_otherwise:
            assert_keeps_working(play)


@pytest.mark.needs("sends_v5", "cluster_check")
@pytest.mark.clause("KIP-1242.older-broker-unaffected")
@given(script=clusters_without_the_check())
@example(script=healthy_cluster(newest=4))
@example(script=healthy_cluster(newest=0))
@example(script=healthy_cluster(nodes=2, newest=3))
def test_broker_that_compares_no_ids_is_used_as_before(client: ClientUnderTest, script: Script) -> None:
    """A client works with brokers below ApiVersions v5, and its older requests have their usual form."""
    with played(client, script) as play:
        for request in play.recording.requests:
            assert not (request.problem and request.is_about_versions), (
                f"ApiVersions v{request.api_version} cannot be decoded: {request.problem}"
            )
        assert_keeps_working(play)
