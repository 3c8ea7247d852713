"""Properties of KIP-1313 for clients that authenticate: the client's id.

KIP-1313 is a proposal. The client is judged before, during and after authentication.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

from proposals.kip_1313.properties.clients.vocabulary import *

ONE, RECONNECTING = secured(claiming_cluster()), secured(claiming_cluster(closes_after=5))
MIXED = secured(mixed_cluster(is_old_first=True))
MAX_EXAMPLES = 2
"""Few: what a client does after authentication is judged without SASL as well."""


@pytest.mark.needs("asks_again", "instance_ids", "option:sasl_plain")
@pytest.mark.clause("KIP-1313.header-v3-layout")
@settings(max_examples=MAX_EXAMPLES)
@given(script=claiming_clusters().map(secured))
@example(script=ONE)
def test_header_with_an_id_decodes_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """Header and body of every request with header v3 decode, SaslAuthenticate included."""
    with played(client, script) as play:
        assert_none(wrong_layouts(play.recording))


@pytest.mark.needs("asks_again", "instance_ids", "option:sasl_plain")
@pytest.mark.clause("KIP-1313.id-same-on-all-connections")
@settings(max_examples=MAX_EXAMPLES)
@given(script=claiming_clusters().map(secured))
@example(script=ONE)
@example(script=RECONNECTING)
def test_client_has_one_id_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client that authenticates has the same id on every connection, before, during and after that."""
    with played(client, script) as play:
        assert_none([*wrong_ids(play.recording), *missing_ids(play.recording)])


@pytest.mark.needs("asks_again", "instance_ids", "option:sasl_plain")
@pytest.mark.clause("KIP-1313.client-id-only-first")
@settings(max_examples=MAX_EXAMPLES)
@given(script=(claiming_clusters() | mixed_clusters()).map(secured))
@example(script=ONE)
@example(script=MIXED)
def test_client_id_is_sent_once_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """The first request of a connection has the client id, SaslHandshake as well, and none with header v3."""
    with played(client, script) as play:
        assert_client_id_only_first(client, play.recording)


@pytest.mark.needs("asks_again", "instance_ids", "member_ids", "option:sasl_plain")
@pytest.mark.clause("KIP-1313.member-id-aligned")
@settings(max_examples=MAX_EXAMPLES)
@given(script=claiming_clusters().map(secured))
@example(script=ONE)
def test_member_id_is_the_instance_id_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client that authenticates is a member of groups under the id of its headers."""
    with played(client, script) as play:
        assert_none(wrong_member_ids(play.recording))


@pytest.mark.needs("asks_again", "instance_ids", "telemetry_ids", "option:sasl_plain")
@pytest.mark.clause("KIP-1313.telemetry-old-and-new")
@settings(max_examples=MAX_EXAMPLES)
@given(script=clusters_with_old_telemetry().map(secured))
@example(script=secured(cluster_with(OLD_TELEMETRY)))
def test_client_makes_the_id_of_its_telemetry_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """A client that authenticates sends brokers of today its id in the bodies of telemetry v0.

    It never leaves it to the broker to make an id.
    """
    with played(client, script) as play:
        assert_none(wrong_telemetry(play.recording))


@pytest.mark.needs("asks_again", "instance_ids", "reports_instance_id", "option:sasl_plain")
@pytest.mark.clause("KIP-1313.instance-id-from-constructor")
@settings(max_examples=MAX_EXAMPLES)
@given(script=claiming_clusters().map(secured))
@example(script=secured(unreachable_cluster()))
def test_application_gets_the_id_at_once_with_sasl(client: ClientUnderTest, script: Script) -> None:
    """The application gets the id of the headers, also if it never authenticates."""
    with played(client, script) as play:
        reported = play.result.instance_ids
        assert reported, "the application gets no id unless a broker responds"
        assert_none(wrong_reported_ids(play.recording, reported))
