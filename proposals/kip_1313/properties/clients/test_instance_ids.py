"""Properties of KIP-1313 for clients: requests to new brokers and to old ones.

KIP-1313 is a proposal. New brokers claim the proposal, and old ones are those of today.
"""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proposals.kip_1313.properties.clients.vocabulary import *


@pytest.mark.needs("asks_again", "instance_ids")
@pytest.mark.clause("KIP-1313.header-v3-layout")
@given(script=claiming_clusters())
@example(script=claiming_cluster())
@example(script=claiming_cluster(nodes=3, closes_after=5))
def test_header_with_an_id_decodes(client: ClientUnderTest, script: Script) -> None:
    """Header and body of every request with header v3 decode."""
    with played(client, script) as play:
        assert_none(wrong_layouts(play.recording))


@pytest.mark.needs("asks_again", "instance_ids")
@pytest.mark.clause("KIP-1313.id-same-on-all-connections")
@given(script=claiming_clusters())
@example(script=claiming_cluster(nodes=2))
@example(script=claiming_cluster(closes_after=3))
@example(script=replaced_claiming_cluster())
def test_client_has_one_id_of_its_own(client: ClientUnderTest, script: Script) -> None:
    """A client has one id on all connections, to all brokers and after a rebootstrap.

    Another client has a different id.
    """
    with played(client, script) as play:
        assert_none([*wrong_ids(play.recording), *missing_ids(play.recording)])
    later = dataclasses.replace(script, timeout_ms=script.timeout_ms + 1)
    with played(client, later) as other:
        shared = instance_ids_in(play.recording) & instance_ids_in(other.recording)
        assert not shared, f"two clients have the same id: {shared.pop()}"


@pytest.mark.needs("asks_again", "instance_ids", "reports_instance_id")
@pytest.mark.clause("KIP-1313.instance-id-from-constructor")
@given(script=claiming_clusters() | st.just(unreachable_cluster()))
@example(script=claiming_cluster())
@example(script=unreachable_cluster())
def test_application_gets_the_id_at_once(client: ClientUnderTest, script: Script) -> None:
    """The application gets the id of the headers, also if no broker ever responds."""
    with played(client, script) as play:
        reported = play.result.instance_ids
        assert reported, "the application gets no id unless a broker responds"
        assert_none(wrong_reported_ids(play.recording, reported))


@pytest.mark.needs("asks_again", "instance_ids")
@pytest.mark.clause("KIP-1313.client-id-only-first")
@given(script=claiming_clusters() | mixed_clusters())
@example(script=claiming_cluster())
@example(script=claiming_cluster(closes_after=4))
@example(script=claiming_cluster(newest=3))
@example(script=downgraded_cluster())
@example(script=mixed_cluster(is_old_first=True))
def test_client_id_is_sent_once(client: ClientUnderTest, script: Script) -> None:
    """A connection's first request has the client id, and later ones have it only with an older header."""
    with played(client, script) as play:
        assert_client_id_only_first(client, play.recording)


@pytest.mark.needs("asks_again", "instance_ids", "member_ids")
@pytest.mark.clause("KIP-1313.member-id-aligned")
@given(script=claiming_clusters())
@example(script=claiming_cluster())
def test_member_id_is_the_instance_id(client: ClientUnderTest, script: Script) -> None:
    """The id of a member of a group is the client's instance id."""
    with played(client, script) as play:
        assert_none(wrong_member_ids(play.recording))


@pytest.mark.needs("asks_again", "instance_ids", "telemetry_ids")
@pytest.mark.clause("KIP-1313.telemetry-old-and-new")
@given(script=claiming_clusters() | clusters_with_old_telemetry() | mixed_clusters())
@example(script=claiming_cluster())
@example(script=cluster_with(OLD_TELEMETRY))
@example(script=cluster_with(OLD_TELEMETRY, nodes=2, closes_after=2))
@example(script=mixed_cluster(is_old_first=True))
@example(script=mixed_cluster(is_old_first=False))
def test_client_makes_the_id_of_its_telemetry(client: ClientUnderTest, script: Script) -> None:
    """A client sends brokers of today its header id in the bodies of telemetry v0.

    It uses v1 with newer brokers.
    """
    with played(client, script) as play:
        assert_none(wrong_telemetry(play.recording))
