"""Tests of a client's first request: its version, its software name, the header.

The header is that of the response to the request.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from conformance.clients.vocabulary import *


@pytest.mark.needs("newest_is_seen")
@pytest.mark.clause("KIP-511.client-begins-with-newest")
@given(script=brokers_that_close())
@example(script=closing_broker(1))
def test_client_begins_with_its_newest_version(client: ClientUnderTest, script: Script) -> None:
    """A client's first request on every connection has the newest version of ApiVersions that it ever sends."""
    with played(client, script) as play:
        assert_begins_with_newest(play, newest_api_versions(client.healthy))


@pytest.mark.needs("sends_v3")
@pytest.mark.clause("KIP-511.client-name-valid")
@given(script=flexible_brokers())
@example(script=broker_up_to(5))
@example(script=broker_up_to(3))
@example(script=closing_broker(1))
def test_client_names_itself_legally(client: ClientUnderTest, script: Script) -> None:
    """A client's software name and version consist of letters, digits, dots and hyphens."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-511.client-name-valid")


@pytest.mark.needs("sends_v3")
@pytest.mark.clause("KIP-511.client-names-itself-truly")
@given(script=brokers_that_close())
@settings(max_examples=2)
@example(script=closing_broker(1))
@example(script=broker_up_to(3))
def test_client_names_itself_truly(client: ClientUnderTest, script: Script) -> None:
    """A client names its own software in the installed version of its library, and the same on all connections."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-511.client-names-itself-truly")
        assert_names_software(play, client.client.software_name)
        assert_names_version(play, client.client.version)


@pytest.mark.needs("asks_versions")
@pytest.mark.clause("KIP-35.client-requests-decode")
@given(script=brokers_up_to_any_version() | brokers_with_metadata_ranges())
@example(script=broker_up_to(5))
@example(script=broker_up_to(3))
@example(script=broker_up_to(0))
@example(script=broker_with(metadata_ranges(0, 3)))
@example(script=broker_with(metadata_ranges(0, 10)))
@example(script=two_old_nodes(2))
@example(script=two_old_nodes(4))
def test_request_has_the_layout_of_its_version(client: ClientUnderTest, script: Script) -> None:
    """Header and body of each request decode; those of ApiVersions v0 to v2 have no body."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-35.client-requests-decode")


@pytest.mark.needs("sends_v3")
@pytest.mark.clause("KIP-482.client-tags-ascending")
@given(script=brokers_up_to_any_version() | brokers_with_metadata_ranges())
@example(script=broker_up_to(5))
@example(script=broker_up_to(3))
@example(script=broker_with(metadata_ranges(0, 10)))
@example(script=two_old_nodes(4))
def test_tags_of_requests_ascend(client: ClientUnderTest, script: Script) -> None:
    """The tags in each tag section of a client's requests ascend, each at most once."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-482.client-tags-ascending")


@pytest.mark.needs("sends_v3")
@pytest.mark.clause("PROTOCOL.client-id-old-encoding")
@given(script=flexible_brokers())
@example(script=broker_up_to(5))
@example(script=broker_up_to(3))
def test_client_id_keeps_its_old_encoding(client: ClientUnderTest, script: Script) -> None:
    """A client writes the length of its client id in two bytes in the flexible headers of all its requests."""
    with played(client, script) as play:
        assert_allowed(play, "PROTOCOL.client-id-old-encoding")


@pytest.mark.needs("sends_v3")
@pytest.mark.clause("KIP-511.client-reads-fixed-header")
@given(script=flexible_versions())
@example(script=broker_up_to(5))
@example(script=broker_up_to(4))
@example(script=broker_up_to(3))
def test_header_of_the_response_has_no_tags(client: ClientUnderTest, script: Script) -> None:
    """A client that got a table in a flexible version, with a response header without tags, works."""
    with played(client, script) as play:
        assert_allowed(play, "KIP-511.client-reads-fixed-header")
        if flexible_tables(play):
            assert_works(play)


@pytest.mark.needs("asks_versions")
@pytest.mark.clause("PROTOCOL.split-independent")
@given(script=brokers_that_split_responses())
@settings(max_examples=3)
@example(script=split_response(5, 10))
@example(script=split_response(2, 400))
@example(script=split_response(SINGLE_BYTES))
@example(script=split_response(SINGLE_BYTES, newest=0))
def test_split_response_is_read(client: ClientUnderTest, script: Script) -> None:
    """A client works with a table that comes in pieces, down to single bytes, with pauses between them."""
    if _works_usually(client, script):
        with played(client, script) as play:
            assert_works(play)


def _works_usually(client: ClientUnderTest, script: Script) -> bool:
    """Return whether a client works with a broker whose responses have the usual form.

    The broker supports the same versions of ApiVersions. Other clauses judge a client that does not.
    """
    newest = script.nodes[0].connection(0).newest_version
    return newest == NEWEST_VERSION or outcome_of(client.play(broker_up_to(newest))) == OK


@pytest.mark.needs("sends_v4")
@pytest.mark.clause("FEATURES.min-zero-only-from-v4")
@given(script=brokers_with_features_from_level_0())
@settings(max_examples=3)
@example(script=features_from_level_0("kraft.version"))
@example(script=features_from_level_0(*FEATURES_FROM_0))
@example(script=features_from_level_0("x"))
@example(script=features_from_level_0("group.version", is_finalized=True))
def test_feature_from_level_0_is_accepted(client: ClientUnderTest, script: Script) -> None:
    """A client works with a broker that lists features whose lowest level is 0."""
    if _works_usually(client, script):
        with played(client, script) as play:
            assert_works(play)


@pytest.mark.needs("sends_v3", "asks_again")
@pytest.mark.clause("KIP-511.client-begins-with-newest")
@given(script=clusters_with_an_old_node())
@settings(max_examples=1)
@example(script=cluster_with_an_old_node(0))
@example(script=cluster_with_an_old_node(2))
def test_fallback_is_for_one_broker(client: ClientUnderTest, script: Script) -> None:
    """A client whose version one broker refuses still begins with its newest version on connections to another one."""
    with played(client, script) as play:
        assert_begins_with_newest(play, newest_api_versions(client.healthy))
